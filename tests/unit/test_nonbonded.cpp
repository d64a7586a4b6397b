// SPDX-License-Identifier: Apache-2.0
// Pair lists and pair forces on the host: the same bits for any number of threads, instruction set
// and numbering of slots, and an integer sum of exactly zero. That they are right is for
// tests/conformance to see.
#include <hwy/targets.h>

#include <algorithm>
#include <string>
#include <vector>

#include "computes/nonbonded/lorentz_berthelot.h"
#include "computes/nonbonded/pair_forms.h"
#include "device/host/host_device.h"
#include "device/host/kernels.h"
#include "math/error.h"
#include "pair_molecules.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

// What the list of pair forms takes, and a form that it refuses.
struct WithoutTail : LennardJones {
  static void tail(const Given&, double);  // gives no energy
};
static_assert(PairForm<ByRule<LennardJones>> && PairForm<ByTable<Buckingham>>);
static_assert(TypedForm<LennardJones> && !TypedForm<WithoutTail> && !PairForm<LennardJones>);

const Box kBox{2.3, 0.6, 2.5, -0.5, 0.8, 2.1};

void lists_do_not_depend_on_threads_or_slots() {
  const Molecules m = make_molecules(kBox, 3);
  HostDevice one(1, host_kernels()), three(3, host_kernels());
  PairRank::Choices moved;
  moved.gap = 800;
  PairRank a(one, m, {}), b(three, m, moved);
  a.build();
  b.build();
  const auto lists_a = a.used_lists(), lists_b = b.used_lists();
  const auto entries_a = a.lists.entries.download(), entries_b = b.lists.entries.download();
  const int offset = moved.gap / kClusterSize;
  CHECK(lists_a.size() == lists_b.size());
  for (size_t l = 0; l < lists_a.size(); ++l) {
    CHECK(lists_a[l].cluster + offset == lists_b[l].cluster);
    CHECK(lists_a[l].masked == lists_b[l].masked && lists_a[l].count() == lists_b[l].count());
    for (int n = 0; n < lists_a[l].count(); ++n) {
      CHECK(entries_a[lists_a[l].begin + n] + moved.gap == entries_b[lists_b[l].begin + n]);
    }
  }
}

void every_form_has_a_row() {
  const std::vector<FormRow> rows = form_rows(make_molecules(kBox, 1));
  for (const auto& [name, tables] : tables_of_pair_forms())
    CHECK(std::any_of(rows.begin(), rows.end(),
                      [name = name](const FormRow& row) { return row.name == name; }));
}

