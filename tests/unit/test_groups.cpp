// SPDX-License-Identifier: Apache-2.0
// Hydrogen groups: what with_groups() makes of a system in input order.
#include <algorithm>
#include <chrono>
#include <set>

#include "check.h"
#include "computes/bonded/forms/forms.h"
#include "math/error.h"
#include "one_rank.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

// Of a build with sanitizers.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlowdown = 30;
#else
constexpr double kSlowdown = 1;
#endif

template <class Form>
void add_term(System& s, const std::vector<int32_t>& atoms, const std::vector<double>& values) {
  s.terms_to_fill(Form::kForm).add(atoms, values);
}

// Two waters with their hydrogens in odd places, an ion, a CH3 whose hydrogens come first.
System scattered() {
  System s;
  //                     0      1       2      3      4      5      6       7      8      9
  for (const double m :
       {1.008, 15.999, 1.008, 22.99, 1.008, 1.009, 12.011, 1.010, 16.0, 1.008, 1.008}) {
    add_atom(s, m);
    s.charges.back() = static_cast<double>(s.atom_count());
    s.pair_types.back() = s.atom_count() % 3;
  }
  constrain(s, 2, 1, kLeg);
  constrain(s, 0, 1, kLeg);
  constrain(s, 2, 0, kBase);
  constrain(s, 6, 7, 0.109);
  constrain(s, 4, 6, 0.109);
  constrain(s, 5, 6, 0.109);
  constrain(s, 9, 10, kBase);
  constrain(s, 9, 8, kLeg);
  constrain(s, 10, 8, kLeg);
  add_term<BondForm>(s, {3, 6}, {0.1, 5});
  add_term<AngleForm>(s, {4, 6, 3}, {1.9, 7});
  add_term<TorsionForm>(s, {4, 6, 3, 1}, {3, 0, 1});
  add_term<Pair14Form>(s, {4, 1}, {0.1, 0.2, 0.3});
  s.exclusions = {{0, 1}, {0, 2}, {1, 2}, {5, 6}};
  return s;
}

void order_is_as_promised() {
  const System s = with_groups(scattered());
  const std::vector<int32_t> expected{1, 0, 2, 3, 6, 4, 5, 7, 8, 9, 10};
  CHECK(s.input_index == expected);
  CHECK((s.group_start == std::vector<int32_t>{0, 3, 4, 8, 11}));
  const std::vector<std::array<int32_t, 2>> constraints{{0, 1}, {0, 2}, {1, 2},  {4, 5}, {4, 6},
                                                        {4, 7}, {8, 9}, {8, 10}, {9, 10}};
  CHECK(s.constraints == constraints);
  CHECK(s.constraint_lengths[2] == kBase && s.constraint_lengths[0] == kLeg);
}

void everything_follows() {
  const System before = scattered(), after = with_groups(before);
  for (int i = 0; i < after.atom_count(); ++i) {
    const auto from = static_cast<size_t>(after.input_index[i]);
    CHECK(after.masses[i] == before.masses[from]);
    CHECK(after.charges[i] == before.charges[from]);
    CHECK(after.pair_types[i] == before.pair_types[from]);
  }
  for (size_t form = 0; form < before.terms.size(); ++form) {
    const auto &internal = after.terms[form].atoms, &input = before.terms[form].atoms;
    CHECK(!input.empty() && internal.size() == input.size());
    for (size_t k = 0; k < input.size(); ++k) CHECK(after.input_index[internal[k]] == input[k]);
    CHECK(after.terms[form].parameters == before.terms[form].parameters);
  }
  std::set<std::set<int32_t>> excluded;
  for (const auto& pair : after.exclusions) {
    CHECK(pair[0] < pair[1]);
    excluded.insert({after.input_index[pair[0]], after.input_index[pair[1]]});
  }
  CHECK((excluded == std::set<std::set<int32_t>>{{0, 1}, {0, 2}, {1, 2}, {5, 6}}));
}

