// SPDX-License-Identifier: Apache-2.0
// Workshop of the integrators and the bonded terms: each kernel timed alone on boxes of water of the
// four benchmark sizes, and checked against the host's compilation of the same physics.
//
//   python3 benchmarks/kernels/build.py integrate && build/kernels/integrate [sizes, 1 to 4]
//
// A tenth of the molecules, on one side of the box, are CH2-like groups instead of rigid waters, and
// carry as many bonded terms as a protein of their size.
#include <cstring>
#include <string>

#include "computes/bonded/cuda_kernels.h"
#include "computes/bonded/term_physics.h"
#include "device/cuda/kernels.h"
#include "integrators/group_shapes.h"
#include "integrators/stage_physics.h"
#include "water.h"

using namespace workshop;

namespace {

constexpr double kTimestep = 0.004, kTemperature = 300, kFriction = 1;

// ---- The state, on the host and on the device ----------------------------------------------

struct Atoms {
  std::vector<Vec3d> position, velocity, reference;
  std::vector<Float4> local, low, long_range;
  std::vector<int64_t> force;  // three arrays
  std::vector<int32_t> atom;
};

// Everything that does not change, by atom or group.
struct Fixed {
  std::vector<double> mass, inverse_mass;
  std::vector<int32_t> group_start, constraint_start;
  std::vector<GroupConstraint> constraints;
  GroupShapes shapes;
};

bool is_protein(const Water& w, size_t group) {
  return w.position[static_cast<size_t>(w.placed[group].slot)].x < 0.1 * w.box.ax;
}

Fixed make_fixed(const Water& w) {
  Fixed f;
  const double base = 2 * kLeg * std::sin(kHalfAngle);
  for (size_t g = 0; g < w.placed.size(); ++g) {
    const bool protein = is_protein(w, g);
    f.group_start.push_back(static_cast<int32_t>(3 * g));
    f.constraint_start.push_back(static_cast<int32_t>(f.constraints.size()));
    for (const double m :
         {protein ? 12.011 : 15.9994, protein ? 3.024 : 1.008, protein ? 3.024 : 1.008}) {
      f.mass.push_back(m);
      f.inverse_mass.push_back(1 / m);
    }
    f.constraints.push_back({0, 1, kLeg});
    f.constraints.push_back({0, 2, kLeg});
    if (!protein) f.constraints.push_back({1, 2, base});
  }
  f.group_start.push_back(w.atoms);
  f.constraint_start.push_back(static_cast<int32_t>(f.constraints.size()));
  std::vector<char> in_terms(f.mass.size());
  for (size_t a = 0; a < in_terms.size(); ++a) in_terms[a] = is_protein(w, a / 3);
  f.shapes = make_group_shapes(f.group_start, f.constraint_start, f.constraints, f.mass,
                               f.inverse_mass, in_terms);
  return f;
}

Atoms make_atoms(const Water& w) {
  const size_t n = w.slots();
  Atoms a;
  a.position = a.reference = w.position;
  const Locals l = make_locals(w);
  a.local = l.local;
  a.low = l.low;
  a.atom = w.atom;
  a.velocity.resize(n);
  a.long_range.resize(n);
  a.force.resize(3 * n);
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  for (size_t s = 0; s < n; ++s) {
    a.velocity[s] = {0.3 * normal(random), 0.3 * normal(random), 0.3 * normal(random)};
    for (size_t d = 0; d < 3; ++d) a.force[d * n + s] = to_fixed(500 * normal(random), kForceScale);
    a.long_range[s] = {static_cast<float>(20 * normal(random)), 0, 0, 0};
  }
  return a;
}

struct DeviceState {
  Array<Vec3d> position, velocity, reference, origin;
  Array<Float4> local, low, long_range;
  Array<int64_t> force, step, energy;
  Array<int32_t> atom, count;
  Array<PlacedGroup> placed;
  Array<double> mass, inverse_mass;
  Array<int32_t> group_start, constraint_start;
  Array<GroupConstraint> constraints;
  Array<uint32_t> codes;
  Array<GroupShape> shapes;
  Array<Faults> faults;
  size_t slots;

