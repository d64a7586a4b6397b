// SPDX-License-Identifier: Apache-2.0
// Double-precision reference of the short-range pairs: the formula of the pair form in double
// precision, the Ewald split itself, exclusions looked up, no clusters and no lists. Atoms are sorted into cells as wide as the cutoff, and every atom visits
// the atoms of the cells around it. Each pair is thus computed twice, and in return every atom's
// force is one sum in one order, whatever the number of threads.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

#include "computes/dispersion_coefficients.h"
#include "computes/long_range/ewald_split.h"
#include "computes/nonbonded/double_number.h"
#include "computes/nonbonded/pair_forms.h"
#include "computes/reference.h"
#include "math/smooth_dispersion.h"
#include "math/units.h"

namespace quiltmd {
namespace {

// Excluded partners of every atom, both ways, each once.
struct Exclusions {
  std::vector<int> start{0}, partner;

  explicit Exclusions(const System& system) {
    std::vector<std::set<int>> of(system.atom_count());
    for (const auto& [i, j] : system.exclusions) {
      of[i].insert(j);
      of[j].insert(i);
    }
    for (const std::set<int>& partners : of) {
      partner.insert(partner.end(), partners.begin(), partners.end());
      start.push_back(static_cast<int>(partner.size()));
    }
  }

  bool has(int i, int j) const {
    const auto end = partner.begin() + start[i + 1];
    return std::find(partner.begin() + start[i], end, j) != end;
  }
};

// Atoms by cell; cells at least as wide as the cutoff.
struct Cells {
  Int3 count;
  std::vector<int> start, atom;
  std::vector<int> cell_of;

  int index(Int3 c) const { return (c.x * count.y + c.y) * count.z + c.z; }

  Cells(const Box& box, double cutoff, const std::vector<Vec3d>& positions) {
    const Vec3d widths = box.widths();
    for (int d = 0; d < 3; ++d) {
      count[d] = std::clamp(static_cast<int>(widths[d] / cutoff), 1, 128);
    }
    start.assign(static_cast<size_t>(count.x) * count.y * count.z + 1, 0);
    for (const Vec3d& r : positions) {
      const Vec3d f = box.to_fraction(r);
      Int3 c;
      for (int d = 0; d < 3; ++d) {
        const double inside = f[d] - std::floor(f[d]);
        c[d] = std::min(static_cast<int>(inside * count[d]), count[d] - 1);
      }
      cell_of.push_back(index(c));
      ++start[cell_of.back() + 1];
    }
    for (size_t c = 1; c < start.size(); ++c) start[c] += start[c - 1];
    atom.resize(positions.size());
    std::vector<int> next(start.begin(), start.end() - 1);
    for (size_t a = 0; a < positions.size(); ++a) {
      atom[next[cell_of[a]]++] = static_cast<int>(a);
    }
  }

  // The cells around a cell, itself among them, each once.
  std::vector<int> around(int cell) const {
    const Int3 c{cell / (count.y * count.z), cell / count.z % count.y, cell % count.z};
    std::vector<int> near;
    for (int x = -1; x <= 1; ++x) {
      for (int y = -1; y <= 1; ++y) {
        for (int z = -1; z <= 1; ++z) {
          near.push_back(index({(c.x + x + count.x) % count.x, (c.y + y + count.y) % count.y,
                                (c.z + z + count.z) % count.z}));
        }
      }
    }
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    return near;
  }
};

// Energy and r times the force of a pair.
struct Pair {
  double form = 0, coulomb = 0, force = 0;
};

struct Physics {
  const System& system;
  double cutoff, coulomb_cutoff, coulomb_shift = 0;
  std::shared_ptr<const EwaldSplit> split;  // null without PME
  std::optional<double> mesh_alpha;         // of dispersion, and by atom its coefficients
  std::vector<double> on_mesh;
  double shift_6 = 0;  // this and the next are what pair forms read
  SwitchConstants<double> switching;
  std::optional<ReactionField> field;
  bool acts_on_excluded;
  std::vector<char> is_ghost;  // by atom; they may lie on others
  std::function<Interaction<Double>(int s, int t, const Distance<Double>&)> form;  // by two types

  template <class Form>
  auto formula_of(const NonbondedSettings& settings) const {
    return [this, table = table_of<Form, double>(system, settings)](int s, int t,
                                                                    const Distance<Double>& r) {
      const auto numbers =
          Double::read<Form::kNumbers>(table.data(), s * system.pair_type_count + t);
      return by_formula<Form, true, Double>(numbers, r, *this, table.data());
    };
  }

  Physics(const System& s, const NonbondedSettings& settings)
      : system(s),
        cutoff(settings.cutoff),
        coulomb_cutoff(settings.coulomb_cutoff()),
        switching(switch_constants<double>(settings)),
        acts_on_excluded(settings.has_ewald_split() || settings.has_dispersion_mesh() ||
                         (settings.has_reaction_field() && settings.reaction_field_on_exclusions)),
        is_ghost(static_cast<size_t>(s.atom_count()), 0) {
    if (s.alchemy)
      for (const int32_t atom : s.alchemy->atoms) is_ghost[static_cast<size_t>(atom)] = 1;
    if (settings.has_reaction_field()) field.emplace(settings);
    if (settings.has_dispersion_mesh()) {
      mesh_alpha = settings.dispersion_alpha;
      on_mesh = dispersion_coefficients(system);
    }
    if (settings.shifts_van_der_waals()) shift_6 = std::pow(cutoff, -6);
    if (settings.has_ewald_split()) split = ewald_split(settings);
    if (shifts_charges(system, settings))
      coulomb_shift = 1 / coulomb_cutoff - smooth(coulomb_cutoff).energy;
    PairForms::with(form_of(system, settings),
                    [&]<class Form>(Form) { form = formula_of<Form>(settings); });
  }

