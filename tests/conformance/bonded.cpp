// SPDX-License-Identifier: Apache-2.0
// Bonded terms: placed on any patch grid, cut among any number of ranks, as the reference has them.
#include "bonded_rank.h"
#include "suites.h"

namespace quiltmd::test {
namespace {

const Box kBoxes[] = {{3.1, 0, 3.4, 0, 0, 3.0}, {3.3, 0.9, 3.2, -1.0, 0.8, 3.1}};

void forces_meet_the_reference(Pair devices) {
  for (const Box& box : kBoxes) {
    Random random(2);
    std::vector<Vec3d> positions;
    const System s = chains(60, 20, box, positions, random);
    const BondedResult result = run_bonded(devices.device, {box, kOneAway, 1}, s, positions);
    Evaluation expected;
    reference_bonded(s, box, positions, expected);
    CHECK(!lacks_room(result.faults) && result.faults.blowup_step == 0);
    for (size_t kind = kTermEnergies; kind < kEnergyKinds; ++kind) {
      const double energy = from_fixed(result.energy[kind], kEnergyScale);
      CHECK_NEAR(energy / expected.energy[kind], 1, 1e-6);
    }
    CHECK_NEAR(virial_error(result.energy, expected) / std::fabs(expected.energy[kVirial]), 0,
               1e-6);
    double difference = 0, size = 0;
    for (int d = 0; d < 3; ++d) {
      for (size_t a = 0; a < positions.size(); ++a) {
        const double force = expected.forces[a][d];
        const double error = from_fixed(result.force[d][a], kForceScale) - force;
        difference += error * error;
        size += force * force;
      }
    }
    CHECK_NEAR(std::sqrt(difference / size), 0, 1e-6);
    check_that_forces_cancel(devices.device, box);
  }
}

void bits_depend_on_nothing(Pair devices) {
  for (const Box& box : kBoxes) {
    Random random(3);
    std::vector<Vec3d> positions;
    const System s = chains(300, 12, box, positions, random);
    const BondedResult one = run_bonded(devices.device, {box, kOneAway, 1}, s, positions);
    for (const int ranks : {1, 4, 7}) {
      const BondedResult other = run_bonded(devices.device, {box, kOneAway, ranks}, s, positions);
      CHECK(other.energy == one.energy);
      for (int d = 0; d < 3; ++d) CHECK(other.force[d] == one.force[d]);
    }
  }
}

void two_away_agrees(Pair devices) {
  Random random(4);
  std::vector<Vec3d> positions;
  const System s = chains(60, 12, kBoxes[1], positions, random);
  const BondedResult ours = run_bonded(devices.device, {kBoxes[1], kTwoAway, 3}, s, positions);
  const BondedResult theirs = run_bonded(devices.cpu, {kBoxes[1], kOneAway, 1}, s, positions);
  double worst = 0, largest = 0;
  for (int d = 0; d < 3; ++d)
    for (size_t a = 0; a < positions.size(); ++a) {
      const double force = from_fixed(theirs.force[d][a], kForceScale);
      worst = std::max(worst, std::fabs(from_fixed(ours.force[d][a], kForceScale) - force));
      largest = std::max(largest, std::fabs(force));
    }
  CHECK_NEAR(worst / largest, 0, 1e-6);
}

void terms_that_reach_too_far_are_reported(Pair devices) {
  System s;
  add_atom(s, 12);
  add_atom(s, 12);
  const int32_t atoms[] = {0, 1};
  const double parameters[] = {0.15, 1000};
  s.terms_to_fill(BondForm::kForm).add(atoms, parameters);
  const Box box{5, 0, 5, 0, 0, 5};
  const BondedResult result =
      run_bonded(devices.device, {box, kOneAway, 1}, with_groups(s), {{0.5, 0, 0}, {2.9, 0, 0}});
  CHECK(result.faults.blowup_step != 0);
}

int64_t count_placed(const TermMemory& terms, Device& device) {
  std::array<int32_t, kTermForms> counts;
  device.copy_out(counts.data(), terms.placed_terms().counts, sizeof counts);
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

// Where the layout was refused, terms stay as they are.
void refused_terms_stay(Pair devices) {
  Random random(5);
  std::vector<Vec3d> positions;
  const System s = chains(20, 12, kBoxes[1], positions, random);
  const PatchGrid grid = make_patch_grid(kBoxes[1], 0.5, 0.9, kOneAway);
  for (Device* device : {&devices.device, &devices.cpu}) {
    OneRank rank(*device, s, grid, positions, positions);
    TermMemory terms(rank);
    terms.set_plan(rank.plan());
    device->launch(terms.place_terms());
    const auto count = count_placed(terms, *device);
    CHECK(count == s.term_count());
    const TermTable& bonds = terms.tables().form[TermForms::index_of<BondForm>()];
    std::vector<uint32_t> placed(static_cast<size_t>(bonds.count) * (BondForm::kAtoms + 1));
    device->fill(bonds.placed, 0xff, placed.size() * sizeof(uint32_t), Stream::kMain);
    rank.faults.upload({Faults{.refused = 1}});
    device->launch(terms.place_terms());
    CHECK(count_placed(terms, *device) == count);
    device->copy_out(placed.data(), bonds.placed, placed.size() * sizeof(uint32_t));
    CHECK(std::all_of(placed.begin(), placed.end(), [](uint32_t p) { return p == ~0u; }));
  }
}

}  // namespace

std::vector<Case> bonded_cases(Pair devices) {
  return {{"bonded forces meet the reference", [devices] { forces_meet_the_reference(devices); }},
          {"bonded bits depend on nothing", [devices] { bits_depend_on_nothing(devices); }},
          {"bonded forces two away agree", [devices] { two_away_agrees(devices); }},
          {"terms that reach too far are reported",
           [devices] { terms_that_reach_too_far_are_reported(devices); }},
          {"no terms after steps to be redone", [devices] { refused_terms_stay(devices); }}};
}

}  // namespace quiltmd::test