  DeviceState(const Water& w, const Atoms& a, const Fixed& f)
      : position(a.position),
        velocity(a.velocity),
        reference(a.reference),
        origin(w.origin),
        local(a.local),
        low(a.low),
        long_range(a.long_range),
        force(a.force),
        step(2),
        energy(kEnergyKinds),
        atom(a.atom),
        count(std::vector<int32_t>{static_cast<int32_t>(w.placed.size())}),
        placed(w.placed),
        mass(f.mass),
        inverse_mass(f.inverse_mass),
        group_start(f.group_start),
        constraint_start(f.constraint_start),
        constraints(f.constraints),
        codes(f.shapes.codes),
        shapes(f.shapes.shapes),
        faults(1),
        slots(a.position.size()) {}

  void reset(const Atoms& a) {
    position.upload(a.position);
    velocity.upload(a.velocity);
    local.upload(a.local);
    low.upload(a.low);
    force.upload(a.force);
    long_range.upload(a.long_range);
  }
  GroupWork work() const {
    GroupWork g{};
    g.slots.position = position.data();
    g.slots.velocity = velocity.data();
    g.slots.reference = reference.data();
    g.slots.local = local.data();
    g.slots.low = low.data();
    g.slots.long_range = long_range.data();
    g.slots.atom = atom.data();
    for (size_t d = 0; d < 3; ++d) g.slots.force[d] = force.data() + d * slots;
    g.placed = placed.data();
    g.count = count.data();
    g.capacity = static_cast<int>(placed.bytes() / sizeof(PlacedGroup));
    g.origin = origin.data();
    g.constants.mass = mass.data();
    g.constants.inverse_mass = inverse_mass.data();
    g.constants.group_start = group_start.data();
    g.constants.constraint_start = constraint_start.data();
    g.constants.constraints = constraints.data();
    g.constants.group_shape = codes.data();
    g.constants.shapes = shapes.data();
    g.constraint_tolerance = 1e-6;
    g.step = step.data();
    g.outrun2 = 1e30;
    g.blowup2 = 1e30;
    g.faults = faults.data();
    return g;
  }
};

GroupWork host_work(Atoms& a, const Fixed& f) {
  GroupWork g{};
  g.slots.position = a.position.data();
  g.slots.velocity = a.velocity.data();
  g.slots.reference = a.reference.data();
  g.slots.local = a.local.data();
  g.slots.low = a.low.data();
  g.slots.long_range = a.long_range.data();
  for (size_t d = 0; d < 3; ++d) g.slots.force[d] = a.force.data() + d * a.position.size();
  g.constants.mass = f.mass.data();
  g.constants.inverse_mass = f.inverse_mass.data();
  g.constants.group_start = f.group_start.data();
  g.constants.constraint_start = f.constraint_start.data();
  g.constants.constraints = f.constraints.data();
  g.constraint_tolerance = 1e-6;
  return g;
}

// ---- Reference -----------------------------------------------------------------------------

// stage(group, first atom) for every group on the host; stores positions and velocities.
template <class Stage>
void on_host(const Water& w, const GroupWork& work, Stage stage) {
  const auto apply = [&](auto& g, size_t index) {
    const PlacedGroup placed = w.placed[index];
    load(work, placed, Masses::kReal, g);
    stage(g, work.constants.group_start[placed.group]);
    for (int i = 0; i < g.atoms(); ++i) {
      work.slots.velocity[placed.slot + i] = g.velocity[i];
      store_position(work.slots, placed.slot + i, w.origin[index], g.position[i]);
    }
  };
  RigidWater water;
  StarGroup star;
  SmallGroup small;
  for (size_t index = 0; index < w.placed.size(); ++index)
    if (is_rigid_water(work.constants, w.placed[index].group)) {
      apply(water, index);
    } else if (is_star(work.constants, w.placed[index].group)) {
      apply(star, index);
    } else {
      apply(small, index);
    }
}

struct Errors {
  double position, velocity, local;
};
Errors compare(const Water& w, const Atoms& a, const DeviceState& d) {
  const auto position = d.position.download(), velocity = d.velocity.download();
  const auto local = d.local.download();
  Errors e{0, 0, 0};
  for (size_t s = 0; s < w.slots(); ++s) {
    if (w.atom[s] < 0) continue;
    const auto worst = [](double& to, Vec3d v) { to = !(norm(v) <= to) ? norm(v) : to; };
    worst(e.position, position[s] - a.position[s]);
    worst(e.velocity, velocity[s] - a.velocity[s]);
    worst(e.local,
          {local[s].x - a.local[s].x, local[s].y - a.local[s].y, local[s].w - a.local[s].w});
  }
  return e;
}

// ---- Integrators ---------------------------------------------------------------------------

template <class Op>
void run_op(const Op& op, CudaContext& context) {
  static const CudaKernels table = [] {
    CudaKernels t;
    add_integrator_kernels(t);
    add_bonded_kernels(t);
    return t;
  }();
  table.find(operation_key<Op>())(&op, context);
}

// What a step pays for a stage: from the end of the kernel before to its own end.
__global__ void busy_kernel(int64_t cycles, bool lets_next_start) {
  if (lets_next_start) release_next();
  for (const int64_t start = clock64(); clock64() - start < cycles;) {
  }
}

// Whether the stage was started early, and had the time to fetch all but forces, or not at all.
enum class Given { kTime, kNoTime };
template <class Op>
double time_after(Given given, CudaContext& context, const Op& op) {
  const auto busy = [&] {
    constexpr int64_t kCycles = 14000;
    launch(context, {"busy", static_cast<unsigned>(context.sm_count), 64}, busy_kernel, kCycles,
           given == Given::kTime);
  };
  const auto both = [&] {
    busy();
    run_op(op, context);
  };
  return time_of(context, both) - time_of(context, busy);
}

template <class Op, class Stage>
void check(const char* name, const Water& w, const Atoms& start, const Fixed& f, DeviceState& d,
           CudaContext& context, const Op& op, Stage stage) {
  Atoms a = start;
  d.reset(start);
  on_host(w, host_work(a, f), stage);
  run_op(op, context);
  cuda_check(cudaStreamSynchronize(context.stream), name);
  const Errors e = compare(w, a, d);
  const Faults faults = d.faults.download()[0];
  std::printf("%8d check %-16s x %.1e  v %.1e  local %.1e  faults %lld\n", w.atoms, name,
              e.position, e.velocity, e.local,
              static_cast<long long>(faults.constraint_step + faults.blowup_step));
}

template <class Op>
void time_op(const char* name, const Water& w, const Atoms& start, DeviceState& d,
             CudaContext& context, const Op& op) {
  d.reset(start);
  const double alone = time_of(context, [&] { run_op(op, context); }, 10);
  d.reset(start);
  const double early = time_after(Given::kTime, context, op);
  d.reset(start);
  std::printf("%8d %-18s %8.2f us   after another kernel %8.2f, not started early %8.2f\n", w.atoms,
              name, alone, early, time_after(Given::kNoTime, context, op));
}

void integrators(const Water& w, CudaContext& context) {
  const Fixed f = make_fixed(w);
  Atoms start = make_atoms(w);
  DeviceState d(w, start, f);
  const double keep = std::exp(-kFriction * kTimestep);
  const LangevinMiddle langevin{d.work(),
                                kTimestep,
                                keep,
                                std::sqrt(kBoltzmann * kTemperature * (1 - keep * keep)),
                                99,
                                d.energy.data(),
                                ForcesAfter::kKept,
                                nullptr};
  LangevinMiddle fused = langevin;
  fused.forces_after = ForcesAfter::kCleared;
  fused.counter = d.step.data();
  const VerletStep verlet_both{d.work(), kTimestep, ForcesAfter::kKept, nullptr};
  const VerletStart verlet_begin{d.work(), kTimestep};
  const VerletFinish verlet_end{d.work(), kTimestep};
  check("langevin_middle", w, start, f, d, context, langevin, [&](auto& g, int first) {
    for (int i = 0; i < g.atoms(); ++i)
      g.noise[i] = gaussian3(99, 0, static_cast<uint32_t>(first + i), RandomStream::kThermostat);
    LangevinMiddle op = langevin;
    langevin_middle(op, g);
  });
  check("verlet_start", w, start, f, d, context, verlet_begin,
        [&](auto& g, int) { verlet_start(verlet_begin, g); });
  check("verlet_finish", w, start, f, d, context, verlet_end,
        [&](auto& g, int) { verlet_finish(verlet_end, g); });
  check("verlet_step", w, start, f, d, context, verlet_both,
        [&](auto& g, int) { verlet_step(verlet_both, g); });
  // The forces are kept small while timing, so that groups stay whole.
  std::fill(start.force.begin(), start.force.end(), 0);
  std::fill(start.long_range.begin(), start.long_range.end(), Float4{0, 0, 0, 0});
  std::fill(start.velocity.begin(), start.velocity.end(), Vec3d{0, 0, 0});
  time_op("langevin_middle", w, start, d, context, langevin);
  time_op("  clears, counts", w, start, d, context, fused);
  time_op("verlet_step", w, start, d, context, verlet_both);
  time_op("verlet_start", w, start, d, context, verlet_begin);
  time_op("verlet_finish", w, start, d, context, verlet_end);
  Array<int32_t> slot_count(std::vector<int32_t>{static_cast<int32_t>(w.slots())});
  time_op("clear_forces", w, start, d, context,
          ClearForces{d.work().slots, slot_count.data(), static_cast<int>(w.slots())});
  time_op("count_step", w, start, d, context, CountStep{d.step.data()});
  time_op("kinetic_energy", w, start, d, context, KineticEnergy{d.work(), d.energy.data()});
}

// ---- Bonded terms --------------------------------------------------------------------------

// Terms between each protein group and those that follow it in its patch.
struct Terms {
  std::vector<PlacedTerm> placed[kTermKinds];
  std::vector<double> parameters[kTermKinds];