void every_instruction_set_agrees() {
  const Molecules molecules = make_molecules(kBox, 6);
  HostDevice device(1, host_kernels());
  PairRank::Choices choices;
  choices.settings.alpha = 2.92;
  choices.reach = 1.2;
  for (int64_t left = hwy::SupportedTargets(); left; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    for (const FormRow& row : form_rows(molecules)) {
      for (const bool shift : {false, true}) {
        const Molecules m = row.apply(molecules);
        choices.form = row.first;
        choices.settings = row.with(choices.settings);
        choices.settings.potential_shift = shift;
        PairRank rank(device, m, choices);
        rank.build();
        rank.evaluate(true);
        const Errors errors = against_reference(rank, m);
        CHECK(errors.force < 2.5e-6);
        CHECK_NEAR(errors.lj, 0, 1e-6);
        CHECK_NEAR(errors.coulomb, 0, 1e-6);
        CHECK_NEAR(errors.virial, 0, 1e-6);
      }
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

void the_bits_are_the_same() {
  const Molecules m = make_molecules(kBox, 7);
  HostDevice one(1, host_kernels()), three(3, host_kernels());
  PairRank::Choices choices;
  choices.settings.alpha = 2.92;
  choices.reach = 1.2;
  PairRank::Choices moved = choices;
  moved.gap = 1600;
  PairRank a(one, m, choices), b(three, m, moved);
  a.build();
  b.build();
  a.evaluate(false);
  b.evaluate(true);  // with energies the forces are the same, too
  for (int axis = 0; axis < 3; ++axis) {
    const auto fa = a.fixed_forces(axis), fb = b.fixed_forces(axis);
    int64_t sum = 0;
    for (size_t s = 0; s < fa.size(); ++s) {
      sum += fa[s];
      CHECK(fa[s] == fb[s + moved.gap]);
    }
    CHECK(sum == 0);
  }
  a.evaluate(true);
  for (const EnergyKind kind : {kPairForm, kCoulombDirect}) {
    CHECK(a.energy.download()[kind] == b.energy.download()[kind]);
  }
}

double evaluate(const float* coefficients, double r2, double cutoff) {
  const float t = static_cast<float>(2 * r2 / (cutoff * cutoff) - 1);
  float sum = 0;
  for (int k = kEwaldDegree; k >= 0; --k) sum = std::fma(sum, t, coefficients[k]);
  return sum;
}

NonbondedSettings with_split(double alpha, double bandwidth, double cutoff) {
  NonbondedSettings settings;
  settings.cutoff = cutoff;
  settings.alpha = alpha;
  settings.bandwidth = bandwidth;
  return settings;
}

int degree_that_fits(const NonbondedSettings& settings) {
  const auto split = ewald_split(settings);
  const EwaldPolynomial fit = fit_ewald(*split, settings.cutoff);
  for (int n = 1; n <= 1000; ++n) {
    const double r = 0.02 + (settings.cutoff - 0.0201) * n / 1000, r2 = r * r;
    CHECK_NEAR(evaluate(fit.force, r2, settings.cutoff) / split->force(r2), 1, 2e-6);
    CHECK_NEAR(evaluate(fit.energy, r2, settings.cutoff) / split->potential(r2), 1, 5e-7);
  }
  return fit.force_degree;
}

void gaussian_polynomials_fit() {
  const double cutoff = 0.9;
  constexpr double kDefault = 2.7541;  // alpha * cutoff at the default tolerance
  for (const double product : {1.8, 2.63, kDefault, 3.12, 3.72}) {
    const NonbondedSettings settings = with_split(product / cutoff, 0, cutoff);
    CHECK(degree_that_fits(settings) == (product < 2.2 ? 7 : product <= kDefault ? 10 : 14));
    const auto split = ewald_split(settings);
    for (const double r : {0.1, 0.35, 0.6}) {
      const double alpha = settings.alpha, erf = std::erf(alpha * r) / r;
      const double gaussian = 2 * alpha / std::sqrt(kPi) * std::exp(-alpha * alpha * r * r);
      CHECK_NEAR(split->potential(r * r) / erf, 1, 1e-13);
      CHECK_NEAR(split->force(r * r) / ((erf - gaussian) / (r * r)), 1, 1e-11);
    }
  }
  fit_ewald(*ewald_split(with_split(4.2 / cutoff, 0, cutoff)), cutoff);
  std::string refused;
  try {
    fit_ewald(*ewald_split(with_split(4.3 / cutoff, 0, cutoff)), cutoff);
  } catch (const Error& error) {
    refused = error.what();
  }
  CHECK(refused.find("must be at most 4.2") != std::string::npos);
  const EwaldPolynomial none = no_ewald();
  for (int k = 0; k <= kEwaldDegree; ++k) CHECK(none.force[k] == 0 && none.energy[k] == 0);
}

void prolate_polynomials_fit() {
  for (const double cutoff : {0.7, 1.2}) {
    for (const double bandwidth : {6., 9.7, 10.4, 12., 16., 20.})
      CHECK(degree_that_fits(with_split(0, bandwidth, cutoff)) == (bandwidth < 10.5 ? 7
                                                                   : bandwidth < 18 ? 10
                                                                                    : 14));
    const auto split = ewald_split(with_split(0, 10, cutoff));
    CHECK_NEAR(split->potential(cutoff * cutoff) * cutoff, 1, 1e-13);
  }
  for (const double bandwidth : {0.5, 20.5, std::nan("")}) {
    std::string refused;
    try {
      ewald_split(with_split(0, bandwidth, 0.9));
    } catch (const Error& error) {
      refused = error.what();
    }
    CHECK(std::isnan(bandwidth) || refused.find("must be 1 to 20") != std::string::npos);
  }
}

void combination_rules_are_recognised() {
  Molecules m = make_molecules(kBox, 1);
  const LorentzBerthelot rules = lorentz_berthelot(m.system);
  CHECK(rules.holds);
  CHECK_NEAR(rules.sigma[0], 0.315, 1e-9);
  CHECK_NEAR(rules.epsilon[2], 0.366, 1e-9);
  CHECK(rules.epsilon[1] == 0);
  System with_special_pair = m.system;
  with_special_pair.pair_tables[1][2] *= 1.01;
  CHECK(!lorentz_berthelot(with_special_pair).holds);
  System with_repulsion = m.system;
  with_repulsion.pair_tables[0][4] = 1e-6;
  CHECK(!lorentz_berthelot(with_repulsion).holds);
}

// Nothing keeps atoms apart whose attraction wins everywhere.
void parameters_without_a_barrier_are_refused() {
  const Molecules molecules = make_molecules(kBox, 1);
  const std::vector<FormRow> rows = form_rows(molecules);
  const auto row = std::find_if(rows.begin(), rows.end(), [](const FormRow& r) {
    return r.name == std::string("buckingham");
  });
  Molecules m = row->apply(molecules);
  pack_pairs(m.system, {});
  m.system.pair_tables[2][0] = 0.1;
  std::string refused;
  try {
    pack_pairs(m.system, {});
  } catch (const Error& error) {
    refused = error.what();
  }
  CHECK(refused.find("types 0 and 0: attraction exceeds repulsion") != std::string::npos);
}

}  // namespace

int main() {
  return run_all(
      {{"lists do not depend on threads or slots", lists_do_not_depend_on_threads_or_slots},
       {"every form has a row", every_form_has_a_row},
       {"every instruction set agrees", every_instruction_set_agrees},
       {"the bits are the same", the_bits_are_the_same},
       {"Gaussian polynomials fit", gaussian_polynomials_fit},
       {"prolate polynomials fit", prolate_polynomials_fit},
       {"parameters without a barrier are refused", parameters_without_a_barrier_are_refused},
       {"combination rules are recognised", combination_rules_are_recognised}});
}
