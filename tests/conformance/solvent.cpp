// SPDX-License-Identifier: Apache-2.0
// All pairs without a cutoff, and implicit solvent: forces and energies are the reference's, for any
// number of atoms; they do not depend on slots, on whether energies are asked for, or on the time.
#include "computes/all_pairs/all_pairs_memory.h"
#include "pair_molecules.h"
#include "suites.h"

namespace quiltmd::test {
namespace {

constexpr double kWidth = 1.3;  // of patches, nm

// A rank that owns all patches, with the memory of all pairs.
class AllPairsRank : public OneRank {
 public:
  AllPairsRank(Device& on, const Molecules& m, int form = 0, int gap = 0, double cutoff = kNone)
      : AllPairsRank(on, m, settings(cutoff), pack_pairs(m.system, settings(cutoff), form), gap) {}

  static constexpr double kNone = std::numeric_limits<double>::infinity();
  static NonbondedSettings settings(double cutoff) {
    NonbondedSettings s;
    s.electrostatics = Electrostatics::kCutoff;
    s.cutoff = cutoff;
    return s;
  }

  void evaluate(Energies energies) {
    device.fill(force.data(), 0, force.bytes(), Stream::kMain);
    clear_energy();
    for (const Work& work : all.step_work(energies)) work.launch(Stream::kMain, 0);
  }
  std::vector<Vec3d> forces() const {
    std::vector<Vec3d> found(static_cast<size_t>(system.atom_count()));
    for (int axis = 0; axis < 3; ++axis) {
      const std::vector<int64_t> fixed = by_atom(fixed_forces(axis));
      for (size_t a = 0; a < found.size(); ++a) found[a][axis] = from_fixed(fixed[a], kForceScale);
    }
    return found;
  }
  std::vector<int64_t> bits() const {
    std::vector<int64_t> found;
    for (int axis = 0; axis < 3; ++axis) {
      const std::vector<int64_t> along = by_atom(fixed_forces(axis));
      found.insert(found.end(), along.begin(), along.end());
    }
    return found;
  }

  AllPairsMemory all;

