// SPDX-License-Identifier: Apache-2.0
// What kernels need to know of the pair interaction besides the atoms: the constants of cutoff and
// Coulomb, the pair form, and its parameters by atom and by pair of types. Built once for a
// simulation, from the system and the settings.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "computes/nonbonded/dispersion_polynomial.h"
#include "computes/nonbonded/ewald_polynomial.h"
#include "computes/nonbonded_settings.h"
#include "math/vec3.h"
#include "system/system.h"

namespace quiltmd {

// The constants of switching functions; of those of another kind than the settings' nothing is read.
template <class Real>
struct SwitchConstants {
  Real scale, start;  // x = scale r - start, or scale r^2 - start
  // For kPotential, in powers of x: the factors of 1/r^12 and of 1/r^6 in the force, and of both in the
  // energy.
  Real force_12[6], force_6[6], energy[6];
  Real start2;              // of the switching distance, its square
  Real cutoff_6, cutoff_3;  // 1 / cutoff^6, 1 / cutoff^3
  Real k12, k6, shift_12, shift_6;
  Real second_12, third_12, second_6, third_6;  // a_m / m and b_m / m of kGromacsForce
  Real slope_6;                                 // 1 + 2 start, of kCharmm
};

template <class Real>
SwitchConstants<Real> switch_constants(const NonbondedSettings& settings);
template <>
SwitchConstants<double> switch_constants(const NonbondedSettings& settings);
template <>
SwitchConstants<float> switch_constants(const NonbondedSettings& settings);

struct PairParameters {
  float cutoff2, coulomb_cutoff2;
  float
      least_square;  // nm^2: added to squared distances on GPUs, where alchemical atoms may lie on others
  float t_scale;        // 2 / cutoff^2, that of charges
  float shift_6;        // 1 / cutoff^6 when the potential is shifted, else 0
  float coulomb_shift;  // energy offset of 1/r at its cutoff when shifted, else 0
  int form;             // place in PairForms: which kernels are launched
  int types;            // row length of the table of a form that looks parameters up
  EwaldPolynomial ewald;
  SwitchConstants<float> switching;
  DispersionPolynomial on_mesh;
};

// The parameters of a pair form as kernels want them. What the numbers mean is the form's affair.
struct PackedPairs {
  int form = 0;
  std::vector<Float2> atoms;  // two numbers by atom (internal index)
  std::vector<float> table;   // by pair of types; empty where the atoms' numbers are enough
};

// Number of tables of each of PairForms, by name; 0: any number.
std::map<std::string, int> tables_of_pair_forms();

// The first of PairForms that has the name and number of tables of the system's form, and ends at the
// cutoff as the settings say. Throws Error where there is none.
int form_of(const System& system, const NonbondedSettings& settings);

// Pack with the first of PairForms that has the name of the system's form and can represent its
// tables, from number `first` on. Throws Error where none can, or
// where parameters make no sense.
PackedPairs pack_pairs(const System& system, const NonbondedSettings& settings, int first = 0);
PairParameters pair_parameters(const System& system, const NonbondedSettings& settings, int form);

// The energy of the pair form beyond the cutoff (kJ/mol), as if every atom saw the mean of all pairs
// at uniform density (Shirts et al., J. Phys. Chem. B 111, 13052 (2007)).
Constant dispersion_constant(const System& system, const NonbondedSettings& settings,
                             double volume);

}  // namespace quiltmd
