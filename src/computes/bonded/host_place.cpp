// SPDX-License-Identifier: Apache-2.0
// Finds the bonded terms that this rank computes, on the host. Every rank looks at every term; the one
// that has the compute of its base patch keeps it. Runs when lists are built.
#include <algorithm>
#include <atomic>
#include <vector>

#include "computes/bonded/host_kernels.h"
#include "computes/bonded/term_placement.h"
#include "decomposition/host_faults.h"

namespace quiltmd {
namespace {

constexpr int kGrain = 1024;  // terms

// Place these terms of one form; the room is the number of terms.
template <class Form>
void place(const PlaceTerms& op, int form, int begin, int end) {
  constexpr int kRecord = Form::kAtoms + 1;
  const TermTable& table = op.terms.form[form];
  const TermPlacer placer(op);
  std::vector<uint32_t> found;
  for (int term = begin; term < end; ++term) {
    uint32_t placed[kRecord];
    const Found where = placer.place<Form>(table, term, placed);
    if (where == Found::kHere) found.insert(found.end(), placed, placed + kRecord);
    if (where == Found::kTooWide)
      report_fault(op.faults->blowup_step, op.faults->blowup_atom, *op.step,
                   table.atoms[static_cast<ptrdiff_t>(term) * Form::kAtoms]);
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
  TermForms::for_each([&]<class Form>(int k) {
    const int terms = op.terms.form[k].count;
    if (terms == 0) return;
    threads.parallel_for(terms, kGrain,
                         [&](int begin, int end, int) { place<Form>(op, k, begin, end); });
  });
}

}  // namespace quiltmd
