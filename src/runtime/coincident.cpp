// SPDX-License-Identifier: Apache-2.0
// Atoms are sorted by small cubes of the cell, those at a face of one into the cubes at its other side too:
// as fast as sorting, wherever atoms are.
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

struct Place {
  uint64_t cube;
  int32_t atom;
};

std::vector<Place> places_of(const Box& box, const std::vector<Vec3d>& positions) {
  const Vec3d widths = box.widths();
  std::array<int64_t, 3> cubes{};
  for (int d = 0; d < 3; ++d)
    cubes[static_cast<size_t>(d)] = std::max<int64_t>(1, std::llround(widths[d] / kCube));
  std::vector<Place> places;
  places.reserve(positions.size());
  for (size_t a = 0; a < positions.size(); ++a) {
    const Vec3d fraction = box.to_fraction(positions[a]);
    std::array<uint64_t, 8> found{};
    size_t number = 1;
    for (int d = 0; d < 3; ++d) {
      const int64_t count = cubes[static_cast<size_t>(d)];
      const auto cube_at = [&](double shift) {
        const double f = fraction[d] + shift / widths[d];
        return static_cast<uint64_t>(static_cast<double>(count) * (f - std::floor(f))) %
               static_cast<uint64_t>(count);
      };
      const uint64_t low = cube_at(-kSamePoint), high = cube_at(kSamePoint);
      for (size_t k = 0, before = number; k < before; ++k) {
        const uint64_t row = found[k] * static_cast<uint64_t>(count);
        found[k] = row + low;
        if (high != low) found[number++] = row + high;
      }
    }
    for (size_t k = 0; k < number; ++k) places.push_back({found[k], static_cast<int32_t>(a)});
  }
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.cube < b.cube; });
  return places;
}

// In order, each once.
std::vector<Pair> coincident_pairs(const Box& box, const std::vector<Vec3d>& positions) {
  const std::vector<Place> places = places_of(box, positions);
  std::vector<Pair> found;
  for (size_t a = 0; a < places.size(); ++a)
    for (size_t b = a + 1; b < places.size() && places[b].cube == places[a].cube; ++b) {
      const auto i = static_cast<size_t>(places[a].atom), j = static_cast<size_t>(places[b].atom);
      if (norm(box.nearest_image(positions[i] - positions[j])) < kSamePoint)
        found.push_back(ordered(places[a].atom, places[b].atom));
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
                ", so the force between them has no direction: correct the structure, which "
                "minimisation cannot do");
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
