// SPDX-License-Identifier: Apache-2.0
// Operations over all pairs of atoms, for systems without a cutoff or in an implicit solvent: Lennard-Jones
// and Coulomb, and the three passes of generalized Born. With a cutoff, pairs beyond it count for none of
// them.
//
// A rank holds all patches and computes what its own atoms feel: a pair of atoms of two ranks is
// evaluated on both. In return no force and no derivative goes back to another rank, and only radii and
// slopes travel besides positions.
//
// All ranks know all clusters in the same order, that of the roster. Sums of floating-point numbers are
// those of one atom over a piece of the roster, whoever owns the atoms of that; above that sums are
// integers.
#pragma once

#include "computes/all_pairs/born.h"
#include "computes/lists/operations.h"
#include "computes/nonbonded/pair_parameters.h"
#include "decomposition/energies.h"
#include "decomposition/slots.h"
#include "math/fixed.h"

namespace quiltmd {

// A cluster of the roster: patches ascending, empty ones left out.
struct alignas(16) RosterEntry {
  int32_t cluster;  // slot / kClusterSize
  Int3 cell;        // of its patch
};

// An atom of the roster, by its place, and where its partners are: for kernels that begin anywhere, on GPUs.
struct alignas(16) RosterAtom {
  int32_t slot;  // -1: none
  Int3 cell;     // of its patch
};
struct alignas(16) PartnerRange {
  int32_t begin, end;   // in `partners`
  int32_t first, last;  // of these places; last < first without any
};

// Data of an atom for screening, by slot. Padding has no scaled radius, so it screens nothing.
struct alignas(16) BornSite {
  float offset_radius, scaled_radius;  // nm
  float radius;                        // nm
  int32_t neck_type;
};

// Sums of integrals in fixed point: 2^-40/nm.
inline constexpr double kScreeningScale = 1099511627776.0;

// The atoms of a rank and of the roster.
struct AllPairs {
  Slots slots;
  const int32_t* owned_slots;
  int slot_capacity;
  const PlacedPatch* patches;
  const RosterEntry* roster;
  const int32_t* roster_count;
  int roster_capacity;
  const int32_t* partner_start;    // (atoms + 1)
  const int32_t* partners;         // places of the atoms that an atom is excluded from, ascending
  const RosterAtom* roster_atoms;  // by place
  const PartnerRange* partner_ranges;  // by place, where there is an atom
  Int3 cells;
  Vec3d patch_width;  // nm
  float cutoff2;      // nm^2; infinite without one
  int atoms;          // of the system

  // Number of patches between two patches along a dimension.
  QMD_HD int apart(Int3 from, Int3 to, int d) const {
    const int found = to[d] - from[d], half = cells[d] / 2;
    return found + (found < -half ? cells[d] : found > half ? -cells[d] : 0);
  }
  // From the centre of a patch to that of another one.
  QMD_HD Vec3d shift(Int3 from, Int3 to) const {
    Vec3d found{};
    for (int d = 0; d < 3; ++d) found[d] = apart(from, to, d) * patch_width[d];
    return found;
  }

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "owned_slots, patches, roster, roster_count, partner_start, partners",
              owned_slots, patches, roster, roster_count, partner_start, partners);
    uses.note(access, "roster_atoms, partner_ranges", roster_atoms, partner_ranges);
    uses.note(access, "slots.local, slots.atom, slots.patch", slots.local, slots.atom, slots.patch);
    QMD_USES(kNone, slots);
  }
};

// After a layout: number the clusters, look up where excluded atoms are, and clear the sums.
struct LayOutRoster {
  static constexpr const char* kName = "lay_out_roster";
  Slots slots;
  const PlacedPatch* patches;
  const int32_t* placed_index;  // by patch of the grid
  int patch_count;
  RosterEntry* roster;
  int32_t* roster_count;
  int roster_capacity;
  int32_t* place_of_cluster;
  ExclusionTable exclusions;
  int atoms;
  const int32_t* slot_of_atom;
  int32_t* partners;
  RosterAtom* roster_atoms;
  PartnerRange* partner_ranges;
  int places;                    // room in these two
  const BornSite* site_of_atom;  // null without solvent, as are those that follow
  BornSite* sites;
  int64_t *sums, *derivatives;
  int32_t* visits;
  int slot_capacity;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, patches, placed_index, exclusions, slot_of_atom, site_of_atom, slots.atom);
    QMD_USES(kReadWrite, roster, roster_count, place_of_cluster, partners);
    QMD_USES(kWrite, roster_atoms, partner_ranges, sites, sums, derivatives, visits);
    QMD_USES(kNone, slots);
  }
};

// Tables of necks by pair of types, with the height zero where there are none.
struct NeckTables {
  const float* distance;
  const float* height;
  int types;  // 0: no necks

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "distance, height", distance, height);
  }
};

// From which distances on (nm) this number of terms of distant_screening() is right for all pairs, and no neck
// reaches.
struct SeriesReach {
  float six_terms, three_terms;
};

