// SPDX-License-Identifier: Apache-2.0
// How kernels report faults of atoms.
#pragma once

#include "decomposition/faults.h"

namespace quiltmd {

// Something happened to an atom in a step: the first step counts, of one step the lowest atom. Rare, so
// a lock will do. Where only the step is of interest there is no field for the atom.
static __device__ int fault_lock = 0;
static __device__ __noinline__ void report_fault(const Faults& faults, int64_t* step_field,
                                                 int32_t* atom_field, int64_t step, int32_t atom) {
  if (faults.refused) return;  // these steps are not to count
  while (atomicCAS(&fault_lock, 0, 1) != 0) {
  }
  __threadfence();
  volatile int64_t* const marked_step = step_field;
  volatile int32_t* const marked_atom = atom_field;
  const int64_t marked = step + 1;
  if (*marked_step == 0) {
    *marked_step = marked;
    if (marked_atom) *marked_atom = atom;
  } else if (*marked_step == marked && marked_atom) {
    *marked_atom = atom < *marked_atom ? atom : *marked_atom;
  }
  __threadfence();
  atomicExch(&fault_lock, 0);
}

}  // namespace quiltmd
