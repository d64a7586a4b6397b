// SPDX-License-Identifier: Apache-2.0
// Implicit solvent by the generalized Born model: parameters of atoms and of the run. The equations are
// in computes/all_pairs/born.h.
#pragma once

#include <cstdint>
#include <vector>

namespace quiltmd {

// Function of the radius of the sum of integrals: Hawkins, Cramer and Truhlar, or Onufriev, Bashford and
// Case.
enum class BornFunction : int32_t { kInverse, kTanh };

struct BornAtom {
  double radius;              // nm
  double offset_radius;       // the radius less the model's offset, nm
  double scaled_radius;       // offset radius times the screening factor, nm
  double alpha, beta, gamma;  // of the tanh; 0 without it
  int32_t neck_type;          // row of the tables of necks; 0 where there are none
};

struct ImplicitSolvent {
  BornFunction function = BornFunction::kTanh;
  double dielectric = 78.5;  // of the solvent; of the solute it is 1
  double kappa = 0;          // inverse Debye length, 1/nm
  double surface = 0;        // of the surface term, kJ/mol/nm^2: see born.h
  std::vector<BornAtom> atoms;
  // Tables by pairs of neck types, row by row; empty without necks.
  int neck_types = 0;
  std::vector<double> neck_distance;  // nm
  std::vector<double> neck_height;    // 1/nm, with the model's factor
};

}  // namespace quiltmd
