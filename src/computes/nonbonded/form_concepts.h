// SPDX-License-Identifier: Apache-2.0
// What pair forms have (forms/basics.h): where one lacks some of it, the error at its place in
// forms/list.h says what.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <vector>

#include "computes/nonbonded/pair_parameters.h"
#include "math/list.h"

namespace quiltmd {

// A form that takes as many tables as a system has, and finds out itself whether they will do.
template <class Form>
constexpr bool takes_any_tables = std::same_as<typename Form::Given, std::vector<double>>;

// An interaction by its name, tables and formula.
template <class Form>
concept PairFormula = (takes_any_tables<Form> ||
                       std::same_as<typename Form::Given, std::array<double, Form::kTables>>) &&
                      requires(const typename Form::Given& given, const NonbondedSettings& settings,
                               Switching kind, double distance) {
                        { Form::kName } -> std::convertible_to<const char*>;
                        { Form::ends_as(kind) } -> std::same_as<bool>;
                        { Form::problem(given, settings) } -> std::same_as<const char*>;
                        { Form::energy(given, distance) } -> std::same_as<double>;
                        { Form::tail(given, distance) } -> std::same_as<double>;
                      };

// One whose numbers kernels look up by the types of two atoms, for ByTable.
template <class Form>
concept TypedForm = PairFormula<Form> && (Form::kNumbers == 2 || Form::kNumbers == 4) &&
                    requires(const typename Form::Given& given, const NonbondedSettings& settings) {
                      {
                        Form::numbers(given, settings)
                      } -> std::same_as<std::array<double, Form::kNumbers>>;
                    };

// One with knots between which its formula interpolates, behind the numbers; the place of a pair's
// first knot becomes the last of its numbers.
template <class Form>
concept FormWithKnots =
    TypedForm<Form> && Form::kNumbers == 4 &&
    requires(const typename Form::Given& given, const NonbondedSettings& settings) {
      { Form::knots(given, settings) } -> std::same_as<std::vector<std::array<double, 4>>>;
    };

// One of which a mesh has a part, in proportion to a product of coefficients of two types: of the numbers that
// are looked up the one at kProduct.
template <class Form>
concept FormOnMesh = requires {
  { Form::kProduct } -> std::convertible_to<int>;
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
