// SPDX-License-Identifier: Apache-2.0
// How nonbonded forces are computed, and the type of energies that depend on settings alone.
#pragma once

#include <cmath>

#include "math/box.h"
#include "math/vec3.h"
#include "system/system.h"

namespace quiltmd {

// Ending of van der Waals interactions at the cutoff: see forms/lennard_jones_switched.h; or none, because a
// mesh has the rest: forms/lennard_jones_on_mesh.h.
enum class Switching { kNone, kPotential, kCharmm, kCharmmForce, kGromacsForce, kMesh };

// Electrostatics: charges within the cutoff only, with the field of a uniform medium beyond it, or the sum
// over all charges by particle mesh Ewald or the fast multipole method.
enum class Electrostatics { kCutoff, kReactionField, kPme, kFmm };

struct NonbondedSettings {
  double cutoff = 0.9;                // nm; infinite: none
  double shorter_coulomb_cutoff = 0;  // nm, of the pairs of charges with PME; 0: the cutoff
  Electrostatics electrostatics = Electrostatics::kPme;
  // Ewald split: alpha of a Gaussian (1/nm), or bandwidth of a prolate function; the other is 0.
  double alpha = 0, bandwidth = 0;
  Int3 grid{0, 0, 0};
  int order = 5;
  // nm: of the grid for which the window of charges aliases least (long_range/pme/mesh_window.h); 0: B-splines.
  double window_spacing = 0;
  // For which the fast multipole method chooses the points of its stencil and their weights (long_range/fmm/fit.h);
  // zeros: the box at the start.
  Box stencil_box{};
  // nm, between grid points of the fast multipole method in an open cell, whose `grid` follows the cell; 0: the
  // box is periodic.
  double open_spacing = 0;
  bool dispersion_correction = true;
  bool potential_shift = false;
  Switching switching = Switching::kNone;
  double switch_distance = 0;  // nm
  // The mesh of the dispersion, which has the order of the mesh of charges.
  double dispersion_alpha = 0;  // 1/nm
  Int3 dispersion_grid{0, 0, 0};
  // Dielectric constant beyond the cutoff; infinite for a conductor. And whether its field acts between
  // excluded pairs within the cutoff, and on each charge itself, as in GROMACS; in OpenMM it does not.
  double dielectric = 78.3;
  bool reaction_field_on_exclusions = true;

  bool has_cutoff() const { return std::isfinite(cutoff); }
  // Up to where pairs have what charges leave to them.
  double coulomb_cutoff() const { return has_two_cutoffs() ? shorter_coulomb_cutoff : cutoff; }
  bool has_two_cutoffs() const { return shorter_coulomb_cutoff > 0; }
  bool has_pme() const { return electrostatics == Electrostatics::kPme; }
  bool has_fmm() const { return electrostatics == Electrostatics::kFmm; }
  bool has_open_grid() const { return open_spacing > 0; }
  // Whether pairs have what a split of 1/r leaves within the cutoff.
  bool has_ewald_split() const { return has_pme() || has_fmm(); }
  bool has_prolate_split() const { return has_ewald_split() && bandwidth > 0; }
  bool has_dispersion_mesh() const { return switching == Switching::kMesh; }
  bool has_switching_function() const {
    return switching != Switching::kNone && !has_dispersion_mesh();
  }
  // Whether van der Waals energies that end plainly are shifted to zero at the cutoff.
  bool shifts_van_der_waals() const { return potential_shift || has_dispersion_mesh(); }
  bool has_reaction_field() const { return electrostatics == Electrostatics::kReactionField; }
};

// Energy of a pair of charges: qq (1/r + strength r^2 - shift), zero at the cutoff (Tironi et al., J. Chem.
// Phys. 102, 5451 (1995), with the constant of GROMACS and OpenMM).
struct ReactionField {
  double strength, shift;

  explicit ReactionField(const NonbondedSettings& settings) {
    const double rest = 1.5 / (2 * settings.dielectric + 1);  // 0 for a conductor
    const double cutoff = settings.cutoff;
    strength = (0.5 - rest) / (cutoff * cutoff * cutoff);
    shift = 1 / cutoff + strength * cutoff * cutoff;
  }
};

// Without pair lists all pairs of atoms are evaluated (computes/all_pairs): if all of them interact, and in
// an implicit solvent, where radii come before forces.
inline bool uses_lists(const System& system, const NonbondedSettings& settings) {
  return settings.has_cutoff() && !system.solvent;
}

// Whether energies of charges are shifted to zero at the cutoff. In an implicit solvent that is so, as in
// OpenMM; those with a reaction field are zero there by themselves.
inline bool shifts_charges(const System& system, const NonbondedSettings& settings) {
  if (settings.has_reaction_field()) return false;
  return settings.potential_shift || (settings.has_cutoff() && system.solvent);
}

// An energy that does not depend on positions (kJ/mol), as the self energy of Ewald summation or a
// long-range dispersion correction.
struct Constant {
  double energy = 0;
  double virial = 0;  // each element of the diagonal
};

}  // namespace quiltmd