 private:
  AllPairsRank(Device& on, const Molecules& m, const NonbondedSettings& settings,
               const PackedPairs& packed, int gap)
      : OneRank(on, m.system, grid_of(m), packed.atoms, gap),
        all(*this, {pair_parameters(m.system, settings, packed.form), packed.table}) {
    start_from(m.positions, std::vector<Vec3d>(m.positions.size()), {});
    lay_out();
    if (gap) move_slots(gap);
    all.set_plan(plan());
    for (const Work& work : all.rebuild_work()) work.launch(Stream::kMain, 0);
  }
  static PatchGrid grid_of(const Molecules& m) {
    const auto cells = [](double width) { return static_cast<int>(std::lround(width / kWidth)); };
    return lone_patches(m.box, {cells(m.box.ax), cells(m.box.by), cells(m.box.cz)});
  }
};

Box cube(double width) { return {width, 0, width, 0, 0, width}; }

// So many atoms of make_molecules(), in one corner of a cell that is three times as wide.
Molecules some_molecules(int atoms, uint64_t seed) {
  const Box around = cube(6 * kWidth), filled = cube(2 * kWidth);
  Molecules m = make_molecules(filled, seed);
  System& s = m.system;
  while (s.atom_count() > atoms) {
    m.positions.pop_back();
    s.masses.pop_back();
    s.charges.pop_back();
    s.pair_types.pop_back();
  }
  std::erase_if(s.exclusions, [&](const auto& pair) { return pair[1] >= atoms; });
  while (s.group_start.back() > atoms) s.group_start.pop_back();
  if (s.group_start.back() < atoms) s.group_start.push_back(atoms);
  for (Vec3d& x : m.positions) {
    for (int d = 0; d < 3; ++d) x[d] -= std::floor(x[d] / (2 * kWidth)) * 2 * kWidth;
  }
  m.box = around;
  return m;
}

enum class Necks { kNone, kSome };

ImplicitSolvent solvent_of(const System& s, BornFunction function, double kappa, Necks necks,
                           uint64_t seed) {
  Random random(seed);
  ImplicitSolvent solvent;
  solvent.function = function;
  solvent.kappa = kappa;
  solvent.surface = 28.4;
  const bool tanh = function == BornFunction::kTanh;
  for (int a = 0; a < s.atom_count(); ++a) {
    const double radius = uniform(random, 0.11, 0.19), offset = radius - 0.009;
    solvent.atoms.push_back({radius, offset, offset * uniform(random, 0.7, 1.1), tanh ? 1.0 : 0,
                             tanh ? 0.8 : 0, tanh ? 4.85 : 0, a % 2});
  }
  if (necks == Necks::kSome) {
    solvent.neck_types = 2;
    solvent.neck_distance = {0.25, 0.28, 0.28, 0.31};
    solvent.neck_height = {0.6, 0.5, 0.4, 0.3};
  }
  return solvent;
}

// Forces and energies, twice, for sums are cleared for the next step.
void meets_reference(Pair devices, const Molecules& m, int form = 0,
                     double cutoff = AllPairsRank::kNone) {
  const NonbondedSettings settings = AllPairsRank::settings(cutoff);
  Evaluation exact;
  exact.forces.resize(m.positions.size());
  reference_pairs(m.system, settings, m.box, m.positions, exact);
  reference_solvent(m.system, settings, m.positions, exact);
  AllPairsRank rank(devices.device, m, form, 0, cutoff);
  for (int repeat = 0; repeat < 2; ++repeat) {
    rank.evaluate(Energies::kAdd);
    CHECK_NEAR(force_error(rank.forces(), exact.forces), 0, bound(devices, 1e-5, 1e-5));
    for (const EnergyKind kind : {kPairForm, kCoulombDirect, kPolarisation, kSurface}) {
      const double scale = std::max(std::fabs(exact.energy[kind]), 1.0);
      CHECK_NEAR(rank.energy_of(kind) / scale, exact.energy[kind] / scale,
                 bound(devices, 3e-6, 1e-5));
    }
  }
}

// Less than a cluster, a block or a chunk of atoms, and more.
constexpr int kSizes[] = {1, 2, 8, 9, 127, 128, 129, 257, 700};

void a_vacuum_meets_the_reference(Pair devices) {
  for (const int atoms : kSizes) meets_reference(devices, some_molecules(atoms, 3));
  const Molecules m = some_molecules(300, 4);
  for (const FormRow& row : form_rows(m))
    if (row.switching == Switching::kNone) meets_reference(devices, row.apply(m), row.first);
}

void solvents_meet_the_reference(Pair devices) {
  for (const int atoms : kSizes) {
    Molecules m = some_molecules(atoms, 5);
    m.system.solvent = solvent_of(m.system, BornFunction::kTanh, 0.7, Necks::kSome, 6);
    meets_reference(devices, m);
  }
  Molecules m = some_molecules(400, 7);
  for (const BornFunction function : {BornFunction::kInverse, BornFunction::kTanh})
    for (const double kappa : {0.0, 1.2})
      for (const Necks necks : {Necks::kNone, Necks::kSome}) {
        m.system.solvent = solvent_of(m.system, function, kappa, necks, 8);
        meets_reference(devices, m);
      }
}

// Pairs beyond the cutoff count for neither radii nor energies; tiles and patches that are beyond it
// altogether, too: every third group is some widths of patches away.
void solvents_with_a_cutoff_meet_the_reference(Pair devices) {
  Molecules m = some_molecules(500, 15);
  const auto& starts = m.system.group_start;
  for (size_t g = 0; g + 1 < starts.size(); g += 3)
    for (int a = starts[g]; a < starts[g + 1]; ++a)
      m.positions[static_cast<size_t>(a)].z += 3.3 * kWidth;
  m.box = cube(12 * kWidth);
  for (const double kappa : {0.0, 1.2})
    for (const Necks necks : {Necks::kNone, Necks::kSome}) {
      m.system.solvent = solvent_of(m.system, BornFunction::kTanh, kappa, necks, 16);
      meets_reference(devices, m, 0, 1.1);
    }
}

// Atoms in all the patches of a cell that is wider than small spheres reach.
void distant_atoms_meet_the_reference(Pair devices) {
  Molecules m = some_molecules(500, 9);
  for (Vec3d& x : m.positions) x = 3.0 * x;
  m.box = cube(18 * kWidth);
  for (const Necks necks : {Necks::kNone, Necks::kSome}) {
    m.system.solvent = solvent_of(m.system, BornFunction::kTanh, 0, necks, 10);
    meets_reference(devices, m);
  }
}

void solvent_bits_depend_on_nothing(Pair devices) {
  Molecules m = some_molecules(600, 11);
  for (const bool solvent : {false, true}) {
    if (solvent) m.system.solvent = solvent_of(m.system, BornFunction::kTanh, 0.5, Necks::kSome, 1);
    AllPairsRank a(devices.device, m), b(devices.device, m, 0, 1608);
    b.evaluate(Energies::kAdd);
    const auto energy = b.energy.download();
    for (int n = 0; n < 3; ++n) {
      a.evaluate(n == 1 ? Energies::kAdd : Energies::kSkip);
      CHECK(a.bits() == b.bits());
      if (n == 1) CHECK(a.energy.download() == energy);
    }
  }
}

// A rank that owns the first slots alone, and has the radii and slopes of the others by messages, finds
// the same bits for its atoms.
void shares_have_the_same_bits(Pair devices) {
  Molecules m = some_molecules(600, 13);
  for (const bool solvent : {false, true}) {
    if (solvent) m.system.solvent = solvent_of(m.system, BornFunction::kTanh, 0.5, Necks::kSome, 1);
    AllPairsRank whole(devices.device, m), part(devices.device, m);
    whole.evaluate(Energies::kSkip);
    const int slots = whole.owned_slots.download()[0];
    for (const int owned : {8, 136, slots / 16 * 8}) {
      part.owned_slots.upload({owned});
      part.device.fill(part.force.data(), 0, part.force.bytes(), Stream::kMain);
      for (const Work& work : part.all.step_work(Energies::kSkip)) {
        work.launch(Stream::kMain, 0);
        if (solvent) part.all.radii.upload(whole.all.radii.download());
        if (solvent && work.phase == 1) part.all.slopes.upload(whole.all.slopes.download());
      }
      for (int axis = 0; axis < 3; ++axis) {
        auto expected = whole.fixed_forces(axis);
        std::fill(expected.begin() + owned, expected.end(), 0);
        CHECK(part.fixed_forces(axis) == expected);
      }
    }
  }
}

// Far from the origin, and where atoms lie on both sides of the boundary of the cell.
void the_place_of_the_cell_does_not_matter(Pair devices) {
  Molecules m = some_molecules(300, 12);
  for (Vec3d& x : m.positions) x += Vec3d{1.1 * kWidth, 3.2 * kWidth, -6.9 * kWidth};
  m.system.solvent = solvent_of(m.system, BornFunction::kInverse, 0.5, Necks::kNone, 2);
  meets_reference(devices, m);
}

}  // namespace

std::vector<Case> solvent_cases(Pair devices) {
  return {
      {"all pairs in a vacuum", [devices] { a_vacuum_meets_the_reference(devices); }},
      {"implicit solvents", [devices] { solvents_meet_the_reference(devices); }},
      {"implicit solvents with a cutoff",
       [devices] { solvents_with_a_cutoff_meet_the_reference(devices); }},
      {"solvent of distant atoms", [devices] { distant_atoms_meet_the_reference(devices); }},
      {"bits of all pairs depend on nothing",
       [devices] { solvent_bits_depend_on_nothing(devices); }},
      {"shares of all pairs have the same bits", [devices] { shares_have_the_same_bits(devices); }},
      {"all pairs anywhere in the cell",
       [devices] { the_place_of_the_cell_does_not_matter(devices); }}};
}

}  // namespace quiltmd::test
