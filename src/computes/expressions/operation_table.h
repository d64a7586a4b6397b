// SPDX-License-Identifier: Apache-2.0
// The operations of expressions on hosts, each a loop over the terms of a block: their names, numbers of
// arguments and what they do. Python's compiler knows them by name.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "math/box.h"

namespace quiltmd {

inline constexpr int kLanes = 64;  // terms of a block

// Arguments of an operation by term; `box` is null where there are no images.
struct Lanes {
  double* to;
  const double *a, *b, *c;
  const Box* box;
  const double* tables;
  int table_size;
};
using LaneLoop = void (*)(const Lanes&);

template <auto function>
void one_argument(const Lanes& x) {
  for (int k = 0; k < kLanes; ++k) x.to[k] = function(x.a[k]);
}
template <auto function>
void two_arguments(const Lanes& x) {
  for (int k = 0; k < kLanes; ++k) x.to[k] = function(x.a[k], x.b[k]);
}
template <auto function>
void three_arguments(const Lanes& x) {
  for (int k = 0; k < kLanes; ++k) x.to[k] = function(x.a[k], x.b[k], x.c[k]);
}
// The number at a place of the tables; no number where there is none.
inline void lookup(const Lanes& x) {
  for (int k = 0; k < kLanes; ++k) {
    const bool is_there = x.a[k] >= 0 && x.a[k] < x.table_size;
    x.to[k] = is_there ? x.tables[static_cast<int>(x.a[k])] : std::nan("");
  }
}
// A component of the nearest image of a vector.
template <int axis>
void nearest_component(const Lanes& x) {
  for (int k = 0; k < kLanes; ++k) {
    const Vec3d way{x.a[k], x.b[k], x.c[k]};
    x.to[k] = (x.box ? x.box->nearest_image(way) : way)[axis];
  }
}

struct ExpressionOperation {
  const char* name;
  int arguments;
  LaneLoop loop;
};

inline constexpr ExpressionOperation kExpressionOperations[] = {
    {"+", 2, two_arguments<[](double a, double b) { return a + b; }>},
    {"-", 2, two_arguments<[](double a, double b) { return a - b; }>},
    {"*", 2, two_arguments<[](double a, double b) { return a * b; }>},
    {"/", 2, two_arguments<[](double a, double b) { return a / b; }>},
    {"^", 2, two_arguments<[](double a, double b) { return std::pow(a, b); }>},
    {"atan2", 2, two_arguments<[](double a, double b) { return std::atan2(a, b); }>},
    {"min", 2, two_arguments<[](double a, double b) { return b < a ? b : a; }>},
    {"max", 2, two_arguments<[](double a, double b) { return a < b ? b : a; }>},
    // a / b, and 0 where b is 0: the direction of a vector of length b
    {"direction", 2, two_arguments<[](double a, double b) { return b == 0 ? 0 : a / b; }>},
    {"negate", 1, one_argument<[](double a) { return -a; }>},
    {"sqrt", 1, one_argument<[](double a) { return std::sqrt(a); }>},
    {"exp", 1, one_argument<[](double a) { return std::exp(a); }>},
    {"log", 1, one_argument<[](double a) { return std::log(a); }>},
    {"sin", 1, one_argument<[](double a) { return std::sin(a); }>},
    {"cos", 1, one_argument<[](double a) { return std::cos(a); }>},
    {"tan", 1, one_argument<[](double a) { return std::tan(a); }>},
    {"asin", 1, one_argument<[](double a) { return std::asin(a); }>},
    {"acos", 1, one_argument<[](double a) { return std::acos(a); }>},
    {"atan", 1, one_argument<[](double a) { return std::atan(a); }>},
    {"sinh", 1, one_argument<[](double a) { return std::sinh(a); }>},
    {"cosh", 1, one_argument<[](double a) { return std::cosh(a); }>},
    {"tanh", 1, one_argument<[](double a) { return std::tanh(a); }>},
    {"erf", 1, one_argument<[](double a) { return std::erf(a); }>},
    {"erfc", 1, one_argument<[](double a) { return std::erfc(a); }>},
    {"abs", 1, one_argument<[](double a) { return std::fabs(a); }>},
    {"floor", 1, one_argument<[](double a) { return std::floor(a); }>},
    {"ceil", 1, one_argument<[](double a) { return std::ceil(a); }>},
    {"step", 1, one_argument<[](double a) { return (a >= 0) ? 1.0 : 0.0; }>},
    {"delta", 1, one_argument<[](double a) { return a == 0 ? 1.0 : 0.0; }>},
    {"select", 3, three_arguments<[](double a, double b, double c) { return a != 0 ? b : c; }>},
    {"lookup", 1, lookup},
    {"image_x", 3, nearest_component<0>},
    {"image_y", 3, nearest_component<1>},
    {"image_z", 3, nearest_component<2>}};

}  // namespace quiltmd
