// SPDX-License-Identifier: Apache-2.0
// Finds the bonded terms that this rank computes. Every rank that holds a term's first atom looks
// at the term; the one that has the compute of its base patch keeps it. Runs when lists are built.
#include <algorithm>
#include <atomic>
#include <vector>

#include "computes/bonded/host_kernels.h"
#include "computes/bonded/term_placement.h"
#include "decomposition/host_faults.h"

namespace quiltmd {
namespace {

constexpr int kGrainClusters = 64;

// Place the terms of one form that begin with an atom in these clusters; the room is the number of
// terms.
template <class Form>
void place(const PlaceTerms& op, int form, int begin, int end) {
  constexpr int kRecord = Form::kAtoms + 1;
  const TermTable& table = op.terms.form[form];
  if (table.count == 0) return;
  const TermPlacer placer(op);
  std::vector<uint32_t> found;
  for (int32_t slot = begin * kClusterSize; slot < end * kClusterSize; ++slot) {
    const int32_t atom = op.slots.atom[slot];
    if (atom < 0) continue;
    for (int32_t t = table.first_term[atom]; t < table.first_term[atom + 1]; ++t) {
      uint32_t placed[kRecord];
      const Found where = placer.place<Form>(table, t, placed);
      if (where == Found::kHere) found.insert(found.end(), placed, placed + kRecord);
      if (where == Found::kTooWide)
        report_fault(op.faults->blowup_step, op.faults->blowup_atom, *op.step, atom);
    }
  }
  const auto count = static_cast<int32_t>(found.size()) / kRecord;
  const int32_t at =
      std::atomic_ref(op.terms.placed_count[form]).fetch_add(count, std::memory_order_relaxed);
  std::copy(found.begin(), found.end(), table.placed + static_cast<ptrdiff_t>(at) * kRecord);
}

}  // namespace

void place_terms(const PlaceTerms& op, ThreadGroup& threads) {
  if (op.faults->refused) return;
  std::fill_n(op.terms.placed_count, kTermForms, 0);
  const int clusters = std::min(*op.slot_count, op.slot_capacity) / kClusterSize;
  threads.parallel_for(clusters, kGrainClusters, [&](int begin, int end, int) {
    TermForms::for_each([&]<class Form>(int k) { place<Form>(op, k, begin, end); });
  });
}

}  // namespace quiltmd
