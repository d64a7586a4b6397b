// SPDX-License-Identifier: Apache-2.0
// The Verlet buffer by age of the pair lists, and which shells of a list are evaluated at each age.
#pragma once

#include <vector>

#include "computes/lists/operations.h"
#include "decomposition/patch_grid.h"

namespace quiltmd {

struct ListSettings {
  int life = 0;               // steps between list builds; 0: automatic
  double buffer = 0;          // nm beyond the cutoff, for the end of that life; 0: automatic
  Int3 patch_reach{1, 1, 1};  // reach of the half shell in patches along x, y, z
  Grain grain = Grain::kPatch;
};

// Properties on which the Verlet buffer depends.
struct AtomMotion {
  double timestep;     // ps
  double temperature;  // K
  double fraction;     // of the displacement of the farthest atoms that the buffer covers
};

// Data rebuilt at the end of a lifetime: pair lists with the layout of atoms, or only the layout.
enum class BuiltAnew { kLists, kLayout };
struct Rebuilds {
  BuiltAnew what;
  double cutoff;  // nm
  int every;      // steps, at whose multiples things are built anew in any case; 0: at none
};

// Fills in automatic values: the lifetime for which building and evaluating lists costs least.
ListSettings resolve(ListSettings lists, const AtomMotion& motion, const Rebuilds& rebuilds);

struct ListAges {
  std::vector<double> buffer;  // by age in steps, 0 to life: nm beyond the cutoff that lists need
  std::vector<double> limit;   // by age, from 1: displacement (nm) beyond which lists are rebuilt
  double reach[kShells];       // nm: what each shell of a list holds
  std::vector<EvaluatedShells> shells;  // by age
  bool two_cutoffs = false;
};
ListAges list_ages(const ListSettings& lists, double cutoff, const AtomMotion& motion);
// With a shorter Coulomb cutoff (nm).
ListAges list_ages(const ListSettings& lists, double cutoff, double coulomb_cutoff,
                   const AtomMotion& motion);

}  // namespace quiltmd
