// SPDX-License-Identifier: Apache-2.0
// Alchemical atoms on the CPU. No lists: in each compute that has such atoms, each looks at all atoms of its
// patch and the half shell, which is a few thousand distances, and few pairs are evaluated.
//
// Positions are those of the kernels of pairs, in single precision from the patch's centre: proxies of atoms
// without bonded terms have no more of them. Whatever is added is in fixed point, pair by pair, so neither threads nor ranks show in a sum.
#include <algorithm>
#include <atomic>
#include <vector>

#include "computes/alchemy/operations.h"
#include "computes/bonded/term_placement.h"
#include "decomposition/host_faults.h"
#include "device/host/kernels.h"
#include "math/fixed.h"
#include "math/symmetric.h"

namespace quiltmd {
namespace {

// An excluded pair to the placement of terms: two atoms that may be anywhere in a molecule.
struct ExcludedPlaces {
  static constexpr int kAtoms = 2;
  static constexpr bool kApart = true;
};

void place_atoms(const PlaceAlchemy& op) {
  int count = 0;
  for (int k = 0; k < op.atom_count; ++k)
    if (const int32_t slot = op.slot_of_atom[op.atoms[k]]; slot >= 0)
      op.placed.slots[count++] = slot;
  std::sort(op.placed.slots, op.placed.slots + count);
  int next = 0;
  for (int p = 0; p < op.patch_count; ++p) {
    op.placed.first_of_patch[p] = next;
    while (next < count && op.slots.patch[op.placed.slots[next] / kClusterSize] == p) ++next;
  }
  op.placed.first_of_patch[op.patch_count] = next;
}

void place_alchemy(const PlaceAlchemy& op, ThreadGroup&) {
  if (op.faults->refused) return;
  place_atoms(op);
  PlaceTerms terms{};
  terms.slots = op.slots;
  terms.patches = op.patches;
  terms.grid = op.grid;
  terms.conditions = op.conditions;
  terms.slot_of_atom = op.slot_of_atom;
  terms.computed_here = op.computed_here;
  const TermPlacer placer(terms);
  TermTable table{};
  table.atoms = op.excluded_atoms;
  table.row = op.excluded_rows;
  int count = 0;
  for (int pair = 0; pair < op.excluded_pairs; ++pair) {
    uint32_t* const to = op.placed.excluded + static_cast<ptrdiff_t>(3) * count;
    const Found where = placer.place<ExcludedPlaces>(table, pair, to);
    count += where == Found::kHere;
    if (where == Found::kTooWide)
      report_fault(op.faults->blowup_step, op.faults->blowup_atom, *op.step,
                   op.excluded_atoms[2 * pair]);
  }
  *op.placed.excluded_count = count;
}

// What is scaled by lambda at a state.
struct Scales {
  double charge, van_der_waals;

  explicit Scales(const Lambdas& lambdas)
      : charge(Alchemy::charge_scale(lambdas)), van_der_waals(1 - lambdas.of[kLambdaVdw]) {}
  double of_charges(int scaled) const { return scaled == 2 ? charge * charge : charge; }
  // Its derivative by lambda.
  double slope_of_charges(int scaled) const { return scaled == 2 ? -2 * charge : -1; }
};

// Sums of a thread, in fixed point.
struct Sums {
  int64_t lennard_jones = 0, coulomb = 0, virial[Symmetric::kParts] = {}, slopes[kLambdas] = {};
  std::vector<int64_t> states;
};

class Evaluator {
 public:
  explicit Evaluator(const AlchemicalForces& op) : op_(op), now_(op.conditions->lambdas) {
    if (!op.energy) return;
    for (int k = 0; k < op.state_count; ++k) states_.emplace_back(op.states[k]);
    sums_.states.assign(states_.size(), 0);
  }

  // All pairs of a compute's patch and another.
  void meet(int own, int other, int code) {
    const Range from = alchemical(own), to = alchemical(other);
    for (const int32_t* i = from.begin; i != from.end; ++i) look_at_all(*i, other, code);
    if (code == 0) return;
    const PlacedPatch& patch = op_.patches[own];
    for (const int32_t* j = to.begin; j != to.end; ++j)
      for (int i = patch.start; i < patch.start + patch.atoms; ++i)
        if (!full(i).is_alchemical && is_near(i, *j, code)) add_pair(i, *j, code);
  }

