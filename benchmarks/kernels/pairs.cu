// SPDX-License-Identifier: Apache-2.0
// Workshop of the layout, pair-list and pair-force kernels: each timed alone on dumps of runs, the
// forces checked against plain double precision while their lists grow old.
//
//   python3 benchmarks/kernels/build.py pairs && build/kernels/pairs DUMP...
//
// build.py makes variants, too: build/kernels/pairs_*.
#include "computes/bonded/term_memory.h"
#include "computes/nonbonded/pair_memory.h"
#include "computes/reference.h"
#include "workshop.h"

using namespace workshop;

namespace {

void time_layout(Bench& b, CudaDevice& device) {
  const auto next_place = [&] {
    b.slots.swap_state();
    return b.slots.place_groups();
  };
  const PlaceGroups there = next_place();
  const PlaceGroups back = next_place();
  const NumberLists number = b.memory.lists->number_lists();
  const BuildLists build = b.memory.lists->build_lists();
  const auto lists = [&] { device.launch(number), device.launch(build); };
  const auto nothing = [] {};
  const auto placing = [&](const std::function<void()>& then) {
    const auto both = [&] { device.launch(there), then(), device.launch(back), then(); };
    return 0.5 * time_of(device, both, 10);
  };
  std::printf("  place %.1f, number %.1f, number and build %.1f, all %.1f, terms %.1f us\n",
              placing(nothing), time_of(device, [&] { device.launch(number); }),
              time_of(device, lists), placing(lists),
              time_of(device, [&] { device.launch(b.family<TermMemory>().place_terms()); }));
}

// Entries a list; how many of the lanes of a round of 32 have one.
void print_lists(const Bench& b) {
  const int count = b.memory.lists->list_ranges.download()[3];
  int64_t listed = 0, near = 0, masked = 0, rounds = 0;
  int longest = 0;
  for (const PairList& list : b.memory.lists->lists.download(static_cast<size_t>(count))) {
    listed += list.count();
    near += list.within[0];
    masked += list.masked;
    rounds += (list.count() + 31) / 32;
    longest = std::max(longest, list.count());
  }
  const double per_list = 1.0 / count;
  std::printf(
      "  %d lists of %.1f entries (longest %d), %.1f in the first shell, %.1f masked; %.2f of "
      "the lanes in use\n  shells reach",
      count, per_list * static_cast<double>(listed), longest, per_list * static_cast<double>(near),
      per_list * static_cast<double>(masked),
      static_cast<double>(listed) / (32.0 * static_cast<double>(rounds)));
  for (const double reach : b.setup.ages.reach) std::printf(" %.3f", reach);
  std::printf(" nm\n");
}

bool sums_to_zero(const Bench& b) {
  const std::array<int64_t, 3> sum = force_sum(b.memory);
  return sum == std::array<int64_t, 3>{};
}

void check_forces(Bench& b, CudaDevice& device) {
  Evaluation exact;
  reference_pairs(b.setup.system, b.setup.nonbonded, b.setup.grid.box, b.positions(), exact);
  b.clear_sums();
  device.launch(b.family<PairMemory>().pair_forces(Part::kInterior, Energies::kSkip, b.list_age()));
  const std::vector<int64_t> first = b.slots.force.download();
  const double force_error = within(2e-5, relative_error(b.short_range_forces(), exact.forces));
  b.clear_sums();
  device.launch(b.family<PairMemory>().pair_forces(Part::kInterior, Energies::kAdd, b.list_age()));
  std::printf(" force error %.1e, lj %.1e, coulomb %.1e; sum %s, with energies %s\n", force_error,
              within(1e-5, std::abs(b.energy(kPairForm) / exact.energy[kPairForm] - 1)),
              within(1e-5, std::abs(b.energy(kCoulombDirect) / exact.energy[kCoulombDirect] - 1)),
              verdict(sums_to_zero(b), "zero", "NOT ZERO"),
              verdict(b.slots.force.download() == first, "the same bits", "OTHER BITS"));
}

// With the lists at their present age.
void bench_forces(Bench& b, CudaDevice& device) {
  PairForces op =
      b.family<PairMemory>().pair_forces(Part::kInterior, Energies::kSkip, b.list_age());
  std::printf("  lists of age %d, shell %d:", b.list_age(), op.shells.last);
  for (const int pieces : {1, 2, 3}) {
    op.pieces = pieces;
    std::printf(" %.1f", time_of(device, [&] { device.launch(op); }));
  }
  op = b.family<PairMemory>().pair_forces(Part::kInterior, Energies::kAdd, b.list_age());
  std::printf(" us by pieces, with energies %.1f;", time_of(device, [&] { device.launch(op); }));
  check_forces(b, device);
}

void run(Bench& b, CudaDevice& device) {
  print_lists(b);
  const int life = b.setup.lists.life;
  for (const int age : {0, life / 3, 2 * life / 3, life - 1}) {
    b.rank.run(age - b.list_age());
    b.rank.evaluate(life);
    bench_forces(b, device);
  }
  time_layout(b, device);
}

}  // namespace

int main(int count, char** arguments) { return for_dumps(count, arguments, run); }
