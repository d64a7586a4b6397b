// SPDX-License-Identifier: Apache-2.0
// The list of forms of bonded terms. System, readers, tables, kernels, the names of energies and the
// words for a blow-up all follow from it.
//
// A form is a struct in a header of its own, written once for every device:
//   kAtoms, kParameters, kEnergies, kForm   what it is called and what a user gives (term_form.h)
//   kPart                                   what its terms are in a molecule
//   kPrepared, prepare(given, p)            from a user's parameters to those of kernels; throws
//                                           Error, with words that follow the name of the term
//   evaluate(b, p)                          energies and forces; see TermValue
// and where all its terms share data, such as maps, to which they refer by a row's index:
//   prepare(given, p, rows)                 `rows` is the number of rows that the user gave
//   prepare_shared(values, rows)            from these to the array that evaluate(b, p, shared) gets
// and where a term holds its only atom to a place:
//   kAnchored = true                        b[0] is from the atom to the place, which the first six
//                                           prepared parameters say (Anchor)
// and where its energy depends on which image of the atom is meant, and so has no place in an open cell:
//   kEnergyByImage = true
// and where atoms of a term may be anywhere, and not just a few bonds from each other:
//   kApart = true
// and where it is a spring between two atoms:
//   longest(given, energy)                  how far apart an energy (kJ/mol) lets them be, nm
// and where terms may have two states, between which lambda interpolates the given parameters:
//   kMayChange = true                       prepare() must take any value in between, and a little beyond
// The strength of restraints (conditions.h) counts where kPart says that terms are restraints.
//
// A form sees b[k] = r[k+1] - r[k], the vectors from each atom of the term to the next, so that it
// needs neither positions nor the periodic cell, and loses no digits in single precision. No form
// divides by a quantity that vanishes in a sane structure.
#pragma once

#include <concepts>
#include <vector>

#include "computes/bonded/forms/angle.h"
#include "computes/bonded/forms/angle_restraint.h"
#include "computes/bonded/forms/bending_torsion.h"
#include "computes/bonded/forms/bond.h"
#include "computes/bonded/forms/cmap.h"
#include "computes/bonded/forms/constant_force.h"
#include "computes/bonded/forms/cosine_angle.h"
#include "computes/bonded/forms/distance_restraint.h"
#include "computes/bonded/forms/excluded_dispersion.h"
#include "computes/bonded/forms/excluded_pair.h"
#include "computes/bonded/forms/excluded_pair_prolate.h"
#include "computes/bonded/forms/fene.h"
#include "computes/bonded/forms/improper.h"
#include "computes/bonded/forms/morse.h"
#include "computes/bonded/forms/opposite_forces.h"
#include "computes/bonded/forms/pair14.h"
#include "computes/bonded/forms/position_restraint.h"
#include "computes/bonded/forms/quartic_bond.h"
#include "computes/bonded/forms/restricted_angle.h"
#include "computes/bonded/forms/ryckaert_bellemans.h"
#include "computes/bonded/forms/torsion.h"
#include "computes/bonded/forms/torsion_restraint.h"
#include "computes/bonded/forms/urey_bradley.h"
#include "math/list.h"

