// SPDX-License-Identifier: Apache-2.0
// All pairs on the CPU, in double precision from single-precision coordinates: one atom after another
// against the roster.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "computes/all_pairs/operations.h"
#include "computes/nonbonded/double_number.h"
#include "computes/nonbonded/pair_forms.h"
#include "device/host/kernels.h"

namespace quiltmd {
namespace {

constexpr int kSlotGrain = 8;
constexpr int kChunkClusters = 16;

// ---- The roster ----------------------------------------------------------------------------

void number_clusters(const LayOutRoster& op) {
  int count = 0;
  for (int p = 0; p < op.patch_count; ++p) {
    const PlacedPatch& patch = op.patches[op.placed_index[p]];
    const int first = patch.start / kClusterSize;
    const int clusters = clusters_of(patch.atoms);
    for (int c = first; c < first + clusters && count < op.roster_capacity; ++c) {
      op.place_of_cluster[c] = count;
      op.roster[count++] = {c, patch.cell};
    }
  }
  *op.roster_count = count;
}

// Atoms that are nowhere (the simulation is about to fail) come last.
void look_up_partners(const LayOutRoster& op, int atom) {
  const int begin = op.exclusions.start[atom], end = op.exclusions.start[atom + 1];
  for (int k = begin; k < end; ++k) {
    const int slot = op.slot_of_atom[op.exclusions.partners[k]];
    op.partners[k] =
        slot < 0 ? std::numeric_limits<int32_t>::max()
                 : op.place_of_cluster[slot / kClusterSize] * kClusterSize + slot % kClusterSize;
  }
  std::sort(op.partners + begin, op.partners + end);
}

void lay_out_roster(const LayOutRoster& op, ThreadGroup& threads) {
  number_clusters(op);
  threads.parallel_for(op.atoms, 512, [&](int begin, int end, int) {
    for (int a = begin; a < end; ++a) look_up_partners(op, a);
  });
  if (!op.sites) return;
  std::fill_n(op.sums, op.slot_capacity, 0);
  std::fill_n(op.derivatives, op.slot_capacity, 0);
  std::fill_n(op.visits, op.roster_capacity, 0);
  for (int k = 0; k < *op.roster_count; ++k)
    for (int s = op.roster[k].cluster * kClusterSize; s < (op.roster[k].cluster + 1) * kClusterSize;
         ++s)
      op.sites[s] = op.slots.atom[s] < 0 ? BornSite{} : op.site_of_atom[op.slots.atom[s]];
}

// ---- Passes over pairs ----------------------------------------------------------------------

Vec3d point(const Slots& slots, int slot) {
  const Float4 at = slots.local[slot];
  return {at.x, at.y, at.z};
}

// Whether no atom of a patch is within the cutoff of a point, which is so far from its centre: atoms are
// within a width of that.
bool is_beyond_cutoff(const AllPairs& pairs, Vec3d from) {
  const double cutoff = std::sqrt(static_cast<double>(pairs.cutoff2));
  for (int d = 0; d < 3; ++d)
    if (std::fabs(from[d]) > cutoff + pairs.patch_width[d]) return true;
  return false;
}

// One atom against all others within the cutoff: pass.add(slot of the other one, way from there, whether excluded), and
// pass.end_chunk() after each chunk.
template <class Pass>
void meet_all(const AllPairs& pairs, int slot, Pass& pass) {
  const Slots& slots = pairs.slots;
  const int32_t atom = slots.atom[slot];
  const Int3 cell = pairs.patches[slots.patch[slot / kClusterSize]].cell;
  const Vec3d here = point(slots, slot);
  const int32_t* partner = pairs.partners + pairs.partner_start[atom];
  const int32_t* const last = pairs.partners + pairs.partner_start[atom + 1];
  for (int k = 0; k < *pairs.roster_count; ++k) {
    if (k > 0 && k % kChunkClusters == 0) pass.end_chunk();
    const RosterEntry entry = pairs.roster[k];
    const Vec3d from = here - pairs.shift(cell, entry.cell);
    if (is_beyond_cutoff(pairs, from)) continue;
    while (partner < last && *partner < k * kClusterSize) ++partner;
    for (int a = 0; a < kClusterSize; ++a) {
      const int other = entry.cluster * kClusterSize + a, place = k * kClusterSize + a;
      const bool excluded = partner < last && *partner == place;
      while (partner < last && *partner == place) ++partner;
      if (slots.atom[other] < 0 || other == slot) continue;
      const Vec3d way = from - point(slots, other);
      if (dot(way, way) < pairs.cutoff2) pass.add(other, way, excluded);
    }
  }
  pass.end_chunk();
}

// A sum of floating-point numbers over a chunk, of integers above.
class ChunkedSum {
 public:
  explicit ChunkedSum(double scale) : scale_(scale) {}
  void add(double value) { chunk_ += value; }
  void end_chunk() {
    total_ += to_fixed(chunk_, scale_);
    chunk_ = 0;
  }
  int64_t total() const { return total_; }

