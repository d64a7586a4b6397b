// SPDX-License-Identifier: Apache-2.0
// Operations of smooth particle-mesh Ewald (Essmann et al. 1995), cut so that each is the same on
// any number of ranks: charges to an integer grid; 2-D transforms of (y, z) planes; x lines
// transformed, convolved and transformed back; 2-D inverse; forces gathered. For more ranks than there
// are planes, transforms in one dimension (pencils) take the place of those of planes.
//
// Grids are indexed [x][y][z], z fastest; spectra [x][y][kz] with nz/2+1 entries. Every rank
// addresses the full grid; it fills only the planes (or lines) that it has.
#pragma once

#include "computes/long_range/ewald_split.h"
#include "computes/long_range/pme/box_on_mesh.h"
#include "computes/long_range/pme/mesh_window.h"
#include "decomposition/conditions.h"
#include "decomposition/energies.h"
#include "decomposition/slots.h"

namespace quiltmd {

// The charge grid holds charges as kernels have them (local.w = charge * sqrt(1/(4 pi eps0))) in
// units of 2^-22: a sum up to 43 elementary charges per grid point, a resolution of 2e-8.
inline constexpr double kChargeScale = 4194304.0;

struct Complex {
  float re, im;
};

struct PmeGrid {
  int nx, ny, nz;
  int order;     // of the window: 4, 5, 6 or 8
  Int3 cells;    // patch grid, which fixes patch centres in fractions of the box
  Vec3d widths;  // of a patch, nm, roughly: launch shapes depend on it, results do not
  // Patch-centred coordinates keep single precision exact: grid coordinate of an atom =
  // n * (cell + 1/2) / cells (split into integer and fraction in double) + n * fraction(local).
};

struct GridRange {
  int first, count;
};

// When atoms have been laid out: of each owned atom what is on a mesh, where that is not the charge that pair
// kernels have. Spreading and gathering read it with the position.
struct PlaceCoefficients {
  static constexpr const char* kName = "place_coefficients";
  const float* of_atom;  // internal index
  const int32_t* atom;   // by slot, -1 for padding
  const int32_t* slot_count;
  int slot_capacity;
  float* coefficients;  // by slot

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, of_atom, atom, extent(slot_count, 1));
    QMD_USES(kWrite, coefficients);
  }
};

QMD_HD void place_coefficient(const PlaceCoefficients& op, int slot) {
  const int32_t atom = op.atom[slot];
  op.coefficients[slot] = atom < 0 ? 0 : op.of_atom[atom];
}

// Add the charges of the atoms in clusters [0, clusters) to the grid (fixed point, kChargeScale
// units per unit of local.w), which the caller has cleared.
struct SpreadCharges {
  static constexpr const char* kName = "spread_charges";
  PmeGrid grid;
  const BoxOnMesh* box;
  Slots slots;
  const PlacedPatch* patches;
  int patch_count;  // owned
  const int32_t* slot_count;
  int slot_capacity;
  int32_t* charges;
  WindowPolynomials window;
  const float*
      coefficients;  // by slot, of what is on the mesh; null: charges as kernels of pairs have them

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, box, slots.local, patches, slot_count, coefficients);
    QMD_USES(kAdd, charges);
    QMD_USES(kNone, slots);
  }
};

// Planes [first, first + count) of the charge grid: real-to-complex transform in y and z.
struct TransformPlanes {
  static constexpr const char* kName = "transform_planes";
  PmeGrid grid;
  int first, count;
  const int32_t* charges;
  Complex* spectrum;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, charges);
    QMD_USES(kWrite, spectrum);
  }
};

// Lines along x for y in [first, first + count): transform, multiply by the influence function,
// transform back; the energy (kReciprocal or kDispersionMesh), one partial sum per y, where `energy` is not
// null. influence = transform/(pi V m^2) times the moduli, zero at m = 0 (the factor 1/(4 pi eps0)
// is in the charges); of dispersion see dispersion_influence.h.
struct ConvolveLines {
  static constexpr const char* kName = "convolve_lines";
  PmeGrid grid;
  const BoxOnMesh* box;
  int first, count;
  FittedTransform transform;
  const float* moduli[3];  // of the window, by dimension
  Complex* spectrum;
  int64_t* energy;
  MeshOf of;
  double strength;  // of the influence function: 1 of charges

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, box, moduli);
    QMD_USES(kReadWrite, spectrum);
    QMD_USES(kAdd, energy);
  }
};

