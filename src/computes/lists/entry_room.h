// SPDX-License-Identifier: Apache-2.0
// How many entries of pair lists to make room for. Devices number them with 32 bits, so there is an
// end to that.
#pragma once

#include <cstddef>

namespace quiltmd {

// Expected number of entries in the list of a cluster, in a system of `atoms` at a density (1/nm^3), with all
// pairs up to `reach` (nm).
double entries_of_list(int atoms, double density, double reach);
// Entries to make room for: a tenth more than these lists are likely to have, if that can be numbered.
size_t expected_entries(double of_list, double lists);

// New room if `room` was too small and at least `need` is required: somewhat more than that. Throws Error if
// the room is already the largest possible.
size_t more_entries(size_t room, size_t need);

}  // namespace quiltmd
