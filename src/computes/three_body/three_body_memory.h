// SPDX-License-Identifier: Apache-2.0
// The memory of a three-body potential on one rank: the neighbours of atoms, parameters, and the work over them.
#pragma once

#include <algorithm>

#include "computes/lists/list_memory.h"
#include "computes/three_body/operations.h"

namespace quiltmd {

template <class Form>
class ThreeBodyMemory final : public ForceFamily {
 public:
  // With the potential of the system of the slots.
  ThreeBodyMemory(const SlotMemory& slots, const ListMemory& lists)
      : slots_(slots), lists_(lists), make_(slots.device) {
    const ThreeBodyPotential& potential = *slots.system.three_body;
    const std::vector<typename Form::Row> rows = rows_of<Form>(potential);
    cutoff_ = longest_cutoff<Form>(rows);
    type_of_atom_ = make_.filled(potential.type_of_atom);
    triplets_ = make_.filled(rows);
  }

  void set_plan(const RankPlan& plan) override {
    const PatchGrid& grid = slots_.patch_grid;
    const std::vector<int32_t> placed_index = slots_.placed_index();
    std::vector<int32_t> computes, neighbours;
    for (const int c : plan.computes) {
      computes.push_back(placed_index[static_cast<size_t>(c)]);
      for (int code = 0; code < grid.full_codes(); ++code)
        neighbours.push_back(placed_index[static_cast<size_t>(grid.neighbour(c, code))]);
    }
    count_ = static_cast<int>(computes.size());
    interior_ = plan.interior;
    make_.renew(computes_, computes);
    make_.renew(neighbours_, neighbours);
    make_rows(std::max(width_, kLeastWidth));
  }

  std::vector<Work> rebuild_work() override {
    return {{"three_body.neighbours", Positions::kWithProxies, Lists::kNotUsed,
             [this](Stream stream, int) { slots_.device.launch(find_neighbours(), stream); }}};
  }

  std::vector<Work> step_work(Energies energies) override {
    std::vector<Work> work;
    const auto add = [&](Positions positions, int first, int count) {
      work.push_back({"three_body.forces", positions, Lists::kNotUsed,
                      [this, energies, first, count](Stream stream, int) {
                        slots_.device.launch(forces(energies, first, count), stream);
                      },
                      Balance::kMovesWithComputes});
    };
    if (count_ > interior_) add(Positions::kWithProxies, interior_, count_ - interior_);
    add(Positions::kOwned, 0, interior_);
    return work;
  }

  void make_room(const Faults& faults) override {
    const int need = faults.room_needed[kNeighboursOfAtom];
    if (need == 0) return;
    make_rows(need + need / 4);
    slots_.device.launch(find_neighbours());
  }

  size_t bytes() const override { return make_.bytes(); }

 private:
  static constexpr int kLeastWidth = 20;  // silicon has 16, and on GPUs rows are in shared memory

  void make_rows(int width) {
    width_ = width;
    const auto slots = static_cast<size_t>(slots_.capacity());
    make_.renew(counts_, slots);
    make_.renew(entries_, slots * static_cast<size_t>(width));
  }

  NeighbourRows rows() const { return {width_, counts_.data(), entries_.data()}; }

  FindNeighbours find_neighbours() const {
    return {slots_.slots(),
            slots_.patches.data(),
            slots_.bounds.data(),
            slots_.grid_view(),
            computes_.data(),
            neighbours_.data(),
            count_,
            static_cast<float>(lists_.reach()),
            rows(),
            slots_.faults.data()};
  }

  ThreeBodyForces<Form> forces(Energies energies, int first, int count) const {
    return {slots_.slots(),
            slots_.capacity(),
            slots_.patches.data(),
            slots_.grid_view(),
            computes_.data(),
            first,
            count,
            rows(),
            type_of_atom_.data(),
            triplets_.data(),
            slots_.system.three_body->types,
            cutoff_,
            energies == Energies::kAdd ? slots_.energy.data() : nullptr};
  }

  const SlotMemory& slots_;
  const ListMemory& lists_;
  BufferMaker make_;
  double cutoff_ = 0;
  int count_ = 0, interior_ = 0, width_ = 0;
  Buffer<int32_t> type_of_atom_, computes_, neighbours_, counts_;
  Buffer<uint32_t> entries_;
  Buffer<typename Form::Row> triplets_;
};

}  // namespace quiltmd
