// SPDX-License-Identifier: Apache-2.0
// What pair forms have (forms/basics.h): where one lacks some of it, the error at its place in
// forms/list.h says what.
#pragma once

#include <array>
#include <concepts>
#include <optional>

#include "computes/nonbonded/pair_parameters.h"
#include "math/list.h"

namespace quiltmd {

// An interaction by its name, tables and formula.
template <class Form>
concept PairFormula = std::same_as<typename Form::Given, std::array<double, Form::kTables>> &&
                      requires(const typename Form::Given& given, Switching kind, double distance) {
                        { Form::kName } -> std::convertible_to<const char*>;
                        { Form::ends_as(kind) } -> std::same_as<bool>;
                        { Form::problem(given) } -> std::same_as<const char*>;
                        { Form::energy(given, distance) } -> std::same_as<double>;
                        { Form::tail(given, distance) } -> std::same_as<double>;
                      };

// One whose numbers kernels look up by the types of two atoms, for ByTable.
template <class Form>
concept TabulatedForm =
    PairFormula<Form> && (Form::kNumbers == 2 || Form::kNumbers == 4) &&
    requires(const typename Form::Given& given, const NonbondedSettings& settings) {
      { Form::numbers(given, settings) } -> std::same_as<std::array<double, Form::kNumbers>>;
    };

// One that kernels can use.
template <class Form>
concept PairForm = PairFormula<Form> &&
                   requires(const System& system, const NonbondedSettings& settings, Float2 own) {
                     { Form::interacts(own) } -> std::same_as<bool>;
                     { Form::pack(system, settings) } -> std::same_as<std::optional<PackedPairs>>;
                   };
template <PairForm... Forms>
using PairFormList = List<Forms...>;

}  // namespace quiltmd