 private:
  double scale_, chunk_ = 0;
  int64_t total_ = 0;
};

class ForceSum {
 public:
  void add(double over_r, Vec3d way) {
    for (int d = 0; d < 3; ++d) sums_[d].add(over_r * way[d]);
  }
  void end_chunk() {
    for (ChunkedSum& sum : sums_) sum.end_chunk();
  }
  void add_to_totals(const Slots& slots, int slot) const {
    for (int d = 0; d < 3; ++d) slots.force[d][slot] += sums_[d].total();
  }

 private:
  ChunkedSum sums_[3] = {ChunkedSum(kForceScale), ChunkedSum(kForceScale), ChunkedSum(kForceScale)};
};

template <class Body>
void over_owned(const int32_t* owned_slots, int capacity, const int32_t* atom, ThreadGroup& threads,
                const Body& body) {
  const int slots = std::min(*owned_slots, capacity);
  threads.parallel_for(slots, kSlotGrain, [&](int begin, int end, int) {
    for (int s = begin; s < end; ++s)
      if (atom[s] >= 0) body(s);
  });
}

void add_energy(int64_t& to, int64_t value) {
  std::atomic_ref(to).fetch_add(value, std::memory_order_relaxed);
}

// ---- First pass ----

struct IntegralPass {
  const BornRadii& op;
  const BornSite& own;
  ChunkedSum sum{kScreeningScale};

  void add(int other, Vec3d way, bool) {
    const double r = norm(way);
    sum.add(screening_of<double>(op.necks, own, op.sites[other], r, 1 / r).value);
  }
  void end_chunk() { sum.end_chunk(); }
};

void born_radii(const BornRadii& op, ThreadGroup& threads) {
  const AllPairs& p = op.pairs;
  over_owned(p.owned_slots, p.slot_capacity, p.slots.atom, threads, [&](int slot) {
    IntegralPass pass{op, op.sites[slot]};
    meet_all(p, slot, pass);
    op.sums[slot] += pass.sum.total();
    set_radius(op, slot);
  });
}

// ---- Second pass ----

// Double precision with the tables of kernels.
struct TableNumber : Double {
  using Row = const float*;
  template <int kCount>
  static Row row(Float2 own, const float* table, int types) {
    return table + static_cast<ptrdiff_t>(std::bit_cast<int32_t>(own.x)) * types * kCount;
  }
  template <int kCount, class P>
  static Numbers<TableNumber, kCount> look_up(Row row, double j, const P&, const float*) {
    return read<kCount, TableNumber>(row, std::bit_cast<int32_t>(static_cast<float>(j)));
  }
  static Numbers<TableNumber, 4> knot(const float* table, double place) {
    return read<4, TableNumber>(table, static_cast<int>(place));
  }
};

template <class Form>
class ForcePass {
 public:
  ForcePass(const AllPairForces& op, int slot)
      : op_(op),
        slots_(op.pairs.slots),
        charge_(slots_.local[slot].w),
        radius_(op.born.radii ? op.born.radii[slot] : 0),
        site_(Form::template site<TableNumber>(slots_.pair_numbers[slot], op.table,
                                               op.parameters.types)) {}