// Constants of the equations that are the same for all atoms.
struct BornConstants {
  BornFunction function;
  double inverse_dielectric, kappa, surface;
  double per_cutoff;  // 1/nm; zero without one
};

// First pass: the sums of integrals of owned atoms, and their Born radii.
struct BornRadii {
  static constexpr const char* kName = "born_radii";
  AllPairs pairs;
  const BornSite* sites;
  NeckTables necks;
  SeriesReach reach;
  const BornAtom* atoms;  // by internal index
  BornConstants constants;
  int64_t* sums;    // by slot, zero before
  int32_t* visits;  // of groups of the roster, zero before and after: for kernels that count them
  float* radii;     // by slot

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, pairs, sites, necks, atoms);
    QMD_USES(kReadWrite, sums, visits);
    QMD_USES(kDisjoint, radii);
  }
};

// With solvent, additional data of the second pass: from radii and derivatives of the energy by radii it
// calculates derivatives by the sums of integrals, and clears sums and derivatives for the next step.
struct BornSlopes {
  const float* radii;  // by slot; null without solvent, as are all others
  const BornAtom* atoms;
  BornConstants constants;
  int64_t *sums, *derivatives;  // by slot; derivatives zero before
  int32_t* visits;
  float* slopes;  // by slot

  void memory(MemoryUses& uses, Access) const {
    uses.note(Access::kRead, "radii, atoms", radii, atoms);
    uses.note(Access::kReadWrite, "sums, derivatives, visits", sums, derivatives, visits);
    uses.note(Access::kDisjoint, "slopes", slopes);
  }
};

// Second pass: Lennard-Jones and Coulomb of all pairs, and with solvent the polarisation energy. Forces on
// owned atoms, slopes, energies (kPairForm, kCoulombDirect, kPolarisation, kSurface) where `energy` is not
// null.
struct AllPairForces {
  static constexpr const char* kName = "all_pair_forces";
  AllPairs pairs;
  PairParameters parameters;
  const float* table;  // of the pair form
  BornSlopes born;
  int64_t* energy;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, pairs, pairs.slots.pair_numbers, table);
    QMD_USES(kReadWrite, born);
    QMD_USES(kAdd, pairs.slots.force, energy);
  }
};

// Third pass: forces on owned atoms as radii change with distances.
struct BornForces {
  static constexpr const char* kName = "born_forces";
  AllPairs pairs;
  const BornSite* sites;
  NeckTables necks;
  SeriesReach reach;
  const float* slopes;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, pairs, sites, necks, slopes);
    QMD_USES(kAdd, pairs.slots.force);
  }
};

// ---- What is the same on every kind of device ------------------------------------------------

// The neck of two sites; zero beyond its reach.
template <class Real>
QMD_HD Curve<Real> neck_of(const NeckTables& necks, const BornSite& i, const BornSite& j, Real r) {
  if (!(r < static_cast<Real>(i.radius) + static_cast<Real>(j.radius) + Real(kNeckReach)))
    return {0, 0};
  const int pair = i.neck_type * necks.types + j.neck_type;
  return neck<Real>(r, static_cast<Real>(necks.distance[pair]),
                    static_cast<Real>(necks.height[pair]));
}

// Screening of i by j.
template <class Real>
QMD_HD Curve<Real> screening_of(const NeckTables& necks, const BornSite& i, const BornSite& j,
                                Real r, Real per_r) {
  Curve<Real> found = screening<Real>(r, per_r, static_cast<Real>(i.offset_radius),
                                      static_cast<Real>(j.scaled_radius));
  if (necks.types > 0) {
    const Curve<Real> more = neck_of<Real>(necks, i, j, r);
    found = {found.value + more.value, found.slope + more.slope};
  }
  return found;
}

QMD_HD void set_radius(const BornRadii& op, int slot) {
  const int32_t atom = op.pairs.slots.atom[slot];
  if (atom < 0) return;
  const double sum = from_fixed(op.sums[slot], kScreeningScale);
  op.radii[slot] =
      static_cast<float>(born_radius(sum, op.atoms[atom], op.constants.function).value);
}

struct SlopeEnergies {
  int64_t polarisation, surface;
};
QMD_HD SlopeEnergies set_slope(const BornSlopes& op, const Slots& slots, int slot) {
  const int32_t atom = slots.atom[slot];
  if (atom < 0) return {0, 0};
  const BornConstants& c = op.constants;
  const double charge = slots.local[slot].w;
  const double sum = from_fixed(op.sums[slot], kScreeningScale);
  const Curve<double> born = born_radius(sum, op.atoms[atom], c.function);
  const OfOneAtom own = energy_of_one(born.value, op.atoms[atom], charge * charge,
                                      c.inverse_dielectric, c.kappa, c.surface);
  const double by_radius = from_fixed(op.derivatives[slot], kForceScale) + own.by_radius;
  op.slopes[slot] = static_cast<float>(by_radius * born.slope);
  op.sums[slot] = op.derivatives[slot] = 0;
  return {to_fixed(own.polarisation, kEnergyScale), to_fixed(own.surface, kEnergyScale)};
}

}  // namespace quiltmd
