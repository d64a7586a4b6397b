// SPDX-License-Identifier: Apache-2.0
// From a system and its settings to what kernels of the pair interaction are given.
#include "computes/nonbonded/pair_parameters.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "computes/nonbonded/double_number.h"
#include "computes/nonbonded/pair_forms.h"
#include "math/error.h"
#include "math/units.h"

namespace quiltmd {
namespace {

template <class Form>
bool fits(const System& system, const NonbondedSettings& settings) {
  return system.pair_form == Form::kName && system.pair_tables.size() == Form::kTables &&
         Form::ends_as(settings.switching);
}

// What a form reads besides its numbers.
struct Constants {
  double shift_6 = 0;
  SwitchConstants<double> switching;
};

// The integral of (E - what is computed of it) r^2 from 0 to infinity, E being the form without a
// cutoff, and E at the cutoff where energies jump to zero there.
struct Missing {
  double integral, jump;
};

template <class Form>
Missing missing(const typename Form::Given& given, const NonbondedSettings& settings) {
  const double cutoff = settings.cutoff, start = settings.switch_distance;
  const double beyond = Form::tail(given, cutoff);
  if (settings.switching == Switching::kNone) return {beyond, Form::energy(given, cutoff)};
  const Constants constants{0, switch_constants<double>(settings)};
  Numbers<Double, Form::kNumbers> numbers{};
  const auto packed = Form::numbers(given, settings);
  std::copy(packed.begin(), packed.end(), numbers.v);
  const auto difference = [&](double r) {
    const Distance<Double> distance{r * r, 1 / r, 1 / (r * r)};
    return Form::energy(given, r) -
           Form::template formula<true, Double>(numbers, distance, constants).energy;
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
  return {beyond + sum, 0};
}

}  // namespace

int form_of(const System& system, const NonbondedSettings& settings) {
  const bool switches = settings.switching != Switching::kNone;
  if (switches && !(settings.switch_distance > 0 && settings.switch_distance < settings.cutoff))
    throw Error("the switching distance must lie between 0 and the cutoff");
  for (int form = 0; form < PairForms::kSize; ++form)
    if (PairForms::with(form, [&]<class Form>(Form) { return fits<Form>(system, settings); }))
      return form;
  throw Error("no pair form is called '" + system.pair_form + "' and has " +
              std::to_string(system.pair_tables.size()) + " tables of parameters" +
              (switches ? " and a switching function" : ""));
}

// Throws Error for parameters that the form refuses.
static void check_tables(const System& system, const NonbondedSettings& settings) {
  PairForms::with(form_of(system, settings), [&]<class Form>(Form) {
    for (int s = 0; s < system.lj_type_count; ++s)
      for (int t = s; t < system.lj_type_count; ++t)
        if (const char* problem = Form::problem(given_tables<Form>(system, s, t)))
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
  throw Error("the pair form '" + system.pair_form + "' cannot represent this system");
}

PairParameters pair_parameters(const System& system, const NonbondedSettings& settings, int form) {
  const double cutoff = settings.cutoff, alpha = settings.pme ? settings.alpha : 0.0;
  PairParameters p{};
  p.cutoff2 = static_cast<float>(cutoff * cutoff);
  p.t_scale = static_cast<float>(2 / (cutoff * cutoff));
  if (settings.potential_shift) {
    p.shift_6 = static_cast<float>(std::pow(cutoff, -6));
    p.coulomb_shift = static_cast<float>(std::erfc(alpha * cutoff) / cutoff);
  }
  p.form = form;
  p.types = system.lj_type_count;
  p.ewald = fit_ewald(alpha, cutoff);
  p.switching = switch_constants<float>(settings);
  return p;
}

// The mean counts each pair of atoms once and each atom with itself, as OpenMM does, so that energies
// can be compared. The virial is more than the derivative of this energy by the volume, which leaves
// out that pairs jump in energy as they cross the cutoff (Allen and Tildesley, Computer Simulation of
// Liquids, section 2.8): the integral of -r^3 dE/dr is that of 3 E r^2, plus r^3 E at the cutoff.
Constant dispersion_constant(const System& system, const NonbondedSettings& settings,
                             double volume) {
  const auto types = static_cast<size_t>(system.lj_type_count);
  if (!settings.dispersion_correction || system.lj_types.empty()) return {};
  std::vector<double> count(types, 0.0);
  for (const int32_t type : system.lj_types) count[static_cast<size_t>(type)] += 1;
  const double cutoff = settings.cutoff;
  double tail = 0, at_cutoff = 0;
  PairForms::with(form_of(system, settings), [&]<class Form>(Form) {
    for (size_t i = 0; i < types; ++i)
      for (size_t j = 0; j <= i; ++j) {
        const double pairs = i == j ? 0.5 * count[i] * (count[i] + 1) : count[i] * count[j];
        const auto given = given_tables<Form>(system, static_cast<int>(i), static_cast<int>(j));
        const auto [integral, jump] = missing<Form>(given, settings);
        tail += pairs * integral;
        at_cutoff += pairs * jump;
      }
  });
  const auto atoms = static_cast<double>(system.lj_types.size());
  const double factor = 2 * kPi * atoms * atoms / volume / (0.5 * atoms * (atoms + 1));
  return {factor * tail, factor * (tail + cutoff * cutoff * cutoff * at_cutoff / 3)};
}

}  // namespace quiltmd
