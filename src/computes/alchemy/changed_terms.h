// SPDX-License-Identifier: Apache-2.0
// Energies of all states of bonded terms whose parameters depend on lambda. Forces, and the energy at the
// present lambdas, are those of the bonded terms, whose parameters are written anew when lambda changes.
#pragma once

#include "computes/bonded/operations.h"
#include "computes/bonded/term_points.h"

namespace quiltmd {

// Parameters of all terms at other lambdas: what their energy, less that at the present lambdas, adds to.
struct ParameterSet {
  int32_t sum;    // behind AlchemicalSums::kSlopes
  double weight;  // of the energy
};

// Terms are those that change: parameters (1 + sets, terms, Form::kPrepared), the first of them the present
// ones; rows of terms are their numbers.
struct ChangedTermEnergies {
  static constexpr const char* kName = "changed_term_energies";
  TermForces at;  // adds neither forces nor energies
  const ParameterSet* sets;
  int set_count;
  int sum_count;
  int64_t* sums;

  void memory(MemoryUses& uses) const {
    for (const TermTable& form : at.terms.form) {
      QMD_USES(kRead, form.parameters, form.shared, form.placed);
      QMD_USES(kNone, form.atoms, form.row);
    }
    const Slots& slots = at.slots;
    QMD_USES(kRead, at.terms.placed_count, slots.local, slots.low, slots.patch, at.exact_shifts);
    QMD_USES(kRead, at.patches, at.conditions, sets);
    QMD_USES(kAdd, sums);
    QMD_USES(kNone, slots, at.energy);
  }
};

// The energy of a term in each of its sets of parameters, one after the other; see term_points.h.
template <class Form>
class ChangedTerm {
 public:
  QMD_HD ChangedTerm(const ChangedTermEnergies& op, const TermTable& table, int number)
      : table_(table) {
    constexpr int n = Form::kAtoms;
    const uint32_t* entry = table.placed + static_cast<ptrdiff_t>(number) * (n + 1);
    term_ = static_cast<ptrdiff_t>(entry[n]);
    Vec3d last = term_position(op.at, entry[0]);
    for (int k = 0; k + 1 < n; ++k) {
      const Vec3d next = term_position(op.at, entry[k + 1]);
      b_[k] = between_points<Form>(op.at, last, next);
      last = next;
    }
  }

  // Energy at the present lambdas (0), or at a set of lambdas.
  QMD_HD double energy(int row) const {
    const double* parameters =
        table_.parameters + (static_cast<ptrdiff_t>(row) * table_.count + term_) * Form::kPrepared;
    const auto value = evaluate_form<Form>(b_, parameters, table_.shared);
    double sum = 0;
    for (const double one : value.energy) sum += one;
    return sum;
  }

 private:
  const TermTable& table_;
  ptrdiff_t term_;
  Vec3d b_[Form::kAtoms - 1];
};

}  // namespace quiltmd
