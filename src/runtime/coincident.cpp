// SPDX-License-Identifier: Apache-2.0
// Atoms are put into small cubes of the cell, those at a face of one into the cubes at its other side too:
// in a table by hash, so that the time is that of a pass over the atoms, wherever these are.
#include "runtime/coincident.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "computes/reference.h"
#include "math/error.h"

namespace quiltmd {
namespace {

constexpr double kSamePoint = 1e-6;  // nm; about the resolution of single precision in a patch
constexpr double kCube = 1e-3;       // nm; atoms that share one by chance are rare
constexpr double kNoForce = 1;       // kJ/mol/nm

using Pair = std::array<int32_t, 2>;

Pair ordered(int32_t a, int32_t b) { return {std::min(a, b), std::max(a, b)}; }

// The small cubes that an atom is in: one, unless it is at faces.
class Cubes {
 public:
  explicit Cubes(const Box& box) : box_(box), widths_(box.widths()) {
    for (int d = 0; d < 3; ++d) counts_[d] = std::max(1.0, std::round(widths_[d] / kCube));
  }

  size_t number() const { return number_; }
  uint64_t operator[](size_t k) const { return found_[k]; }

  void find(const Vec3d& position) {
    const Vec3d fraction = box_.to_fraction(position);
    found_[0] = 0;
    number_ = 1;
    for (int d = 0; d < 3; ++d) {
      const double shift = kSamePoint / widths_[d];
      const uint64_t low = cube_at(fraction[d] - shift, d), high = cube_at(fraction[d] + shift, d);
      for (size_t k = 0, before = number_; k < before; ++k) {
        const uint64_t row = found_[k] * static_cast<uint64_t>(counts_[d]);
        found_[k] = row + low;
        if (high != low) found_[number_++] = row + high;
      }
    }
  }

 private:
  uint64_t cube_at(double fraction, int d) const {
    const double cube = std::floor(counts_[d] * (fraction - std::floor(fraction)));
    return cube < counts_[d] ? static_cast<uint64_t>(cube) : 0;
  }

  const Box& box_;
  Vec3d widths_, counts_;
  std::array<uint64_t, 8> found_{};
  size_t number_ = 0;
};

// Atoms by cube: a chain for each of as many keys as there are atoms, or more.
class AtomsInCubes {
 public:
  explicit AtomsInCubes(size_t atoms) {
    while (size_t{1} << bits_ < atoms) ++bits_;
    first_.assign(size_t{1} << bits_, kNone);
    places_.reserve(atoms);
  }

  template <class Action>
  void for_atoms_in(uint64_t cube, Action action) const {
    for (int32_t p = first_[key(cube)]; p != kNone; p = places_[static_cast<size_t>(p)].next)
      if (places_[static_cast<size_t>(p)].cube == cube)
        action(places_[static_cast<size_t>(p)].atom);
  }

  void add(uint64_t cube, int32_t atom) {
    int32_t& first = first_[key(cube)];
    places_.push_back({cube, atom, first});
    first = static_cast<int32_t>(places_.size() - 1);
  }

 private:
  static constexpr int32_t kNone = -1;
  struct Place {
    uint64_t cube;
    int32_t atom;
    int32_t next;
  };

  // Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, section 6.4.
  size_t key(uint64_t cube) const { return (cube * 0x9E3779B97F4A7C15ull) >> (64 - bits_); }

  int bits_ = 1;
  std::vector<int32_t> first_;
  std::vector<Place> places_;
};

// In order, each once.
std::vector<Pair> coincident_pairs(const Box& box, const std::vector<Vec3d>& positions) {
  Cubes cubes(box);
  AtomsInCubes atoms(positions.size());
  std::vector<Pair> found;
  for (size_t a = 0; a < positions.size(); ++a) {
    const auto atom = static_cast<int32_t>(a);
    cubes.find(positions[a]);
    for (size_t k = 0; k < cubes.number(); ++k) {
      atoms.for_atoms_in(cubes[k], [&](int32_t other) {
        const Vec3d apart = positions[a] - positions[static_cast<size_t>(other)];
        if (norm(box.nearest_image(apart)) < kSamePoint) found.push_back({other, atom});
      });
      atoms.add(cubes[k], atom);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

bool interact(const System& system, const Pair& pair) {
  const auto i = static_cast<size_t>(pair[0]), j = static_cast<size_t>(pair[1]);
  if (system.alchemy && std::any_of(pair.begin(), pair.end(), [&](int32_t atom) {
        return std::binary_search(system.alchemy->atoms.begin(), system.alchemy->atoms.end(), atom);
      }))
    return false;  // their soft core has no force there
  if (system.charges[i] * system.charges[j] != 0) return true;
  const auto entry =
      static_cast<size_t>(system.pair_types[i]) * static_cast<size_t>(system.pair_type_count) +
      static_cast<size_t>(system.pair_types[j]);
  return std::any_of(system.pair_tables.begin(), system.pair_tables.end(),
                     [&](const auto& table) { return table[entry] != 0; });
}

// Whether a term of two atoms has no force where these coincide or nearly do.
bool vanishes(const Terms& terms, int term, const Box& box) {
  System pair;
  pair.masses = {1, 1};
  pair.terms = {{terms.form, {}, {}, terms.shared, terms.shared_rows}};
  pair.terms[0].add(Pair{0, 1}, terms.parameters_of(term));
  const auto force_at = [&](double distance) {
    Evaluation out;
    reference_bonded(pair, box, {{0, 0, 0}, {distance, 0, 0}}, out);
    return norm(out.forces[0]);  // may be no number
  };
  return force_at(0) < kNoForce && force_at(1e-3 * kSamePoint) < kNoForce;
}

[[noreturn]] void refuse(const System& system, int64_t step, const Pair& pair,
                         const std::string& why) {
  const auto input = [&](int32_t atom) { return system.input_index[static_cast<size_t>(atom)]; };
  const auto [first, second] = ordered(input(pair[0]), input(pair[1]));
  throw SimulationError(
      step, "atom " + std::to_string(first) + " and atom " + std::to_string(second) +
                " are at the same point and " + why +
                ", so the force between them has no direction: correct the structure, because "
                "minimisation cannot separate them");
}

}  // namespace

void check_apart(const System& system, const Box& box, const HostState& state) {
  const std::vector<Pair> together = coincident_pairs(box, state.positions);
  if (together.empty()) return;
  const auto has = [](const std::vector<Pair>& pairs, const Pair& pair) {
    return std::binary_search(pairs.begin(), pairs.end(), pair);
  };
  std::vector<Pair> excluded;
  for (const auto& [i, j] : system.exclusions)
    if (has(together, ordered(i, j))) excluded.push_back(ordered(i, j));
  std::sort(excluded.begin(), excluded.end());
  for (const Pair& pair : together)
    if (!has(excluded, pair) && interact(system, pair))
      refuse(system, state.step, pair, "are not excluded from nonbonded interactions");
  for (const auto& [i, j] : system.constraints)
    if (has(together, ordered(i, j)))
      refuse(system, state.step, ordered(i, j), "a constraint holds them apart");
  for (const Terms& terms : system.terms) {
    if (terms.form->atoms != 2) continue;
    for (int t = 0; t < terms.count(); ++t) {
      const auto atoms = terms.atoms_of(t);
      const Pair pair = ordered(atoms[0], atoms[1]);
      if (!has(together, pair) || vanishes(terms, t, box)) continue;
      refuse(system, state.step, pair, std::string(terms.form->noun) + " joins them");
    }
  }
}

}  // namespace quiltmd
