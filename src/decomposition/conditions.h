// SPDX-License-Identifier: Apache-2.0
// What may change while a simulation goes on. It lies in device memory and kernels read it by pointer,
// so recorded blocks of steps stay valid when it changes.
//
// Conditions change only between epochs, before the rebuild: by set_conditions() or by a barostat. The
// first kernel of a rebuild is not started early, so later kernels may read the conditions before their
// own wait_for_previous().
#pragma once

#include "math/box.h"
#include "system/alchemy.h"

namespace quiltmd {

// Parameters of the thermostat. Without a thermostat they have no effect.
struct HeatBath {
  double thermal;      // kT, kJ/mol
  double keep;         // exp(-friction dt)
  double noise_scale;  // sqrt(kT (1 - keep^2)); times sqrt(1/m) per atom
};

// A barostat changes the length of an axis by at most this fraction in one scaling.
inline constexpr double kLargestStrain = 0.02;

// Parameters of the barostat, for each axis. Without a barostat they have no effect.
struct PressureBath {
  double pressure[3];      // reference, kJ/mol/nm^3
  double mobility[3];      // see integrators/cell_rescaling.h, nm^3 mol/kJ
  double surface_tension;  // of all surfaces normal to c together, kJ/mol/nm^2
};

// Name of the strength of restraints in set_conditions().
inline constexpr const char* kRestraintStrength = "restraints";

// And before its name the centre of a collective restraint.
inline constexpr const char* kRestraintCentre = "centre of ";

// No initialisers: a GPU keeps a copy of the heat bath in shared memory.
struct Conditions {
  HeatBath bath;
  Box box;
  PressureBath pressure_bath;
  double restraint_strength;  // energies and forces of restraints are multiplied by it
  Lambdas lambdas;            // of alchemical atoms, where there are any
};

}  // namespace quiltmd
