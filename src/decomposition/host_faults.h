// SPDX-License-Identifier: Apache-2.0
// How host kernels report faults of atoms.
#pragma once

#include <mutex>

#include "decomposition/faults.h"

namespace quiltmd {

// Something happened to an atom in a step: the first step counts, of one step the lowest atom. Rare, so
// a lock will do.
inline void report_fault(int64_t& step_field, int32_t& atom_field, int64_t step, int32_t atom) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  merge_event(step_field, atom_field, step + 1, atom);
}

}  // namespace quiltmd
