// SPDX-License-Identifier: Apache-2.0
#include "computes/alchemy/host_terms.h"

#include <atomic>
#include <vector>

#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kGrain = 64;  // terms

template <class Form>
void add_energies(const ChangedTermEnergies& op, const TermTable& table, int begin, int end) {
  std::vector<int64_t> sums(static_cast<size_t>(op.sum_count));
  for (int number = begin; number < end; ++number) {
    const ChangedTerm<Form> term(op, table, number);
    const double now = term.energy(0);
    for (int k = 0; k < op.set_count; ++k)
      sums[static_cast<size_t>(op.sets[k].sum)] +=
          to_fixed(op.sets[k].weight * (term.energy(1 + k) - now), kEnergyScale);
  }
  for (size_t k = 0; k < sums.size(); ++k)
    std::atomic_ref(op.sums[k]).fetch_add(sums[k], std::memory_order_relaxed);
}

}  // namespace

void changed_term_energies(const ChangedTermEnergies& op, ThreadGroup& threads) {
  TermForms::for_each([&]<class Form>(int k) {
    if constexpr (kMayChange<Form>)
      if (op.at.terms.form[k].count > 0)
        threads.parallel_for(op.at.terms.placed_count[k], kGrain, [&](int begin, int end, int) {
          add_energies<Form>(op, op.at.terms.form[k], begin, end);
        });
  });
}

}  // namespace quiltmd
