// SPDX-License-Identifier: Apache-2.0
// From a system and its settings to what kernels of the pair interaction are given.
#include "computes/nonbonded/pair_parameters.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "computes/dispersion_coefficients.h"
#include "computes/long_range/ewald_split.h"
#include "computes/nonbonded/double_number.h"
#include "computes/nonbonded/pair_forms.h"
#include "math/error.h"
#include "math/units.h"

namespace quiltmd {
namespace {

using Polynomial = double[6];

// From S(x) by powers of x in `c.energy`, with x + start proportional to r: what 1/r^m is multiplied
// by in r times the force, S - (x + start) S'(x) / m.
void derive_force(const SwitchConstants<double>& c, int m, Polynomial& force) {
  for (int k = 0; k < 6; ++k) {
    const double next = k < 5 ? (k + 1) * c.energy[k + 1] : 0;
    force[k] = c.energy[k] - (k * c.energy[k] + c.start * next) / m;
  }
}

SwitchConstants<double> potential_switch(double start, double cutoff) {
  const double scale = 1 / (cutoff - start);
  SwitchConstants<double> c{
      .scale = scale, .start = start * scale, .energy = {1, 0, 0, -10, 15, -6}};
  derive_force(c, 12, c.force_12);
  derive_force(c, 6, c.force_6);
  return c;
}

// GROMACS' force-switch: the term added to 1/r^m, divided by m; and the shift of the energy.
struct GromacsSwitch {
  double second, third, shift;

