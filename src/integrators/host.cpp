// SPDX-License-Identifier: Apache-2.0
// Stages of a step on the host, by the loops over placed groups of host_groups.h.
#include <algorithm>
#include <cstring>

#include "integrators/andersen.h"
#include "integrators/cell_rescaling.h"
#include "integrators/host_groups.h"
#include "integrators/monte_carlo.h"
#include "integrators/nose_hoover.h"
#include "integrators/site_physics.h"
#include "integrators/velocity_rescaling.h"

namespace quiltmd {
namespace {

// ---- Kernels -------------------------------------------------------------------------------

void verlet_start_host(const VerletStart& op, ThreadGroup& threads) {
  over_chunks(op.work, threads, {}, [&](int begin, int end, ChunkSums&) {
    run_chunk(op, Changes::kBoth, begin, end, [&](auto& g, int) { return verlet_start(op, g); });
  });
}

void verlet_finish_host(const VerletFinish& op, ThreadGroup& threads) {
  over_chunks(op.work, threads, {}, [&](int begin, int end, ChunkSums&) {
    run_chunk(op, Changes::kVelocities, begin, end,
              [&](auto& g, int) { return verlet_finish(op, g); });
  });
}

void verlet_step_host(const VerletStep& op, ThreadGroup& threads) {
  over_chunks(op.work, threads, {}, [&](int begin, int end, ChunkSums&) {
    run_chunk(op, Changes::kBoth, begin, end, [&](auto& g, int) { return verlet_step(op, g); });
  });
  count_step(op.counter);
}

// For the bath of each group: `bath_of_placed(index)`.
template <class Op, class Bath>
void run_langevin(const Op& op, ThreadGroup& threads, const Bath& bath_of_placed) {
  const auto step = static_cast<uint64_t>(*op.work.step);
  over_chunks(op.work, threads, {op.energy + kHeat, 1}, [&](int begin, int end, ChunkSums& sums) {
    sums[0] = run_chunk(op, Changes::kBoth, begin, end, [&](auto& g, int index) {
      draw_noise(op.seed, step, RandomStream::kThermostat, first_atom(op.work, index), g);
      return langevin_middle(op, bath_of_placed(index), g);
    });
  });
  count_step(op.counter);
}

void langevin_middle_host(const LangevinMiddle& op, ThreadGroup& threads) {
  const HeatBath bath = op.work.conditions->bath;
  run_langevin(op, threads, [&](int) { return bath; });
}

void langevin_middle_groups_host(const LangevinMiddleGroups& op, ThreadGroup& threads) {
  run_langevin(op, threads, [&](int index) { return op.baths.of(op.work.placed[index].group); });
}

void count_step_host(const CountStep& op, ThreadGroup&) { count_step(op.step); }

void clear_forces_host(const ClearForces& op, ThreadGroup& threads) {
  const int count = std::min(*op.slot_count, op.slot_capacity);
  threads.parallel_for(count, 16384, [&](int begin, int end, int) {
    for (int64_t* component : op.slots.force)
      std::memset(component + begin, 0, static_cast<size_t>(end - begin) * sizeof(int64_t));
  });
}

void kinetic_energy_host(const KineticEnergy& op, ThreadGroup& threads) {
  const Target target{op.energy + kKinetic, kKineticSums};
  over_groups(op.work, threads, target, [&](auto& g, int, ChunkSums& sums) {
    add_kinetic(g, sums.data());
    return Outcome{};
  });
}

void sum_kinetic_energy_host(const SumKineticEnergy& op, ThreadGroup& threads) {
  over_groups(op.work, threads, {op.sum, 1}, [&](auto& g, int, ChunkSums& sums) {
    sums[0] += to_fixed(kinetic_energy(g), kEnergyScale);
    return Outcome{};
  });
}

void sum_kinetic_energy_groups_host(const SumKineticEnergyGroups& op, ThreadGroup& threads) {
  const Target target{op.sums, static_cast<size_t>(op.baths)};
  over_chunks(op.work, threads, target, [&](int begin, int end, ChunkSums& sums) {
    for (int index = begin; index < end; ++index) {
      const PlacedGroup placed = op.work.placed[index];
      sums[op.table.of_group[placed.group]] +=
          to_fixed(kinetic_energy(op.work, placed), kEnergyScale);
    }
  });
}

void draw_rescaling_host(const DrawRescaling& op, ThreadGroup&) {
  *op.factor = rescaling_factor(op);
}

void draw_rescaling_groups_host(const DrawRescalingGroups& op, ThreadGroup&) {
  for (int bath = 0; bath < op.baths; ++bath) op.factor[bath] = rescaling_factor(op, bath);
}

void advance_chain_host(const AdvanceChain& op, ThreadGroup&) { advance_chain(op); }

void advance_chains_host(const AdvanceChains& op, ThreadGroup&) {
  for (int bath = 0; bath < op.baths; ++bath) {
    const int64_t heat = advance_chain(op, bath);
    if (op.heat) *op.heat += heat;
  }
}

void scale_velocities_host(const ScaleVelocities& op, ThreadGroup& threads) {
  const Target target = op.energy ? Target{op.energy + kHeat, 1} : Target{};
  over_groups(op.work, threads, target, [&](auto& g, int index, ChunkSums& sums) {
    const Outcome outcome = scale_velocities(*op.factor, g);
    store_velocities(op.work, index, g.velocity, g.atoms());
    sums[0] += to_fixed(outcome.heat, kEnergyScale);
    return outcome;
  });
}

void scale_velocities_groups_host(const ScaleVelocitiesGroups& op, ThreadGroup& threads) {
  const Target target = op.energy ? Target{op.energy + kHeat, 1} : Target{};
  over_chunks(op.work, threads, target, [&](int begin, int end, ChunkSums& sums) {
    for (int index = begin; index < end; ++index)
      sums[0] += to_fixed(scale_velocities(op, op.work.placed[index]), kEnergyScale);
  });
}

void scale_groups_host(const ScaleGroups& op, ThreadGroup& threads) {
  over_chunks(op.work, threads, {}, [&](int begin, int end, ChunkSums&) {
    for (int index = begin; index < end; ++index) scale_group(op, op.work.placed[index]);
  });
}

void rescale_cell_host(const RescaleCell& op, ThreadGroup&) { rescale_cell(op); }

void rescale_groups_host(const RescaleGroups& op, ThreadGroup& threads) {
  over_chunks(op.work, threads, {op.energy + kHeat, 1}, [&](int begin, int end, ChunkSums& sums) {
    for (int index = begin; index < end; ++index)
      sums[0] += to_fixed(rescale_group(op, op.work.placed[index]), kEnergyScale);
  });
}

void count_potential_host(const CountPotential& op, ThreadGroup&) { count_potential(op); }

void sum_molecules_host(const SumMolecules& op, ThreadGroup& threads) {
  const int32_t* const molecule_of = op.molecules.of_group;
  over_chunks(op.work, threads, {}, [&](int begin, int end, ChunkSums&) {
    for (int index = begin; index < end; ++index) {
      const PlacedGroup placed = op.work.placed[index];
      const int32_t molecule = molecule_of[placed.group];
      if (molecule < 0) continue;
      int64_t sums[3] = {0, 0, 0};
      sum_molecule(op, placed, sums);
      for (int d = 0; d < 3; ++d)
        __atomic_fetch_add(op.sums + 3 * molecule + d, sums[d], __ATOMIC_RELAXED);
    }
  });
}

void propose_cell_host(const ProposeCell& op, ThreadGroup&) { propose_cell(op); }

void move_molecules_host(const MoveMolecules& op, ThreadGroup& threads) {
  over_chunks(op.work, threads, {}, [&](int begin, int end, ChunkSums&) {
    for (int index = begin; index < end; ++index) move_molecule(op, index);
  });
}

void decide_cell_host(const DecideCell& op, ThreadGroup&) { decide_cell(op); }

void restore_positions_host(const RestorePositions& op, ThreadGroup& threads) {
  if (*op.accepted != 0) return;
  over_chunks(op.work, threads, {}, [&](int begin, int end, ChunkSums&) {
    for (int index = begin; index < end; ++index) restore_group(op, op.work.placed[index]);
  });
}

void sum_momentum_host(const SumMomentum& op, ThreadGroup& threads) {
  over_groups(op.work, threads, {op.momentum, 3}, [&](auto& g, int, ChunkSums& sums) {
    add_momentum(g, sums.data());
    return Outcome{};
  });
}

void remove_momentum_host(const RemoveMomentum& op, ThreadGroup& threads) {
  const Target target = op.energy ? Target{op.energy + kHeat, 1} : Target{};
  over_groups(op.work, threads, target, [&](auto& g, int index, ChunkSums& sums) {
    const Outcome outcome = remove_momentum(op, g);
    store_velocities(op.work, index, g.velocity, g.atoms());
    sums[0] += to_fixed(outcome.heat, kEnergyScale);
    return outcome;
  });
}

void draw_velocities_host(const DrawVelocities& op, ThreadGroup& threads) {
  over_groups(op.work, threads, {}, [&](auto& g, int index, ChunkSums&) {
    draw_noise(op.seed, 0, RandomStream::kVelocities, first_atom(op.work, index), g);
    const Outcome outcome = draw_velocities(op, g);
    store_velocities(op.work, index, g.velocity, g.atoms());
    return outcome;
  });
}

void collide_host(const Collide& op, ThreadGroup& threads) {
  const auto step = static_cast<uint64_t>(*op.work.step);
  over_groups(op.work, threads, {op.energy + kHeat, 1}, [&](auto& g, int index, ChunkSums& sums) {
    draw_noise(op.seed, step, RandomStream::kThermostat, first_atom(op.work, index), g);
    const Outcome outcome = collide(op, op.work.placed[index], g);
    store_velocities(op.work, index, g.velocity, g.atoms());
    sums[0] += to_fixed(outcome.heat, kEnergyScale);
    return outcome;
  });
}

void set_state_host(const SetState& op, ThreadGroup& threads) {
  over_chunks(op.work, threads, {}, [&](int begin, int end, ChunkSums&) {
    for (int index = begin; index < end; ++index) set_group(op, index);
  });
}

void place_sites_host(const PlaceSites& op, ThreadGroup& threads) {
  over_chunks(op.work, threads, {}, [&](int begin, int end, ChunkSums&) {
    for (int index = begin; index < end; ++index) {
      const PlacedGroup placed = op.work.placed[index];
      const SiteSet set = sites_of_group(op.sites, placed.group);
      for (const Site* site = set.begin; site != set.end; ++site)
        check_displacement(op.work, *op.work.step - 1, place_site(op, *site, index),
                           first_atom(op.work, index) + site->atom);
    }
  });
}

void spread_site_forces_host(const SpreadSiteForces& op, ThreadGroup& threads) {
  const Target target =
      op.energy ? Target{op.energy + kVirial, size_t{Symmetric::kParts}} : Target{};
  over_chunks(op.work, threads, target, [&](int begin, int end, ChunkSums& sums) {
    for (int index = begin; index < end; ++index) {
      const Symmetric virial = spread_sites(op, op.work.placed[index]);
      for (size_t k = 0; k < target.count; ++k)
        sums[k] += to_fixed(virial[static_cast<int>(k)], kEnergyScale);
    }
  });
}

}  // namespace

void add_integrator_kernels(HostKernels& table) {
  table.add<VerletStart, verlet_start_host>();
  table.add<VerletFinish, verlet_finish_host>();
  table.add<VerletStep, verlet_step_host>();
  table.add<LangevinMiddle, langevin_middle_host>();
  table.add<LangevinMiddleGroups, langevin_middle_groups_host>();
  table.add<CountStep, count_step_host>();
  table.add<ClearForces, clear_forces_host>();
  table.add<KineticEnergy, kinetic_energy_host>();
  table.add<SumKineticEnergy, sum_kinetic_energy_host>();
  table.add<SumKineticEnergyGroups, sum_kinetic_energy_groups_host>();
  table.add<DrawRescaling, draw_rescaling_host>();
  table.add<DrawRescalingGroups, draw_rescaling_groups_host>();
  table.add<AdvanceChain, advance_chain_host>();
  table.add<AdvanceChains, advance_chains_host>();
  table.add<ScaleVelocities, scale_velocities_host>();
  table.add<ScaleVelocitiesGroups, scale_velocities_groups_host>();
  table.add<SumMomentum, sum_momentum_host>();
  table.add<RemoveMomentum, remove_momentum_host>();
  table.add<DrawVelocities, draw_velocities_host>();
  table.add<Collide, collide_host>();
  table.add<ScaleGroups, scale_groups_host>();
  table.add<RescaleCell, rescale_cell_host>();
  table.add<RescaleGroups, rescale_groups_host>();
  table.add<CountPotential, count_potential_host>();
  table.add<SumMolecules, sum_molecules_host>();
  table.add<ProposeCell, propose_cell_host>();
  table.add<MoveMolecules, move_molecules_host>();
  table.add<DecideCell, decide_cell_host>();
  table.add<RestorePositions, restore_positions_host>();
  table.add<SetState, set_state_host>();
  table.add<PlaceSites, place_sites_host>();
  table.add<SpreadSiteForces, spread_site_forces_host>();
}

}  // namespace quiltmd