  void add(TermKind kind, std::initializer_list<int32_t> slots, std::array<double, 4> p) {
    auto& list = placed[static_cast<int>(kind)];
    PlacedTerm term{{0, 0, 0, 0}, static_cast<int32_t>(list.size())};
    std::copy(slots.begin(), slots.end(), term.entry);
    list.push_back(term);
    auto& values = parameters[static_cast<int>(kind)];
    values.insert(values.end(), p.begin(), p.end());
  }
};

Terms make_terms(const Water& w) {
  Terms t;
  for (const PlacedPatch& p : w.patches)
    for (int i = 0; i < p.groups; ++i) {
      const auto group = [&](int k) { return static_cast<size_t>(p.group_start + k % p.groups); };
      if (!is_protein(w, group(i))) continue;
      const int a = w.placed[group(i)].slot;
      for (int next = 1; next <= 8; ++next) {
        const int b = w.placed[group(i + next)].slot;
        t.add(TermKind::kTorsion, {a + 1, a, b, b + 1},
              {2, 4, 4 * std::cos(0.5), 4 * std::sin(0.5)});
        t.add(TermKind::kPair14, {a + 1, b + 1}, {5, 0.1, 0.2});
        if (next <= 6) t.add(TermKind::kAngle, {a + 1, a, b}, {1.9, 400});
        if (next <= 2) t.add(TermKind::kBond, {a, b}, {0.15, 1000});
      }
    }
  return t;
}

template <class Form>
void bonded_on_host(const Water& w, const Terms& t, TermKind kind, std::vector<Vec3d>& forces,
                    double* energy) {
  constexpr int n = Form::kAtoms;
  const auto k = static_cast<size_t>(kind);
  for (const PlacedTerm& term : t.placed[k]) {
    Vec3d b[n - 1];
    for (int i = 0; i + 1 < n; ++i)
      b[i] = w.position[term.entry[i + 1]] - w.position[term.entry[i]];
    const auto value =
        Form::template evaluate<double>(b, &t.parameters[k][4 * static_cast<size_t>(term.term)]);
    for (int i = 0; i + 1 < n; ++i) {
      forces[term.entry[i]] += value.force[i];
      forces[term.entry[n - 1]] -= value.force[i];
    }
    for (int e = 0; e < Form::kEnergies; ++e) energy[Form::kKinds[e]] += value.energy[e];
  }
}

void bonded(const Water& w, CudaContext& context) {
  const Terms t = make_terms(w);
  const Locals l = make_locals(w);
  std::vector<Vec3d> forces(w.slots(), Vec3d{0, 0, 0});
  double energy[kEnergyKinds] = {};
  bonded_on_host<BondForm>(w, t, TermKind::kBond, forces, energy);
  bonded_on_host<AngleForm>(w, t, TermKind::kAngle, forces, energy);
  bonded_on_host<TorsionForm>(w, t, TermKind::kTorsion, forces, energy);
  bonded_on_host<Pair14Form>(w, t, TermKind::kPair14, forces, energy);

  Array<Float4> local(l.local), low(l.low);
  Array<int64_t> force(3 * w.slots()), sums(kEnergyKinds);
  Array<Vec3d> shifts(kMaxCodes);
  std::vector<int32_t> counts;
  TermForces op{};
  std::vector<std::unique_ptr<Array<PlacedTerm>>> placed;
  std::vector<std::unique_ptr<Array<double>>> parameters;
  for (int k = 0; k < kTermKinds; ++k) {
    placed.push_back(std::make_unique<Array<PlacedTerm>>(t.placed[k]));
    parameters.push_back(std::make_unique<Array<double>>(t.parameters[k]));
    counts.push_back(static_cast<int32_t>(t.placed[k].size()));
    op.placed[k] = placed.back()->data();
    op.tables[k].parameters = parameters.back()->data();
    op.capacity[k] = counts.back();
  }
  Array<int32_t> device_counts(counts);
  op.counts = device_counts.data();
  op.slots.local = local.data();
  op.slots.low = low.data();
  for (size_t d = 0; d < 3; ++d) op.slots.force[d] = force.data() + d * w.slots();
  op.exact_shifts = shifts.data();
  op.energy = sums.data();
  run_op(op, context);
  cuda_check(cudaStreamSynchronize(context.stream), "run bonded terms");

  const auto fixed = force.download(), e = sums.download();
  double difference2 = 0, norm2 = 0, worst = 0;
  int64_t total = 0;
  for (size_t s = 0; s < w.slots(); ++s)
    for (size_t d = 0; d < 3; ++d) {
      total += fixed[d * w.slots() + s];
      const double f = from_fixed(fixed[d * w.slots() + s], kForceScale);
      difference2 += (f - forces[s][static_cast<int>(d)]) * (f - forces[s][static_cast<int>(d)]);
      norm2 += forces[s][static_cast<int>(d)] * forces[s][static_cast<int>(d)];
    }
  for (const EnergyKind kind : {kBond, kAngle, kTorsion, kLj14, kCoulomb14})
    worst = std::max(worst, std::abs(from_fixed(e[kind], kEnergyScale) / energy[kind] - 1));
  std::printf("%8d check %-16s force error %.1e  energy error %.1e  force sum %lld\n", w.atoms,
              "term_forces", std::sqrt(difference2 / norm2), worst, static_cast<long long>(total));
  const auto time = [&](const char* name) {
    std::printf("%8d %-18s %8.2f us   (%d terms)\n", w.atoms, name,
                time_of(
                    context, [&] { run_op(op, context); }, 10),
                counts[0] + counts[1] + counts[2] + counts[3]);
  };
  time("terms + energies");
  op.energy = nullptr;
  time("terms");
}

}  // namespace

int main(int count, char** arguments) {
  const int sizes = count > 1 ? std::atoi(arguments[1]) : 4;
  CudaContext context = make_context();
  const Int3 tiles[] = {{1, 1, 1}, {2, 2, 1}, {4, 4, 1}, {3, 3, 5}};
  for (int i = 0; i < sizes; ++i) {
    const Water w = make_water(tiles[i], 1.2);
    std::printf("--- %d atoms\n", w.atoms);
    integrators(w, context);
    bonded(w, context);
  }
  return 0;
}