// Planes [first, first + count): complex-to-real inverse transform in y and z into the potential.
struct InversePlanes {
  static constexpr const char* kName = "inverse_planes";
  PmeGrid grid;
  int first, count;
  Complex* spectrum;  // destroyed
  float* potential;

  void memory(MemoryUses& uses) const {
    QMD_USES(kReadWrite, spectrum);
    QMD_USES(kWrite, potential);
  }
};

// ---- Pencils, on the CPU -------------------------------------------------------------------

// Rows along z of these x and y: real-to-complex transform.
struct TransformRows {
  static constexpr const char* kName = "transform_rows";
  PmeGrid grid;
  GridRange x, y;
  const int32_t* charges;
  Complex* spectrum;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, charges);
    QMD_USES(kWrite, spectrum);
  }
};

// Columns along y of these x and kz: transform in place.
struct TransformColumns {
  static constexpr const char* kName = "transform_columns";
  PmeGrid grid;
  GridRange x, k;
  Complex* spectrum;

  void memory(MemoryUses& uses) const { QMD_USES(kReadWrite, spectrum); }
};

// As ConvolveLines, only for these kz.
struct ConvolvePencils {
  static constexpr const char* kName = "convolve_pencils";
  ConvolveLines lines;
  GridRange k;

  void memory(MemoryUses& uses) const { lines.memory(uses); }
};

struct InverseColumns {
  static constexpr const char* kName = "inverse_columns";
  PmeGrid grid;
  GridRange x, k;
  Complex* spectrum;

  void memory(MemoryUses& uses) const { QMD_USES(kReadWrite, spectrum); }
};

// Rows along z of these x and y: complex-to-real inverse transform into the potential.
struct InverseRows {
  static constexpr const char* kName = "inverse_rows";
  PmeGrid grid;
  GridRange x, y;
  const Complex* spectrum;
  float* potential;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, spectrum);
    QMD_USES(kWrite, potential);
  }
};

// Long-range forces of the owned atoms: slots.long_range = -charge * gradient of the potential; those of the
// dispersion are added to what is there. The charge grid, which the potential was made of, is cleared for the
// next spreading.
struct GatherForces {
  static constexpr const char* kName = "gather_forces";
  PmeGrid grid;
  const BoxOnMesh* box;
  Slots slots;
  const PlacedPatch* patches;
  int patch_count;
  const int32_t* slot_count;
  int slot_capacity;
  const float* potential;
  int32_t* charges;
  WindowPolynomials window;
  const float* coefficients;  // as of SpreadCharges
  MeshOf of;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, box, slots.local, patches, slot_count, potential, coefficients);
    if (of == MeshOf::kDispersion)
      QMD_USES(kReadWrite, slots.long_range);
    else
      QMD_USES(kWrite, slots.long_range);
    QMD_USES(kWrite, charges);
    QMD_USES(kNone, slots);
  }
};

// Add up coefficient times potential over the owned atoms, each in fixed point by itself.
struct SumPotential {
  static constexpr const char* kName = "sum_potential";
  PmeGrid grid;
  const BoxOnMesh* box;
  Slots slots;
  const PlacedPatch* patches;
  int patch_count;
  const float* potential;
  WindowPolynomials window;
  const float* coefficients;  // by slot
  int64_t* sum;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, box, slots.position, patches, potential, coefficients);
    QMD_USES(kAdd, extent(sum, 1));
    QMD_USES(kNone, slots);
  }
};

// A barostat has changed the box of the conditions: what kernels need of it follows. One thread.
struct PutBoxOnMesh {
  static constexpr const char* kName = "put_box_on_mesh";
  const Conditions* conditions;
  Int3 points;
  MeshOf of;
  BoxOnMesh* box;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, conditions);
    QMD_USES(kWrite, extent(box, 1));
  }
};

}  // namespace quiltmd