  void take_back(const uint32_t* entry) {
    const ExcludedCharges pair = op_.excluded[entry[2]];
    const Vec3d way = place(entry[0]) - place(entry[1]);
    const SmoothValue smooth = smooth_coulomb(op_.smooth, dot(way, way));
    const double scale = now_.of_charges(pair.scaled);
    add_force(slot_of(entry[0]), slot_of(entry[1]), way, -scale * pair.product * smooth.force);
    if (!op_.energy) return;
    const double full = -pair.product * smooth.energy;
    sums_.coulomb += fixed(scale * full);
    sums_.slopes[kLambdaCoulomb] += fixed(now_.slope_of_charges(pair.scaled) * full);
    for (size_t k = 0; k < states_.size(); ++k)
      sums_.states[k] += fixed((states_[k].of_charges(pair.scaled) - scale) * full);
  }

  void finish() const {
    if (!op_.energy) return;
    const auto add = [](int64_t& to, int64_t value) {
      std::atomic_ref(to).fetch_add(value, std::memory_order_relaxed);
    };
    add(op_.energy[kPairForm], sums_.lennard_jones);
    add(op_.energy[kCoulombDirect], sums_.coulomb);
    for (int v = 0; v < Symmetric::kParts; ++v) add(op_.energy[kVirial + v], sums_.virial[v]);
    for (int l = 0; l < kLambdas; ++l) add(op_.sums[l], sums_.slopes[l]);
    for (size_t k = 0; k < states_.size(); ++k) add(op_.sums[kLambdas + k], sums_.states[k]);
  }

 private:
  struct Range {
    const int32_t *begin, *end;
  };
  Range alchemical(int patch) const {
    return {op_.placed.slots + op_.placed.first_of_patch[patch],
            op_.placed.slots + op_.placed.first_of_patch[patch + 1]};
  }
  const FullAtom& full(int slot) const { return op_.atoms[op_.slots.atom[slot]]; }
  static int64_t fixed(double energy) { return to_fixed(energy, kEnergyScale); }
  static int slot_of(uint32_t entry) { return static_cast<int>(entry & kSlotMask); }

  Vec3d place(int slot, int code) const {
    const Float4 local = op_.slots.local[slot];
    return Vec3d{local.x, local.y, local.z} + op_.grid.exact_shifts[code];
  }
  Vec3d place(uint32_t entry) const {
    return place(slot_of(entry), static_cast<int>(entry >> kSlotBits));
  }

  // An alchemical atom of the own patch with all of another; of two in one patch once.
  void look_at_all(int i, int other, int code) {
    const PlacedPatch& patch = op_.patches[other];
    for (int j = patch.start; j < patch.start + patch.atoms; ++j) {
      if (!is_near(i, j, code)) continue;
      if (code == 0 && (j == i || (j < i && full(j).is_alchemical))) continue;
      add_pair(i, j, code);
    }
  }

  // In single precision, with room for its rounding.
  bool is_near(int i, int j, int code) const {
    const Float4 a = op_.slots.local[i], b = op_.slots.local[j];
    const Vec3f shift = op_.grid.shifts[code];
    const float x = a.x - b.x - shift.x, y = a.y - b.y - shift.y, z = a.z - b.z - shift.z;
    return x * x + y * y + z * z < 1.001f * static_cast<float>(op_.core.cutoff2);
  }

  // Where lambda scales both charges, twice.
  struct Charges {
    double product;
    int scaled;
  };
  Charges charges(int i, int j) const {
    const FullAtom &a = full(i), &b = full(j);
    const double first = a.is_alchemical ? a.charge : op_.slots.local[i].w;
    const double second = b.is_alchemical ? b.charge : op_.slots.local[j].w;
    return {first * second, a.is_alchemical + b.is_alchemical};
  }