  double charges(int i, int j) const { return kCoulomb * system.charges[i] * system.charges[j]; }

  Pair interacting(int i, int j, double r) const {
    const auto [form_r, energy] =
        form(system.pair_types[i], system.pair_types[j], {r * r, 1 / r, 1 / (r * r)});
    const double qq = charges(i, j);
    if (field) {
      const Pair of_field = in_field(qq, r);
      return {energy, qq / r + of_field.coulomb, form_r + qq / r + of_field.force};
    }
    const auto [smooth_energy, smooth_r] = smooth(r);
    const auto [off_mesh, off_mesh_r] = dispersion_off_mesh(i, j, r);
    const double at_cutoff = mesh_alpha ? dispersion_off_mesh(i, j, cutoff).energy : 0;
    if (r >= coulomb_cutoff) return {energy + off_mesh - at_cutoff, 0, form_r + off_mesh_r};
    return {energy + off_mesh - at_cutoff, qq * (1 / r - smooth_energy - coulomb_shift),
            form_r + off_mesh_r + qq * (1 / r - smooth_r)};
  }

  // Dispersion of a pair on the mesh, subtracted.
  struct OffMesh {
    double energy, force_r;
  };
  OffMesh dispersion_off_mesh(int i, int j, double r) const {
    if (!mesh_alpha) return {0, 0};
    const double product = on_mesh[i] * on_mesh[j], alpha6 = std::pow(*mesh_alpha, 6);
    const SmoothDispersion smooth = smooth_dispersion(*mesh_alpha * *mesh_alpha * r * r);
    return {product * alpha6 * smooth.value, product * smooth.force_over_r(*mesh_alpha) * r * r};
  }

  // Contribution of the medium beyond the cutoff.
  Pair in_field(double qq, double r) const {
    const double part = qq * field->strength * r * r;
    return {0, part - qq * field->shift, -2 * part};
  }

  // An excluded pair: subtracts its contribution to the reciprocal sum; or the reaction field.
  Pair excluded(int i, int j, double r) const {
    if (field) return r < cutoff ? in_field(charges(i, j), r) : Pair{};
    const double qq = charges(i, j);
    const auto [smooth_energy, smooth_r] = smooth(r);
    const auto [off_mesh, off_mesh_r] = dispersion_off_mesh(i, j, r);
    return {off_mesh, -qq * smooth_energy, off_mesh_r - qq * smooth_r};
  }

  // Contribution of a pair of unit charges to the reciprocal sum: energy, and r times the force.
  struct Smooth {
    double energy = 0, force_r = 0;
  };
  Smooth smooth(double r) const {
    if (!split) return {};
    return {split->potential(r * r), split->force(r * r) * r * r};
  }
};

struct CellEnergy {
  double form = 0, coulomb = 0;
  Symmetric virial{};
};

// Forces on the atoms of one cell, and its half of the energies.
CellEnergy evaluate_cell(const Physics& physics, const Exclusions& exclusions, const Cells& cells,
                         int cell, const Box& box, const std::vector<Vec3d>& positions,
                         std::vector<Vec3d>& forces) {
  CellEnergy energy;
  const auto add = [&](int i, const Pair& pair, Vec3d d) {
    energy.form += pair.form / 2;
    energy.coulomb += pair.coulomb / 2;
    if (pair.force == 0) return;  // as of an excluded site on top of its parent, where d is 0
    forces[i] += (pair.force / dot(d, d)) * d;
    energy.virial.add_product((0.5 * pair.force / dot(d, d)) * d, d);
  };
  const std::vector<int> near = cells.around(cell);
  for (int n = cells.start[cell]; n < cells.start[cell + 1]; ++n) {
    const int i = cells.atom[n];
    for (const int other : near) {
      for (int m = cells.start[other]; m < cells.start[other + 1]; ++m) {
        const int j = cells.atom[m];
        const Vec3d d = box.nearest_image(positions[i] - positions[j]);
        if (j == i || dot(d, d) >= physics.cutoff * physics.cutoff || physics.is_ghost[i] ||
            physics.is_ghost[j] || exclusions.has(i, j))
          continue;
        add(i, physics.interacting(i, j, norm(d)), d);
      }
    }
    for (int e = exclusions.start[i]; e < exclusions.start[i + 1] && physics.acts_on_excluded;
         ++e) {
      const int j = exclusions.partner[e];
      const Vec3d d = box.nearest_image(positions[i] - positions[j]);
      add(i, physics.excluded(i, j, norm(d)), d);
    }
  }
  return energy;
}

}  // namespace

void reference_pairs(const System& system, const NonbondedSettings& settings, const Box& box,
                     const std::vector<Vec3d>& positions, Evaluation& out) {
  const Physics physics(system, settings);
  const Exclusions exclusions(system);
  const Cells cells(box, settings.cutoff, positions);
  const int count = static_cast<int>(cells.start.size()) - 1;
  out.forces.resize(positions.size(), Vec3d{0, 0, 0});
  std::vector<CellEnergy> energies(count);
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int c = next++; c < count; c = next++) {
      energies[c] = evaluate_cell(physics, exclusions, cells, c, box, positions, out.forces);
    }
  };
  std::vector<std::jthread> helpers;
  try {
    for (unsigned t = 1; t < std::thread::hardware_concurrency(); ++t) helpers.emplace_back(work);
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
    // The system gives no more threads: those that there are do it all.
  }
  work();
  helpers.clear();  // waits for them
  for (const CellEnergy& energy : energies) {
    out.energy[kPairForm] += energy.form;
    out.energy[kCoulombDirect] += energy.coulomb;
    out.add_virial(energy.virial);
  }
}

}  // namespace quiltmd
