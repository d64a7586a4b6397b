// SPDX-License-Identifier: Apache-2.0
// What smooth particle-mesh Ewald needs before the first step, and which planes of the grid a patch
// can touch.
#pragma once

#include <vector>

#include "computes/long_range/ewald_split.h"
#include "computes/long_range/pme/mesh_frame.h"
#include "computes/long_range/pme/mesh_window.h"
#include "computes/long_range/pme/operations.h"
#include "computes/nonbonded_settings.h"
#include "decomposition/energies.h"
#include "decomposition/patch_grid.h"

namespace quiltmd {

// Correction of the influence function for the window. Interpolation: as in smooth PME, plane waves are exact
// at the points. Least squares: the least error of a potential without waves beyond the grid's (Hockney and
// Eastwood, Computer Simulation Using Particles (1988), section 8-3-3).
enum class Moduli { kInterpolation, kLeastSquares };

// The factors of a dimension with n grid points, m = 0 .. n-1. kInterpolation: |b(m)|^2 (Essmann et al. 1995,
// eq. 4.4); where the spline of odd order has no answer (m = n/2), the mean of its neighbours.
// kLeastSquares: w(m)^2 / (sum over k of w(m + k n)^2)^2, w the Fourier transform of the window.
std::vector<double> window_moduli(Moduli moduli, int n, const MeshWindow& window);

// The grid of these numbers of points, on which the patches of a patch grid lie.
PmeGrid pme_grid(Int3 points, int order, const PatchGrid& patches);

// The energy of charges that does not depend on where they are: self energy and neutralising background of
// Ewald summation; of a reaction field, what each charge makes by itself.
Constant constant_of_charges(const System& system, const NonbondedSettings& settings,
                             double volume);
// Kind of energy of the constant: for PME the reciprocal sum, otherwise the pairs.
EnergyKind kind_of_constant(const NonbondedSettings& settings);

// The influence function of the dispersion is 1/(pi V) times this at m = 0, but for the moduli
// (dispersion_influence.h).
double dispersion_strength(double alpha);

// Correction for the split of charges.
Moduli moduli_of(const NonbondedSettings& settings);
MeshWindow window_of(const NonbondedSettings& settings);

// A mesh of the settings.
struct MeshSettings {
  MeshOf of;
  Int3 points;
  FittedTransform transform;
  Moduli moduli;
  MeshWindow window;
  double strength;  // of the influence function
};
std::vector<MeshSettings> meshes_of(const NonbondedSettings& settings);

// The smallest numbers of grid points that the kernels accept.
inline constexpr int kMinPmeGrid = 8;
// Throws Error when order or grid are not what the kernels can do.
void check_pme_grid(int order, Int3 grid);
// Throws Error when the transforms of a GPU cannot do the grid.
void check_gpu_pme_grid(Int3 grid);

}  // namespace quiltmd