  void add(int other, Vec3d way, bool excluded) {
    const double r2 = dot(way, way), qq = charge_ * slots_.local[other].w;
    double over_r = 0;
    if (!excluded) over_r += interact(other, r2, qq);
    if (op_.born.radii) {
      const BornConstants& constants = op_.born.constants;
      const double radius = op_.born.radii[other], product = radius_ * radius;
      const auto solvent =
          polarisation<double>(r2, product, 1 / product, qq, constants.inverse_dielectric,
                               constants.kappa, constants.per_cutoff);
      over_r += solvent.force_over_r;
      derivative_.add(solvent.by_product * radius);
      polarisation_.add(0.5 * solvent.energy);
    }
    force_.add(over_r, way);
  }

  void end_chunk() {
    force_.end_chunk();
    for (ChunkedSum* sum : {&derivative_, &form_, &coulomb_, &polarisation_}) sum->end_chunk();
  }

  void add_to_totals(int slot) const {
    force_.add_to_totals(slots_, slot);
    if (op_.born.radii) op_.born.derivatives[slot] += derivative_.total();
    if (!op_.energy) return;
    add_energy(op_.energy[kPairForm], form_.total());
    add_energy(op_.energy[kCoulombDirect], coulomb_.total());
    add_energy(op_.energy[kPolarisation], polarisation_.total());
  }

 private:
  double interact(int other, double r2, double qq) {
    const double inverse = 1 / std::sqrt(r2);
    const Distance<TableNumber> r{r2, inverse, inverse * inverse};
    const Float2 numbers = slots_.pair_numbers[other];
    const auto pair = Form::template evaluate<true, TableNumber>(site_, numbers.x, numbers.y, r,
                                                                 op_.parameters, op_.table);
    form_.add(0.5 * pair.energy);
    coulomb_.add(0.5 * qq * (inverse - op_.parameters.coulomb_shift));
    return (pair.force_r + qq * inverse) * r.inverse2;
  }

  const AllPairForces& op_;
  const Slots& slots_;
  double charge_, radius_;
  typename Form::template Site<TableNumber> site_;
  ForceSum force_;
  ChunkedSum derivative_{kForceScale}, form_{kEnergyScale}, coulomb_{kEnergyScale},
      polarisation_{kEnergyScale};
};

void find_slope(const AllPairForces& op, int slot) {
  const SlopeEnergies own = set_slope(op.born, op.pairs.slots, slot);
  if (!op.energy) return;
  add_energy(op.energy[kPolarisation], own.polarisation);
  add_energy(op.energy[kSurface], own.surface);
}

void all_pair_forces(const AllPairForces& op, ThreadGroup& threads) {
  const AllPairs& p = op.pairs;
  PairForms::with(op.parameters.form, [&]<class Form>(Form) {
    over_owned(p.owned_slots, p.slot_capacity, p.slots.atom, threads, [&](int slot) {
      ForcePass<Form> pass(op, slot);
      meet_all(p, slot, pass);
      pass.add_to_totals(slot);
      if (op.born.radii) find_slope(op, slot);
    });
  });
}

// ---- Third pass ----

struct ChainPass {
  const BornForces& op;
  const BornSite& own;
  double slope;
  ForceSum force{};

  void add(int other, Vec3d way, bool) {
    const double r = norm(way);
    const double here = screening_of<double>(op.necks, own, op.sites[other], r, 1 / r).slope;
    const double there = screening_of<double>(op.necks, op.sites[other], own, r, 1 / r).slope;
    force.add(-(slope * here + op.slopes[other] * there) / r, way);
  }
  void end_chunk() { force.end_chunk(); }
};

void born_forces(const BornForces& op, ThreadGroup& threads) {
  const AllPairs& p = op.pairs;
  over_owned(p.owned_slots, p.slot_capacity, p.slots.atom, threads, [&](int slot) {
    ChainPass pass{op, op.sites[slot], op.slopes[slot]};
    meet_all(p, slot, pass);
    pass.force.add_to_totals(p.slots, slot);
  });
}

}  // namespace

void add_all_pairs_kernels(HostKernels& table) {
  table.add<LayOutRoster, lay_out_roster>();
  table.add<BornRadii, born_radii>();
  table.add<AllPairForces, all_pair_forces>();
  table.add<BornForces, born_forces>();
}

}  // namespace quiltmd