namespace quiltmd {

template <class Form>
inline constexpr int kEnergiesOf = sizeof(Form::kEnergies) / sizeof(Form::kEnergies[0]);

// Whether the terms of a form share data.
template <class Form>
inline constexpr bool kShares = requires { &Form::prepare_shared; };

// Whether a term has one atom and a place; how many points it has, the place among them; and whether
// its atoms may be anywhere.
template <class Form>
inline constexpr bool kAnchored = requires { Form::kAnchored; };
template <class Form>
inline constexpr int kPointsOf = Form::kAtoms + (kAnchored<Form> ? 1 : 0);
template <class Form>
inline constexpr bool kApart = requires { Form::kApart; };

// Whether its energy depends on the image of the atom.
template <class Form>
inline constexpr bool kEnergyByImage = requires { Form::kEnergyByImage; };

// Whether its terms may have two states.
template <class Form>
inline constexpr bool kMayChange = requires { Form::kMayChange; };

// Whether it keeps two atoms together: then it tells how far apart (nm) terms with the given parameters
// let them be at an energy (kJ/mol), kUnbounded where they do not.
template <class Form>
inline constexpr bool kHoldsAtoms = Form::kAtoms == 2 && requires(const double* given) {
  { Form::longest(given, 1.0) } -> std::same_as<double>;
};

// Whether its terms are restraints, whose strength is one of the conditions.
template <class Form>
inline constexpr bool kRestrains = Form::kPart == TermPart::kRestraint;

// Preparation of the parameters and evaluation of a term of a form: alone, or with data that its terms share.
template <class Form>
concept PreparesAlone =
    !kShares<Form> && requires(const double* given, double* p) { Form::prepare(given, p); };
template <class Form>
concept PreparesShared = kShares<Form> && requires(const double* given, double* p, int rows,
                                                   const std::vector<double>& values) {
  Form::prepare(given, p, rows);
  { Form::prepare_shared(values, rows) } -> std::same_as<std::vector<double>>;
};
template <class Form>
using ValueOf = TermValue<double, kPointsOf<Form>, kEnergiesOf<Form>>;
template <class Form>
concept EvaluatesAlone = !kShares<Form> && requires(const Vec3d* b, const double* p) {
  { Form::template evaluate<double>(b, p) } -> std::same_as<ValueOf<Form>>;
};
template <class Form>
concept EvaluatesShared = kShares<Form> && requires(const Vec3d* b, const double* p) {
  { Form::template evaluate<double>(b, p, p) } -> std::same_as<ValueOf<Form>>;
};

// Common properties of all forms of the list.
template <class Form>
concept StatesAtoms =
    Form::kAtoms >= 1 && Form::kAtoms <= kMaxTermAtoms && Form::kForm.atoms == Form::kAtoms;
template <class Form>
concept StatesPart = std::same_as<decltype(Form::kPart), const TermPart>;
template <class Form>
concept StatesParameters = Form::kForm.parameters.size() >= 1 && Form::kPrepared >= 1;
template <class Form>
concept StatesEnergies = Form::kForm.energies.size() == kEnergiesOf<Form>;
template <class Form>
concept Prepares = PreparesAlone<Form> || PreparesShared<Form>;
template <class Form>
concept Evaluates = EvaluatesAlone<Form> || EvaluatesShared<Form>;
template <class Form>
concept BondedForm = StatesAtoms<Form> && StatesPart<Form> && StatesParameters<Form> &&
                     StatesEnergies<Form> && Prepares<Form> && Evaluates<Form>;

// If a form lacks a member, the compiler names the form ("In instantiation of") and the member, which it
// would not do for a concept with several parts.
template <class Form>
struct Complete {
  static_assert(StatesAtoms<Form>, "the form needs kAtoms, and a kForm with this number of atoms");
  static_assert(StatesPart<Form>, "the form needs kPart");
  static_assert(StatesParameters<Form>, "the form needs kParameters, in kForm, and kPrepared");
  static_assert(StatesEnergies<Form>, "the form needs kEnergies, in kForm");
  static_assert(Prepares<Form>,
                "the form needs prepare(given, p), or prepare(given, p, rows) and "
                "prepare_shared(values, rows)");
  static_assert(Evaluates<Form>,
                "the form needs evaluate<Real>(b, p), or (b, p, shared), that "
                "returns a TermValue of its points and energies");
  using Itself = Form;
};
template <class... Forms>
using FormList = List<typename Complete<Forms>::Itself...>;

// In order of cost, and of registers where it counts: kernels that take all terms in one go start with
// the last, and do without the last ones where a system has none.
using TermForms =
    FormList<BondForm, UreyBradleyForm, Pair14Form, AngleForm, TorsionForm, ImproperForm, CmapForm,
             RyckaertBellemansForm, ExcludedPairForm, PositionRestraintForm, DistanceRestraintForm,
             AngleRestraintForm, TorsionRestraintForm, ConstantForceForm, OppositeForcesForm,
             ExcludedDispersionForm, ExcludedPairProlateForm, MorseForm, QuarticBondForm, FeneForm,
             CosineAngleForm, RestrictedAngleForm, BendingTorsionForm>;
inline constexpr int kTermForms = TermForms::kSize;
// For how many of the first forms kernels are compiled apart: what nearly every system has, and what
// force fields have.
inline constexpr int kUsualForms = TermForms::index_of<TorsionForm>() + 1;
inline constexpr int kForceFieldForms = TermForms::index_of<CmapForm>() + 1;

template <class Form, class Real>
QMD_HD auto evaluate_form(const Vec3<Real>* b, const Real* p, const Real* shared) {
  if constexpr (kShares<Form>)
    return Form::template evaluate<Real>(b, p, shared);
  else
    return Form::template evaluate<Real>(b, p);
}

// Minus the derivative of the energy by a strain of the cell: positions times forces over the atoms of
// a term, seen from its last point; where that is a place, only part of it follows the cell.
template <class Form, class Value>
QMD_HD Symmetric term_virial(const Vec3d* b, const Value& value, const double* p) {
  Symmetric virial{};
  Vec3d from_last{0, 0, 0};
  if constexpr (kAnchored<Form>) from_last = Anchor(p).beyond;
  for (int k = kPointsOf<Form> - 2; k >= 0; --k) {
    from_last -= b[k];
    virial.add_product(from_last, value.force[k]);
  }
  return virial;
}

}  // namespace quiltmd
