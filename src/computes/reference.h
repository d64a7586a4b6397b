// SPDX-License-Identifier: Apache-2.0
// Double-precision reference of every force term: plain loops over plain arrays, no patches, no
// clusters, no polynomials. Slow on purpose; every device is tested against it.
#pragma once

#include <array>
#include <vector>

#include "decomposition/slots.h"
#include "system/system.h"

namespace quiltmd {

struct Evaluation {
  std::vector<Vec3d> forces;  // kJ/mol/nm, internal order
  std::array<double, kEnergyKinds> energy{};
};

struct NonbondedSettings {
  double cutoff = 0.9;
  bool pme = true;
  double alpha = 0;  // 1/nm
  Int3 grid{0, 0, 0};
  int order = 5;
  bool dispersion_correction = true;
  bool potential_shift = false;
};

// Each adds to `out`. Positions in internal order, nm, any image.
void reference_bonded(const System& system, const Box& box, const std::vector<Vec3d>& positions,
                      Evaluation& out);
void reference_pairs(const System& system, const NonbondedSettings& settings, const Box& box,
                     const std::vector<Vec3d>& positions, Evaluation& out);
void reference_pme(const System& system, const NonbondedSettings& settings, const Box& box,
                   const std::vector<Vec3d>& positions, Evaluation& out);

// Energies that do not depend on positions: Ewald self energy and neutralising background, and
// the long-range dispersion correction (kJ/mol).
double ewald_constant(const System& system, const NonbondedSettings& settings, double volume);
double dispersion_constant(const System& system, const NonbondedSettings& settings, double volume);

}  // namespace quiltmd