  void add_pair(int i, int j, int code) {
    const Vec3d way = place(i, 0) - place(j, code);
    const double r2 = dot(way, way);
    if (r2 >= op_.core.cutoff2 || op_.exclusions.has(op_.slots.atom[i], op_.slots.atom[j])) return;
    const auto entry = static_cast<ptrdiff_t>(full(i).pair_type) * op_.types + full(j).pair_type;
    const double a = op_.a[entry], b = op_.b[entry];
    const SoftValue soft = soft_lennard_jones(op_.core, a, b, now_.van_der_waals, r2);
    const Charges q = charges(i, j);
    SmoothValue rest{0, 0};  // of unit charges, what the mesh leaves
    if (q.product != 0 && may_have_charge()) rest = rest_of_mesh(r2);
    const double scale = now_.of_charges(q.scaled);
    const double push = scale == 0 ? 0 : scale * q.product * rest.force;
    add_force(i, j, way, soft.force + push);
    if (!op_.energy) return;
    const double coulomb = scale == 0 ? 0 : scale * q.product * rest.energy;
    sums_.lennard_jones += fixed(soft.energy);
    sums_.coulomb += fixed(coulomb);
    sums_.slopes[kLambdaVdw] -= fixed(soft.slope);
    if (q.product != 0)
      sums_.slopes[kLambdaCoulomb] +=
          fixed(now_.slope_of_charges(q.scaled) * q.product * rest.energy);
    for (size_t k = 0; k < states_.size(); ++k) {
      const Scales& state = states_[k];
      double change = 0;
      if (state.van_der_waals != now_.van_der_waals)
        change = soft_lennard_jones(op_.core, a, b, state.van_der_waals, r2).energy - soft.energy;
      if (q.product != 0 && state.charge != now_.charge)
        change += (state.of_charges(q.scaled) - scale) * q.product * rest.energy;
      sums_.states[k] += fixed(change);
    }
  }

  // Without charge, and no energies asked for, the potential is not needed.
  bool may_have_charge() const { return op_.energy || now_.charge != 0; }

  SmoothValue rest_of_mesh(double r2) const {
    const SmoothValue smooth = smooth_coulomb(op_.smooth, r2);
    const double inverse = 1 / std::sqrt(r2);
    return {inverse - smooth.energy - op_.coulomb_shift,
            inverse * inverse * inverse - smooth.force};
  }

  void add_force(int i, int j, Vec3d way, double push) {
    for (int d = 0; d < 3; ++d) {
      const int64_t force = to_fixed(push * way[d], kForceScale);
      std::atomic_ref(op_.slots.force[d][i]).fetch_add(force, std::memory_order_relaxed);
      std::atomic_ref(op_.slots.force[d][j]).fetch_sub(force, std::memory_order_relaxed);
    }
    if (!op_.energy) return;
    Symmetric own{};
    own.add_product(push * way, way);
    for (int v = 0; v < Symmetric::kParts; ++v) sums_.virial[v] += fixed(own[v]);
  }

  const AlchemicalForces& op_;
  const Scales now_;
  std::vector<Scales> states_;
  Sums sums_;
};

void alchemical_forces(const AlchemicalForces& op, ThreadGroup& threads) {
  const auto has_some = [&](int patch) {
    return op.placed.first_of_patch[patch] != op.placed.first_of_patch[patch + 1];
  };
  threads.parallel_for(op.compute_count, 1, [&](int begin, int end, int) {
    Evaluator evaluator(op);
    for (int c = begin; c < end; ++c)
      for (int code = 0; code < op.grid.codes; ++code) {
        const int own = op.computes[c], other = op.neighbours[c * op.grid.codes + code];
        if (has_some(own) || has_some(other)) evaluator.meet(own, other, code);
      }
    evaluator.finish();
  });
  constexpr int kGrainPairs = 256;
  threads.parallel_for(*op.placed.excluded_count, kGrainPairs, [&](int begin, int end, int) {
    Evaluator evaluator(op);
    for (int k = begin; k < end; ++k)
      evaluator.take_back(op.placed.excluded + static_cast<ptrdiff_t>(3) * k);
    evaluator.finish();
  });
}

}  // namespace

void add_alchemy_kernels(HostKernels& table) {
  table.add<PlaceAlchemy, place_alchemy>();
  table.add<AlchemicalForces, alchemical_forces>();
}

}  // namespace quiltmd