  GromacsSwitch(int m, double start, double cutoff) {
    const double width = cutoff - start, scale = std::pow(cutoff, -(m + 2)) / (width * width);
    second = -scale * ((m + 4) * cutoff - (m + 1) * start);
    third = scale / width * ((m + 3) * cutoff - (m + 1) * start);
    const double width3 = width * width * width;
    shift = std::pow(cutoff, -m) - m * width3 * (second / 3 + third * width / 4);
  }
};

SwitchConstants<double> double_constants(const NonbondedSettings& settings) {
  const double start = settings.switch_distance, cutoff = settings.cutoff;
  const double start2 = start * start, cutoff2 = cutoff * cutoff;
  const double start3 = start * start2, cutoff3 = cutoff * cutoff2;
  const double start6 = start3 * start3, cutoff6 = cutoff3 * cutoff3;
  SwitchConstants<double> c{};
  switch (settings.switching) {
    case Switching::kNone:
    case Switching::kMesh:
      break;
    case Switching::kPotential:
      return potential_switch(start, cutoff);
    case Switching::kCharmm:
      c.scale = 1 / (cutoff2 - start2);
      c.start = start2 * c.scale;
      c.slope_6 = 1 + 2 * c.start;
      break;
    case Switching::kCharmmForce:
      c.start2 = start2;
      c.cutoff_6 = 1 / cutoff6, c.cutoff_3 = 1 / cutoff3;
      c.k12 = cutoff6 / (cutoff6 - start6), c.k6 = cutoff3 / (cutoff3 - start3);
      c.shift_12 = 1 / (cutoff6 * start6), c.shift_6 = 1 / (cutoff3 * start3);
      break;
    case Switching::kGromacsForce: {
      const GromacsSwitch of_12(12, start, cutoff), of_6(6, start, cutoff);
      c.start = start;
      c.second_12 = of_12.second, c.third_12 = of_12.third, c.shift_12 = of_12.shift;
      c.second_6 = of_6.second, c.third_6 = of_6.third, c.shift_6 = of_6.shift;
      break;
    }
  }
  return c;
}

template <class Form>
bool fits(const System& system, const NonbondedSettings& settings) {
  if constexpr (!takes_any_tables<Form>)
    if (system.pair_tables.size() != Form::kTables) return false;
  return system.pair_form == Form::kName && Form::ends_as(settings.switching);
}

// Constants of a form besides its numbers.
struct Constants {
  double shift_6 = 0;
  SwitchConstants<double> switching;
};

// The integral of (E - what is computed of it) r^2 from 0 to infinity, E being the form without a
// cutoff, and E at the cutoff where energies jump to zero there.
struct Missing {
  double integral, jump;
};

// The part beyond the cutoff, and E at the cutoff; with a mesh, without the mesh's part of E.
template <class Form>
Missing beyond_cutoff(const System& system, const NonbondedSettings& settings, int s, int t) {
  auto given = given_tables<Form>(system, s, t);
  const double cutoff = settings.cutoff;
  if constexpr (FormOnMesh<Form>) {
    const double product =
        Form::mesh_product(given_tables<Form>(system, s, s), given_tables<Form>(system, t, t));
    const DirectDispersion direct = direct_dispersion(settings.dispersion_alpha, cutoff);
    given[1] -= product;
    return {Form::tail(given, cutoff) - product * direct.tail,
            Form::energy(given, cutoff) - product * direct.value};
  }
  return {Form::tail(given, cutoff), Form::energy(given, cutoff)};
}

// The part of this integral within the cutoff where the form is switched.
template <class Form>
double missing_by_switching(const typename Form::Given& given, const NonbondedSettings& settings) {
  const double cutoff = settings.cutoff, start = settings.switch_distance;
  const Constants constants{0, switch_constants<double>(settings)};
  Numbers<Double, Form::kNumbers> numbers{};
  const auto packed = Form::numbers(given, settings);
  std::copy(packed.begin(), packed.end(), numbers.v);
  const double* const no_table = nullptr;  // no form with knots is switched
  const auto difference = [&](double r) {
    const Distance<Double> distance{r * r, 1 / r, 1 / (r * r)};
    return Form::energy(given, r) -
           by_formula<Form, true, Double>(numbers, distance, constants, no_table).energy;
  };
  // Below the switching distance it is a constant.
  double sum = difference(start) * start * start * start / 3;
  constexpr int kIntervals = 256;
  const double step = (cutoff - start) / kIntervals;
  for (int k = 0; k <= kIntervals; ++k) {  // Simpson's rule
    const double r = start + k * step;
    const int weight = k == 0 || k == kIntervals ? 1 : k % 2 ? 4 : 2;
    sum += weight * step / 3 * difference(r) * r * r;
  }
  return sum;
}

template <class Form>
Missing missing(const System& system, const NonbondedSettings& settings, int s, int t) {
  const auto [beyond, at_cutoff] = beyond_cutoff<Form>(system, settings, s, t);
  if (settings.has_switching_function())
    return {beyond + missing_by_switching<Form>(given_tables<Form>(system, s, t), settings), 0};
  if (!settings.shifts_van_der_waals()) return {beyond, at_cutoff};
  const double cutoff = settings.cutoff;
  return {beyond + at_cutoff * cutoff * cutoff * cutoff / 3, 0};  // a shift is missing everywhere
}

}  // namespace

template <>
SwitchConstants<double> switch_constants(const NonbondedSettings& settings) {
  return double_constants(settings);
}

template <>
SwitchConstants<float> switch_constants(const NonbondedSettings& settings) {
  const SwitchConstants<double> c = double_constants(settings);
  const auto real = [](double value) { return static_cast<float>(value); };
  SwitchConstants<float> rounded{.scale = real(c.scale),
                                 .start = real(c.start),
                                 .start2 = real(c.start2),
                                 .cutoff_6 = real(c.cutoff_6),
                                 .cutoff_3 = real(c.cutoff_3),
                                 .k12 = real(c.k12),
                                 .k6 = real(c.k6),
                                 .shift_12 = real(c.shift_12),
                                 .shift_6 = real(c.shift_6),
                                 .second_12 = real(c.second_12),
                                 .third_12 = real(c.third_12),
                                 .second_6 = real(c.second_6),
                                 .third_6 = real(c.third_6),
                                 .slope_6 = real(c.slope_6)};
  std::transform(std::begin(c.force_12), std::end(c.force_12), rounded.force_12, real);
  std::transform(std::begin(c.force_6), std::end(c.force_6), rounded.force_6, real);
  std::transform(std::begin(c.energy), std::end(c.energy), rounded.energy, real);
  return rounded;
}

std::map<std::string, int> tables_of_pair_forms() {
  std::map<std::string, int> tables;
  PairForms::for_each([&tables]<class Form>(int) {
    if constexpr (takes_any_tables<Form>)
      tables[Form::kName] = 0;
    else
      tables[Form::kName] = Form::kTables;
  });
  return tables;
}

int form_of(const System& system, const NonbondedSettings& settings) {
  const bool switches = settings.has_switching_function();
  if (switches && !(settings.switch_distance > 0 && settings.switch_distance < settings.cutoff))
    throw Error("the switching distance must be between 0 and the cutoff");
  for (int form = 0; form < PairForms::kSize; ++form)
    if (PairForms::with(form, [&]<class Form>(Form) { return fits<Form>(system, settings); }))
      return form;
  throw Error("no pair form is called '" + system.pair_form + "' and has " +
              std::to_string(system.pair_tables.size()) + " tables of parameters" +
              (switches                         ? " and a switching function"
               : settings.has_dispersion_mesh() ? " and Lennard-Jones PME"
                                                : ""));
}

// Throws Error for parameters that the form refuses.
static void check_tables(const System& system, const NonbondedSettings& settings) {
  PairForms::with(form_of(system, settings), [&]<class Form>(Form) {
    for (int s = 0; s < system.pair_type_count; ++s)
      for (int t = s; t < system.pair_type_count; ++t)
        if (const char* problem = Form::problem(given_tables<Form>(system, s, t), settings))
          throw Error(std::string("the ") + Form::kName + " parameters of types " +
                      std::to_string(s) + " and " + std::to_string(t) + ": " + problem);
  });
}

PackedPairs pack_pairs(const System& system, const NonbondedSettings& settings, int first) {
  check_tables(system, settings);
  for (int form = std::max(first, form_of(system, settings)); form < PairForms::kSize; ++form) {
    auto packed = PairForms::with(form, [&]<class Form>(Form) {
      return fits<Form>(system, settings) ? Form::pack(system, settings)
                                          : std::optional<PackedPairs>{};
    });
    if (!packed) continue;
    packed->form = form;
    return *packed;
  }
  throw Error("the pair form '" + system.pair_form +
              "' cannot represent the parameters of this system");
}

PairParameters pair_parameters(const System& system, const NonbondedSettings& settings, int form) {
  const double cutoff = settings.cutoff, of_charges = settings.coulomb_cutoff();
  const auto split = settings.has_ewald_split() ? ewald_split(settings) : nullptr;
  PairParameters p{};
  p.cutoff2 = static_cast<float>(cutoff * cutoff);
  p.coulomb_cutoff2 = static_cast<float>(of_charges * of_charges);
  // Powers of 1/r stay finite in single precision, and 0 times them 0; at all other distances nothing changes.
  if (system.alchemy) p.least_square = 1e-12f;
  p.t_scale = static_cast<float>(2 / (of_charges * of_charges));
  if (settings.shifts_van_der_waals()) p.shift_6 = static_cast<float>(std::pow(cutoff, -6));
  if (shifts_charges(system, settings))
    p.coulomb_shift = static_cast<float>(1 / of_charges -
                                         (split ? split->potential(of_charges * of_charges) : 0));
  p.form = form;
  p.types = system.pair_type_count;
  if (settings.has_reaction_field()) {
    const ReactionField field(settings);
    p.ewald = polynomial_of_field(field.strength, field.shift, cutoff);
  } else if (split) {
    p.ewald = fit_ewald(*split, of_charges);
  } else {
    p.ewald = no_ewald();
  }
  p.switching = switch_constants<float>(settings);
  if (settings.has_dispersion_mesh()) p.on_mesh = fit_dispersion(settings.dispersion_alpha, cutoff);
  return p;
}

// The mean counts each pair of atoms once and each atom with itself, as OpenMM does, so that energies
// can be compared. Where energies end at zero the virial is the derivative of this energy by the volume.
// Where pairs jump in energy as they cross the cutoff it is more, since no force has that part (Allen and
// Tildesley, Computer Simulation of Liquids, section 2.8): the integral of -r^3 dE/dr is that of 3 E r^2,
// plus r^3 E at the cutoff.
Constant dispersion_constant(const System& system, const NonbondedSettings& settings,
                             double volume) {
  Constant custom;
  for (const PairExpression& pair : system.pair_expressions) {
    custom.energy += pair.tail_energy / volume;
    custom.virial += pair.tail_virial / volume;
  }
  const auto types = static_cast<size_t>(system.pair_type_count);
  if (!settings.dispersion_correction || system.pair_types.empty()) return custom;
  std::vector<double> count(types, 0.0);
  for (const int32_t type : system.pair_types) count[static_cast<size_t>(type)] += 1;
  const double cutoff = settings.cutoff;
  double tail = 0, at_cutoff = 0;
  PairForms::with(form_of(system, settings), [&]<class Form>(Form) {
    for (size_t i = 0; i < types; ++i)
      for (size_t j = 0; j <= i; ++j) {
        const double pairs = i == j ? 0.5 * count[i] * (count[i] + 1) : count[i] * count[j];
        const auto [integral, jump] =
            missing<Form>(system, settings, static_cast<int>(i), static_cast<int>(j));
        tail += pairs * integral;
        at_cutoff += pairs * jump;
      }
  });
  const auto atoms = static_cast<double>(system.pair_types.size());
  const double factor = 2 * kPi * atoms * atoms / volume / (0.5 * atoms * (atoms + 1));
  return {custom.energy + factor * tail,
          custom.virial + factor * (tail + cutoff * cutoff * cutoff * at_cutoff / 3)};
}

}  // namespace quiltmd