void errors_name_the_atom() {
  const auto message_of = [](const System& s) -> std::string {
    try {
      with_groups(s);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  System chain;
  for (int i = 0; i < kMaxGroupSize + 5; ++i) add_atom(chain, 12);
  for (int i = 2; i <= kMaxGroupSize; ++i) constrain(chain, i, i + 1, 0.15);
  CHECK(message_of(chain).empty());
  constrain(chain, kMaxGroupSize + 2, kMaxGroupSize + 1, 0.15);
  const std::string text = message_of(chain);
  CHECK(text.find("atom 2 ") != std::string::npos);
  CHECK(text.find("a set of 65 atoms") != std::string::npos);
  CHECK(text.find("hydrogen") != std::string::npos);

  System self = scattered();
  constrain(self, 3, 3, 0.1);
  CHECK(message_of(self).find("atom 3") != std::string::npos);
  System outside = scattered();
  add_term<AngleForm>(outside, {4, 6, 99}, {1.9, 7});
  CHECK(message_of(outside).find("99") != std::string::npos);
  System unequal = scattered();
  constrain(unequal, 1, 0, 0.2);
  CHECK(message_of(unequal).find("different lengths") != std::string::npos);
  System repeated = scattered();
  constrain(repeated, 1, 0, kLeg);
  CHECK(message_of(repeated).empty());
  CHECK(with_groups(repeated).constraints.size() == 9);
}

// A chain with an arm of many short constraints in its third atom: the centre of a large group is in the middle of
// the way, that of a small one has the most constraints.
void centres_of_large_groups_are_in_the_middle() {
  const auto centre = [](int atoms) {
    System s;
    for (int i = 0; i < atoms; ++i) add_atom(s, 12);
    for (int i = 0; i < 6; ++i) constrain(s, i, i + 1, 0.15);
    for (int i = 7; i < atoms; ++i) constrain(s, 2, i, 0.01);
    const System found = with_groups(s);
    CHECK(found.group_count() == 1 && found.is_large(0) == (atoms > kSmallGroupSize));
    const GroupRadii radii = group_radii(found);
    CHECK_NEAR(radii.any, atoms > kSmallGroupSize ? 0.45 : 0.6, 1e-12);
    CHECK_NEAR(radii.small, atoms > kSmallGroupSize ? 0 : 0.6, 1e-12);
    std::vector<Vec3d> positions(static_cast<size_t>(atoms));
    positions[4] = {0.3, 0, 0.4};
    CHECK_NEAR(extent_of_large_groups(found, positions), atoms > kSmallGroupSize ? 0.5 : 0, 1e-12);
    return found.input_index[0];
  };
  CHECK(centre(8) == 2);
  CHECK(centre(9) == 3);
}

// A water whose sites come before it and between its atoms, and a flexible one with a site.
System with_sites() {
  System s;
  for (const double m : {0.0, 1.008, 0.0, 15.999, 1.008, 15.999, 1.008, 1.008, 0.0}) add_atom(s, m);
  constrain(s, 3, 1, kLeg);
  constrain(s, 3, 4, kLeg);
  constrain(s, 1, 4, kBase);
  for (const int atom : {2, 0}) s.sites.push_back({atom, 3, {3, 4, 1}, {0.8, 0.1, 0.1}});
  s.sites.push_back({8, 3, {5, 6, 7}, {0.8, 0.1, 0.1}});
  return s;
}

void sites_are_last() {
  const System s = with_groups(with_sites());
  CHECK((s.input_index == std::vector<int32_t>{3, 1, 4, 0, 2, 5, 6, 7, 8}));
  CHECK((s.group_start == std::vector<int32_t>{0, 5, 9}));
  CHECK(s.end_of_masses(0) == 3 && s.end_of_masses(1) == 8);
  CHECK(s.sites[0].atom == 4 && s.sites[1].atom == 3 && s.sites[2].atom == 8);
  CHECK(s.sites[0].parent[0] == 0 && s.sites[0].parent[1] == 2 && s.sites[0].parent[2] == 1);
  CHECK_NEAR(group_radii(s).any, kLeg, 1e-12);
}

void errors_name_the_site() {
  const auto message_of = [](void (*damage)(System&)) -> std::string {
    System s = with_sites();
    damage(s);
    try {
      with_groups(s);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto says = [](const std::string& message, const char* words) {
    return message.find(words) != std::string::npos;
  };
  CHECK(message_of([](System&) {}).empty());
  CHECK(says(message_of([](System& s) { s.masses[2] = 1; }), "virtual site 2 "));
  CHECK(says(message_of([](System& s) { s.sites[1].atom = 2; }), "given twice"));
  CHECK(says(message_of([](System& s) { s.sites[0].parent[1] = 8; }), "without mass, atom 8"));
  CHECK(says(message_of([](System& s) { s.sites[0].parents = 8; }), "8 parents"));
  CHECK(says(message_of([](System& s) { s.sites[2].parent[2] = 99; }), "atom 99"));
  CHECK(says(message_of([](System& s) { constrain(s, 2, 3, 0.1); }), "acts on virtual site 2"));
}

void a_million_atoms_take_less_than_a_second() {
  Random random(1);
  std::vector<Vec3d> positions;
  const System s = make_mixture(350000, 7, {20, 0, 20, 0, 0, 20}, positions, random);
  const auto start = std::chrono::steady_clock::now();
  const System grouped = with_groups(s);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  CHECK(grouped.atom_count() > 1000000);
  CHECK(time.count() < 1.0 * kSlowdown);
}

}  // namespace

int main() {
  return run_all(
      {{"order is as promised", order_is_as_promised},
       {"everything follows", everything_follows},
       {"errors name the atom", errors_name_the_atom},
       {"centres of large groups are in the middle", centres_of_large_groups_are_in_the_middle},
       {"sites are last", sites_are_last},
       {"errors name the site", errors_name_the_site},
       {"a million atoms take less than a second", a_million_atoms_take_less_than_a_second}});
}
