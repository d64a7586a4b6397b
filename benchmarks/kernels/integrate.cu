// SPDX-License-Identifier: Apache-2.0
// Workshop of the integrators and the bonded terms: each kernel timed alone on dumps of runs, with
// the forces of that moment; stages checked against the `cpu` device, terms against plain double
// precision.
//
//   python3 benchmarks/kernels/build.py integrate && build/kernels/integrate DUMP...
//
// build.py makes variants, too: build/kernels/integrate_*.
#include <thread>

#include "computes/bonded/term_memory.h"
#include "computes/reference.h"
#include "math/units.h"
#include "runtime/devices.h"
#include "workshop.h"

using namespace workshop;

namespace workshop {  // a kernel in a nameless one would be ambiguous beside that of launch.h

// What keeps the GPU busy before a stage.
__global__ void busy_kernel(int64_t cycles, bool lets_next_start, LaunchTimes* times) {
  const Timed timed(times);
  if (lets_next_start) release_next();
  for (const int64_t start = clock64(); clock64() - start < cycles;) {
  }
}

}  // namespace workshop

namespace {

// Positions, velocities and forces of a moment, to go back to.
struct Moment {
  explicit Moment(Bench& b) : bench(b) {
    for (auto& [now, kept, bytes] : pieces) b.device.copy(kept, now, bytes, Stream::kMain);
  }
  void return_to() const {
    for (auto& [now, kept, bytes] : pieces) bench.device.copy(now, kept, bytes, Stream::kMain);
  }

