// SPDX-License-Identifier: Apache-2.0
// A family of forces with three phases, as embedded atoms have (Daw and Baskes, Phys. Rev. B 29, 6443 (1984)):
// E = sum over i of F(rho_i), F = -strength sqrt(rho), rho_i = sum over j of (1 - r^2/cutoff^2)^2.
//   0 densities of both atoms of each listed pair; those of proxies go back to their owners
//   1 F and F' of owned atoms; F' goes to proxies
//   2 forces of listed pairs
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "computes/lists/list_memory.h"
#include "device/host/host_device.h"
#include "math/fixed.h"

namespace quiltmd::test {

inline constexpr double kEmbedding = 20;  // the strength, kJ/mol
inline constexpr double kEmbeddedCutoff = 0.6;
inline constexpr double kDensityScale = 1099511627776.0;  // 2^40

struct Density {
  double value, fall;  // fall: minus its derivative by r, over r
};
inline Density density_at(double r2) {
  constexpr double kCutoff2 = kEmbeddedCutoff * kEmbeddedCutoff;
  const double rest = 1 - r2 / kCutoff2;
  if (rest <= 0) return {0, 0};
  return {rest * rest, 4 * rest / kCutoff2};
}
// F' of an atom that has no neighbour is not needed.
inline double slope_at(double density) {
  return density > 0 ? -0.5 * kEmbedding / std::sqrt(density) : 0;
}

// The pairs of some lists.
struct ListedPairs : ListView {
  const Vec3f* shifts;

  void memory(MemoryUses& uses, Access access) const {
    note_lists(uses, access);
    uses.note(access, "slots.atom, shifts", slots.atom, shifts);
  }

  // visit(slot i, slot j, vector from i to j)
  template <class Visit>
  void over_all(Visit visit) const {
    const int behind = std::min(*end, first + capacity);
    for (int l = first; l < behind; ++l)
      for (int n = lists[l].begin; n < lists[l].begin + lists[l].count(); ++n)
        visit_entry(lists[l].cluster, entries[n], visit);
  }

 private:
  template <class Visit>
  void visit_entry(int cluster, uint32_t entry, Visit visit) const {
    const int j = static_cast<int>(entry & kSlotMask), code = static_cast<int>(entry >> kSlotBits);
    for (int i = cluster * kClusterSize; i < (cluster + 1) * kClusterSize; ++i) {
      if (slots.atom[i] < 0 || (code == 0 && j / kClusterSize == cluster && i >= j)) continue;
      const Float4 a = slots.local[i], b = slots.local[j];
      const Vec3f shift = shifts[code];
      visit(i, j,
            Vec3d{double(b.x) + shift.x - a.x, double(b.y) + shift.y - a.y,
                  double(b.z) + shift.z - a.z});
    }
  }
};

struct Densities {
  static constexpr const char* kName = "test_densities";
  ListedPairs pairs;
  int64_t* sums;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, pairs);
    QMD_USES(kNone, pairs.slots);
    QMD_USES(kAdd, sums);
  }
};
inline void densities(const Densities& op, ThreadGroup&) {
  op.pairs.over_all([&op](int i, int j, Vec3d r) {
    const int64_t fixed = to_fixed(density_at(dot(r, r)).value, kDensityScale);
    op.sums[i] += fixed;
    op.sums[j] += fixed;
  });
}

struct Embed {
  static constexpr const char* kName = "test_embed";
  const int32_t* owned_slots;
  int64_t* sums;
  float* slopes;
  int64_t* energy;  // null: slopes only

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, extent(owned_slots, 1));
    QMD_USES(kReadWrite, sums);
    QMD_USES(kWrite, slopes);
    QMD_USES(kAdd, energy);
  }
};
inline void embed(const Embed& op, ThreadGroup&) {
  for (int s = 0; s < *op.owned_slots; ++s) {
    const double density = from_fixed(op.sums[s], kDensityScale);
    op.sums[s] = 0;
    op.slopes[s] = static_cast<float>(slope_at(density));
    if (op.energy) op.energy[kPairForm] += to_fixed(-kEmbedding * std::sqrt(density), kEnergyScale);
  }
}

struct EmbeddedForces {
  static constexpr const char* kName = "test_embedded_forces";
  ListedPairs pairs;
  const float* slopes;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, pairs, slopes);
    QMD_USES(kAdd, pairs.slots.force);
    QMD_USES(kNone, pairs.slots);
  }
};
inline void embedded_forces(const EmbeddedForces& op, ThreadGroup&) {
  op.pairs.over_all([&op](int i, int j, Vec3d r) {
    const double both = double(op.slopes[i]) + op.slopes[j];
    const Vec3d force = (both * density_at(dot(r, r)).fall) * r;
    for (int d = 0; d < 3; ++d) {
      const int64_t fixed = to_fixed(force[d], kForceScale);
      op.pairs.slots.force[d][j] += fixed;
      op.pairs.slots.force[d][i] -= fixed;
    }
  });
}

inline void add_embedded_kernels(HostKernels& table) {
  table.add<Densities, densities>();
  table.add<Embed, embed>();
  table.add<EmbeddedForces, embedded_forces>();
}

class EmbeddedFamily final : public ForceFamily {
 public:
  EmbeddedFamily(const SlotMemory& slots, const ListMemory& lists)
      : slots_(slots), lists_(lists), make_(slots.device) {}

  void set_plan(const RankPlan&) override {
    const auto slots = static_cast<size_t>(slots_.capacity());
    make_.renew(sums_, std::vector<int64_t>(slots, 0));
    make_.renew(slopes_, std::vector<float>(slots, 0));
  }

  std::vector<Work> step_work(Energies energies) override {
    Device& device = slots_.device;
    std::vector<Work> work;
    for (const Part part : {Part::kInterior, Part::kBoundary}) {
      if (!lists_.has(part)) continue;
      const Positions positions =
          part == Part::kInterior ? Positions::kOwned : Positions::kWithProxies;
      work.push_back(
          {"densities", positions, Lists::kUsed, [this, &device, part](Stream s, int age) {
             device.launch(Densities{pairs(part, age), sums_.data()}, s);
           }});
      work.push_back({"embedded.forces", positions, Lists::kUsed,
                      [this, &device, part](Stream s, int age) {
                        device.launch(EmbeddedForces{pairs(part, age), slopes_.data()}, s);
                      },
                      Balance::kMovesWithPatches, 2});
    }
    int64_t* const energy = energies == Energies::kAdd ? slots_.energy.data() : nullptr;
    work.push_back(
        {"embed", Positions::kOwned, Lists::kNotUsed,
         [this, &device, energy](Stream s, int) {
           device.launch(Embed{slots_.owned_slots.data(), sums_.data(), slopes_.data(), energy}, s);
         },
         Balance::kMovesWithPatches, 1});
    return work;
  }
  std::vector<Handover> handovers() override {
    return {{.sums = {sums_.data()}}, {.values = {slopes_.data()}}};
  }
  size_t bytes() const override { return make_.bytes(); }

 private:
  ListedPairs pairs(Part part, int age) const {
    return {lists_.view(part, age), slots_.grid_view().shifts};
  }

  const SlotMemory& slots_;
  const ListMemory& lists_;
  BufferMaker make_;
  Buffer<int64_t> sums_;
  Buffer<float> slopes_;
};

}  // namespace quiltmd::test
