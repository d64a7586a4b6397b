// SPDX-License-Identifier: Apache-2.0
// Why a simulation blew up, in words.
#pragma once

#include <string>

#include "runtime/rank.h"

namespace quiltmd {

// Name the atom that went out of bounds and what acted on it most where the epoch started, the last
// moment at which all was well. Atoms are named "atom N" by input index, counted from 0.
std::string describe_blowup(const Setup& setup, const HostState& start, const Blowup& blowup);

}  // namespace quiltmd
