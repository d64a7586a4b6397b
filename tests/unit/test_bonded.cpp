// SPDX-License-Identifier: Apache-2.0
// Bonded terms: the forms against the textbook and by finite differences, hard geometries included; placement and forces on
// the `cpu` device against the reference, for any threads, any cut into ranks and any patch grid.
#include <algorithm>
#include <cmath>
#include <string>

#include "bonded_rank.h"
#include "check.h"
#include "computes/bonded/tables.h"
#include "computes/energies.h"
#include "device/host/kernels.h"
#include "math/error.h"

namespace quiltmd::test {
namespace {

// What the list of forms takes, and forms that it refuses.
struct TwoEnergies : BondForm {
  static constexpr const char* kEnergies[] = {"bond", "another"};
};
struct OfThreeAtoms : BondForm {
  static constexpr int kAtoms = 3;
};
struct PrivateFormula : BondForm {
 private:
  using BondForm::evaluate;
};
static_assert(BondedForm<BondForm> && BondedForm<CmapForm> && BondedForm<PositionRestraintForm>);
static_assert(!BondedForm<TwoEnergies> && !BondedForm<OfThreeAtoms> && !BondedForm<PrivateFormula>);

// ---- forms ----

// A term by itself, on the reference's way: forces and energies.
Evaluation evaluate(const System& system, const std::vector<Vec3d>& r, const Box& box = kTermBox) {
  Evaluation out;
  reference_bonded(system, box, r, out);
  return out;
}

double energy_of(const Evaluation& out) {
  return potential_energies(out.energy, {}, {}).at("potential");
}

System one_term(const TermRow& row, const std::vector<double>& parameters) {
  System s;
  std::vector<int32_t> atoms;
  for (int a = 0; a < row.form.atoms; ++a) {
    add_atom(s, 12);
    atoms.push_back(a);
  }
  Terms& terms = s.terms_to_fill(row.form);
  row.share(terms);
  terms.add(atoms, parameters);
  return s;
}

void check_gradient(const System& system, const std::vector<Vec3d>& r, double tolerance) {
  const Evaluation out = evaluate(system, r);
  const double step = 1e-6;
  Vec3d sum{0, 0, 0};
  for (size_t a = 0; a < r.size(); ++a) {
    sum += out.forces[a];
    for (int d = 0; d < 3; ++d) {
      std::vector<Vec3d> up = r, down = r;
      up[a][d] += step;
      down[a][d] -= step;
      const double slope =
          (energy_of(evaluate(system, up)) - energy_of(evaluate(system, down))) / (2 * step);
      CHECK_NEAR(out.forces[a][d], -slope, tolerance * (1 + std::fabs(slope)));
    }
  }
  if (r.size() > 1) CHECK_NEAR(norm(sum), 0, 1e-9 * (1 + norm(out.forces[0])));
}

Box strained(int axis, double strain) {
  Box box = kTermBox;
  (axis == 0 ? box.ax : axis == 1 ? box.by : box.cz) *= 1 + strain;
  return box;
}

// Minus the derivative of the energy by a strain of all there is, along each axis.
void check_virial(const System& system, const std::vector<Vec3d>& r, double tolerance) {
  const Evaluation out = evaluate(system, r);
  for (int d = 0; d < 3; ++d) {
    const double strain = 1e-6;
    std::vector<Vec3d> up = r, down = r;
    for (Vec3d& x : up) x[d] *= 1 + strain;
    for (Vec3d& x : down) x[d] *= 1 - strain;
    const double slope = (energy_of(evaluate(system, up, strained(d, strain))) -
                          energy_of(evaluate(system, down, strained(d, -strain)))) /
                         (2 * strain);
    CHECK_NEAR(out.energy[static_cast<size_t>(kVirial + d)], -slope,
               tolerance * (1 + std::fabs(slope)));
  }
}

void every_form_has_a_row() {
  TermForms::for_each([]<class Form>(int) {
    CHECK(std::any_of(term_rows().begin(), term_rows().end(),
                      [](const TermRow& row) { return &row.form == &Form::kForm; }));
  });
}

void forms_follow_the_textbook() {
  Random random(1);
  for (const TermRow& row : term_rows())
    for (int trial = 0; trial < 100; ++trial) {
      std::vector<Vec3d> r;
      for (const int a : row.places)
        r.push_back(Vec3d{0.12 * a, 0.07 * (a % 2), 0.05 * (a % 3)} + random_vector(random, 0.02));
      const std::vector<double> parameters = row.some(trial);
      const System system = one_term(row, parameters);
      const double expected = row.energy(r, parameters);
      CHECK_NEAR(energy_of(evaluate(system, r)), expected,
                 row.precision * (1 + std::fabs(expected)));
      check_gradient(system, r, 1e-4);
      check_virial(system, r, 1e-4);
    }
}

// ---- hard geometries ----

template <class Form>
System one(const std::vector<double>& parameters) {
  const auto& rows = term_rows();
  return one_term(*std::find_if(rows.begin(), rows.end(),
                                [](const TermRow& row) { return &row.form == &Form::kForm; }),
                  parameters);
}

// Four atoms with a given torsion angle.
std::vector<Vec3d> twisted(double phi) {
  return {{0.1, 0.05, 0}, {0, 0, 0}, {0, 0, 0.15}, {0.1 * std::cos(phi), 0.1 * std::sin(phi), 0.2}};
}

void torsion_follows_its_convention() {
  for (const double phi : {-2.9, -0.4, 0.0, 1e-9, 0.7, 3.1}) {
    std::vector<Vec3d> r = twisted(phi);
    r[0] = {0.1, 0, -0.03};
    for (const int n : {1, 2, 3, 6})
      CHECK_NEAR(energy_of(evaluate(one<TorsionForm>({double(n), 0.6, 3}), r)),
                 3 * (1 + std::cos(n * phi - 0.6)), 1e-12);
  }
}

void flat_and_straight_are_no_exceptions() {
  const double pi = kPi;
  for (const double phi : {0.0, 1e-12, 1e-5, pi - 1e-9, pi})
    for (const int n : {1, 2, 3}) {
      std::vector<Vec3d> r = twisted(phi);
      r[0] = {0.1, 0, -0.03};
      check_gradient(one<TorsionForm>({double(n), 0.6, 3}), r, 1e-6);
    }
  // Straight angles at their minimum and away from it: finite, and right where defined.
  for (const double bend : {1e-3, 1e-6, 0.0})
    check_gradient(one<AngleForm>({pi, 500}), {{-0.1, bend, 0}, {0, 0, 0}, {0.1, 0, 0}}, 2e-2);
  const auto finite = [](const System& system, const std::vector<Vec3d>& r) {
    const Evaluation out = evaluate(system, r);
    for (const Vec3d& force : out.forces) CHECK(std::isfinite(norm(force)));
    CHECK(std::isfinite(energy_of(out)));
  };
  for (const Vec3d first : {Vec3d{-0.1, 0, 0}, Vec3d{0.2, 0, 0}})
    finite(one<AngleForm>({1.9, 500}), {first, {0, 0, 0}, {0.1, 0, 0}});
  // Every form of three atoms or more, all in line.
  for (const TermRow& row : term_rows()) {
    std::vector<Vec3d> r;
    for (const int a : row.places) r.push_back({0.1 * a, 0, 0});
    if (r.size() > 2) finite(one_term(row, row.some(1)), r);
  }
}

// ---- kernels ----

BondedResult run_kernels(const BondedRun& run, const System& s, const std::vector<Vec3d>& positions,
                         int threads = 1) {
  HostDevice device(threads, host_kernels());
  return run_bonded(device, run, s, positions);
}

const Box kBoxes[] = {{3.1, 0, 3.4, 0, 0, 3.0}, {3.3, 0.9, 3.2, -1.0, 0.8, 3.1}};

void kernels_meet_reference() {
  for (const Box& box : kBoxes) {
    Random random(2);
    std::vector<Vec3d> positions;
    const System s = chains(40, 20, box, positions, random);
    const BondedResult result = run_kernels({box, kOneAway, 1}, s, positions);
    Evaluation expected;
    reference_bonded(s, box, positions, expected);
    CHECK(!lacks_room(result.faults) && result.faults.blowup_atom == 0);
    const double rounding = s.atom_count() / kEnergyScale;  // no form has more terms
    for (size_t kind = kTermEnergies; kind < kEnergyKinds; ++kind)
      CHECK_NEAR(from_fixed(result.energy[kind], kEnergyScale), expected.energy[kind], rounding);
    CHECK_NEAR(virial_error(result.energy, expected), 0, kTermForms * rounding + 1e-6);
    for (int d = 0; d < 3; ++d) {
      for (size_t a = 0; a < positions.size(); ++a) {
        const double force = expected.forces[a][d];
        CHECK_NEAR(from_fixed(result.force[d][a], kForceScale), force,
                   1e-7 + 1e-8 * std::fabs(force));
      }
    }
  }
}

void forces_cancel() {
  HostDevice device(1, host_kernels());
  for (const Box& box : kBoxes) check_that_forces_cancel(device, box);
}

void nothing_depends_on_threads_or_ranks() {
  for (const Box& box : kBoxes) {
    Random random(3);
    std::vector<Vec3d> positions;
    const System s = chains(200, 12, box, positions, random);
    const BondedResult one = run_kernels({box, kOneAway, 1}, s, positions);
    for (const int ranks : {1, 4, 7}) {
      const BondedResult other = run_kernels({box, kOneAway, ranks}, s, positions, 1 + ranks % 3);
      CHECK(other.energy == one.energy);
      for (int d = 0; d < 3; ++d) CHECK(other.force[d] == one.force[d]);
    }
  }
}

// Smaller patches move patch centres, which double precision does not notice beyond its last bits.
void half_patches_agree() {
  Random random(4);
  std::vector<Vec3d> positions;
  const System s = chains(40, 12, kBoxes[1], positions, random);
  const BondedResult one = run_kernels({kBoxes[1], kOneAway, 1}, s, positions);
  for (const Int3 patch_reach : {kTwoAway, Int3{2, 1, 1}, Int3{2, 2, 1}, Int3{1, 1, 2}}) {
    const BondedResult two = run_kernels({kBoxes[1], patch_reach, 3}, s, positions);
    for (size_t a = 0; a < positions.size(); ++a)
      CHECK_NEAR(from_fixed(two.force[0][a] - one.force[0][a], kForceScale), 0, 1e-6);
  }
}

void odd_periodicities_are_refused() {
  for (const double periodicity : {2.5, 0.0, -1.0, 1e9, std::nan("")}) {
    std::string message;
    try {
      term_arrays(one<TorsionForm>({periodicity, 0, 1}));
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK(message.find("a torsion (atoms 0, 1, 2, 3, ") == 0);
    CHECK(message.find("periodicity") != std::string::npos);
  }
}

}  // namespace
}  // namespace quiltmd::test

int main() {
  using namespace quiltmd::test;
  return run_all({{"every form has a row", every_form_has_a_row},
                  {"forms follow the textbook", forms_follow_the_textbook},
                  {"torsion follows its convention", torsion_follows_its_convention},
                  {"flat and straight are no exceptions", flat_and_straight_are_no_exceptions},
                  {"kernels meet reference", kernels_meet_reference},
                  {"forces cancel", forces_cancel},
                  {"nothing depends on threads or ranks", nothing_depends_on_threads_or_ranks},
                  {"patches half as wide agree", half_patches_agree},
                  {"odd periodicities are refused", odd_periodicities_are_refused}});
}
