// SPDX-License-Identifier: Apache-2.0
// What may change while a simulation goes on. It lies in device memory and kernels read it by pointer,
// so recorded blocks of steps stay valid when it changes. A target pressure or lambdas are further
// members, for the operations that read them.
//
// It changes between epochs only, before the rebuild: the first operation of a rebuild waits for what
// comes before it, so kernels after that may read the conditions even before they wait for the kernel
// ahead of them.
#pragma once

#include "math/box.h"

namespace quiltmd {

// Of the thermostat. Without one it does nothing.
struct HeatBath {
  double thermal;      // kT, kJ/mol
  double keep;         // exp(-friction dt)
  double noise_scale;  // sqrt(kT (1 - keep^2)); times sqrt(1/m) per atom
};

// No initialisers: a GPU keeps a copy in shared memory.
struct Conditions {
  HeatBath bath;
  Box box;
};

}  // namespace quiltmd