  Bench& bench;
  SlotMemory& w = bench.slots;
  Buffer<Vec3d> position{bench.device, w.room.slots}, velocity{bench.device, w.room.slots};
  Buffer<int64_t> force{bench.device, w.force.size()};
  struct Piece {
    void *now, *kept;
    size_t bytes;
  };
  std::array<Piece, 3> pieces{{{w.position().data(), position.data(), position.bytes()},
                               {w.velocity().data(), velocity.data(), velocity.bytes()},
                               {w.force.data(), force.data(), force.bytes()}}};
};

LangevinMiddle langevin(Bench& b) {
  return {b.memory.group_work(b.list_age()),
          b.setup.plan.timestep,
          99,
          b.slots.energy.data(),
          ForcesAfter::kKept,
          nullptr};
}

// As a block of steps has it.
template <class Op>
Op in_a_block(Op op, const Bench& b) {
  op.forces_after = ForcesAfter::kCleared;
  op.counter = b.slots.step.data();
  return op;
}

// ---- Checks --------------------------------------------------------------------------------

// The largest difference of any component; both devices make the same bits.
template <class T>
double largest_difference(const std::vector<T>& a, const std::vector<T>& b,
                          const std::vector<int32_t>& atoms) {
  double largest = 0;
  for (size_t s = 0; s < atoms.size(); ++s) {
    if (atoms[s] < 0) continue;
    for (const double d : {a[s].x - b[s].x, a[s].y - b[s].y, a[s].z - b[s].z})
      largest = !(std::abs(d) <= largest) ? std::abs(d) : largest;  // NaN, too
  }
  return largest;
}

template <class MakeOp>
void check(const char* name, Bench& gpu, const Moment& moment, Bench& cpu, const Moment& there,
           MakeOp make) {
  moment.return_to();
  there.return_to();
  gpu.device.launch(make(gpu));
  cpu.device.launch(make(cpu));
  const SlotMemory &a = gpu.slots, &b = cpu.slots;
  const auto atoms = b.atom.download(static_cast<size_t>(b.owned_slots.download()[0]));
  const Faults faults = a.faults.download()[0];
  const auto differ = [&](const auto& here, const auto& there) {
    return within(0, largest_difference(here.download(), there.download(), atoms));
  };
  std::printf("  check %-16s x %.1e nm, v %.1e nm/ps, local x %.1e nm%s\n", name,
              differ(a.position(), b.position()), differ(a.velocity(), b.velocity()),
              differ(a.local, b.local),
              verdict(!faults.constraint_step && !faults.blowup_step, "", ", FAULTS"));
}

void check_stages(Bench& gpu, const Moment& moment) {
  const auto device = make_device("cpu", static_cast<int>(std::thread::hardware_concurrency()));
  Bench cpu({gpu.setup.system,
             gpu.setup.nonbonded,
             gpu.integrator,
             gpu.setup.grid.box,
             {0, gpu.positions(), gpu.velocities(), 0, {}}},
            *device);
  cpu.slots.force.upload(gpu.slots.force.download());
  cpu.slots.long_range.upload(gpu.slots.long_range.download());
  const Moment there(cpu);
  const double dt = gpu.setup.plan.timestep;
  const auto one = [&](const char* name, auto make) { check(name, gpu, moment, cpu, there, make); };
  one("langevin_middle", [](Bench& b) { return langevin(b); });
  one("verlet_start", [&](Bench& b) { return VerletStart{b.memory.group_work(b.list_age()), dt}; });
  one("verlet_finish",
      [&](Bench& b) { return VerletFinish{b.memory.group_work(b.list_age()), dt}; });
  one("verlet_step", [&](Bench& b) {
    return VerletStep{b.memory.group_work(b.list_age()), dt, ForcesAfter::kKept, nullptr};
  });
}

void check_terms(Bench& b) {
  Evaluation exact;
  reference_bonded(b.setup.system, b.setup.grid.box, b.positions(), exact);
  b.clear_sums();
  b.device.launch(b.family<TermMemory>().term_forces(Energies::kAdd));
  double worst = 0;
  for (int kind = kTermEnergies; kind < kEnergyKinds; ++kind)
    if (const double energy = exact.energy[static_cast<size_t>(kind)])
      worst = std::max(worst, within(1e-9, std::abs(b.energy(kind) / energy - 1)));
  std::printf("  check %-16s force error %.1e, energies %.1e\n", "term_forces",
              within(1e-9, relative_error(b.short_range_forces(), exact.forces)), worst);
}

// ---- Times ---------------------------------------------------------------------------------

// What a step pays for a stage: from the end of the kernel before to its own end. Alone; after another kernel, whether it was started early and had the time to fetch all but
// forces, or not.
template <class Op>
void time_stage(const char* name, const Moment& moment, CudaDevice& device, const Op& op) {
  CudaContext& context = device.context(Stream::kMain);
  const auto stage = [&] { device.launch(op); };
  const auto after_busy = [&](bool early) {
    return time_after(
        device,
        [&] {
          constexpr int64_t kCycles = 14000;
          moment.return_to();
          launch(context, {"busy", static_cast<unsigned>(context.sm_count), 64}, busy_kernel,
                 kCycles, early);
        },
        stage);
  };
  const double alone = time_after(device, [&] { moment.return_to(); }, stage);
  const double early = after_busy(true), late = after_busy(false);
  std::printf("  %-18s %8.2f us   after another kernel %8.2f, not started early %8.2f\n", name,
              alone, early, late);
}

void time_stages(Bench& b, const Moment& moment, CudaDevice& device) {
  const double dt = b.setup.plan.timestep;
  const GroupWork work = b.memory.group_work(b.list_age());
  const VerletStep verlet{work, dt, ForcesAfter::kKept, nullptr};
  const auto time = [&](const char* name, const auto& op) { time_stage(name, moment, device, op); };
  time("langevin_middle", langevin(b));
  time("  clears, counts", in_a_block(langevin(b), b));
  time("verlet_step", verlet);
  time("  clears, counts", in_a_block(verlet, b));
  time("verlet_start", VerletStart{work, dt});
  time("verlet_finish", VerletFinish{work, dt});
  time("clear_forces", b.memory.groups.clear_forces());
  time("kinetic_energy", KineticEnergy{work, b.slots.energy.data()});
}

void time_terms(Bench& b, CudaDevice& device) {
  for (const Terms& terms : b.setup.system.terms)
    std::printf("  %d %s", terms.count(), terms.form->atom_array);
  for (const Energies energies : {Energies::kSkip, Energies::kAdd}) {
    const TermForces op = b.family<TermMemory>().term_forces(energies);
    std::printf(" %.2f us%s", time_of(device, [&] { device.launch(op); }),
                energies == Energies::kSkip ? "," : " with energies\n");
  }
}

void run(Bench& b, CudaDevice& device) {
  const Moment moment(b);
  check_terms(b);
  time_terms(b, device);
  moment.return_to();
  check_stages(b, moment);
  time_stages(b, moment, device);
}

}  // namespace

int main(int count, char** arguments) { return for_dumps(count, arguments, run); }
