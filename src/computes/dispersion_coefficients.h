// SPDX-License-Identifier: Apache-2.0
// What of Lennard-Jones interactions goes on a mesh (forms/lennard_jones_on_mesh.h).
#pragma once

#include <vector>

#include "computes/nonbonded_settings.h"

namespace quiltmd {

// For each atom sqrt(C6) of a pair of atoms of its type, kJ^(1/2) mol^(-1/2) nm^3. Throws Error if the
// interaction is not Lennard-Jones, or a C6 is negative.
std::vector<double> dispersion_coefficients(const System& system);

// Interaction of atoms with themselves on the mesh, subtracted: alpha^6/12 sum of C6, kJ/mol.
double dispersion_self_energy(const System& system, double alpha);

// Part of 1/r^6 that is not on the mesh, g(alpha r)/r^6 (math/smooth_dispersion.h).
struct DirectDispersion {
  double value;  // at a distance
  double tail;   // the integral of it times r^2 from there to infinity
};
DirectDispersion direct_dispersion(double alpha, double distance);

}  // namespace quiltmd
