// SPDX-License-Identifier: Apache-2.0
// The operations of expressions: their names, numbers of arguments and what they do, on hosts as a loop over the
// terms of a block, for GPUs as text of C++ (program_source.h). Python's compiler knows them by name.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "computes/expressions/operation_parts.h"

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
inline void lookup(const Lanes& x) {
  for (int k = 0; k < kLanes; ++k) x.to[k] = look_up(x.a[k], x.tables, x.table_size);
}
template <int axis>
void nearest_component(const Lanes& x) {
  for (int k = 0; k < kLanes; ++k) x.to[k] = nearest(x.a[k], x.b[k], x.c[k], x.box)[axis];
}

struct ExpressionOperation {
  const char* name;
  int arguments;
  LaneLoop loop;
  const char* text;
};

// The loop of an operation, and its text.
#define QMD_OF_ONE(...) one_argument<[](double a) { return __VA_ARGS__; }>, #__VA_ARGS__
#define QMD_OF_TWO(...) two_arguments<[](double a, double b) { return __VA_ARGS__; }>, #__VA_ARGS__
#define QMD_OF_THREE(...) \
  three_arguments<[](double a, double b, double c) { return __VA_ARGS__; }>, #__VA_ARGS__

inline constexpr ExpressionOperation kExpressionOperations[] = {
    {"+", 2, QMD_OF_TWO(a + b)},
    {"-", 2, QMD_OF_TWO(a - b)},
    {"*", 2, QMD_OF_TWO(a * b)},
    {"/", 2, QMD_OF_TWO(divide(a, b))},
    {"^", 2, QMD_OF_TWO(std::pow(a, b))},
    {"atan2", 2, QMD_OF_TWO(std::atan2(a, b))},
    {"min", 2, QMD_OF_TWO(b < a ? b : a)},
    {"max", 2, QMD_OF_TWO(a < b ? b : a)},
    // a / b, and 0 where b is 0: the direction of a vector of length b
    {"direction", 2, QMD_OF_TWO(b == 0 ? 0 : a / b)},
    {"negate", 1, QMD_OF_ONE(-a)},
    {"sqrt", 1, QMD_OF_ONE(std::sqrt(a))},
    {"exp", 1, QMD_OF_ONE(std::exp(a))},
    {"log", 1, QMD_OF_ONE(std::log(a))},
    {"sin", 1, QMD_OF_ONE(std::sin(a))},
    {"cos", 1, QMD_OF_ONE(std::cos(a))},
    {"tan", 1, QMD_OF_ONE(std::tan(a))},
    {"asin", 1, QMD_OF_ONE(std::asin(a))},
    {"acos", 1, QMD_OF_ONE(std::acos(a))},
    {"atan", 1, QMD_OF_ONE(std::atan(a))},
    {"sinh", 1, QMD_OF_ONE(std::sinh(a))},
    {"cosh", 1, QMD_OF_ONE(std::cosh(a))},
    {"tanh", 1, QMD_OF_ONE(std::tanh(a))},
    {"erf", 1, QMD_OF_ONE(std::erf(a))},
    {"erfc", 1, QMD_OF_ONE(std::erfc(a))},
    {"abs", 1, QMD_OF_ONE(std::fabs(a))},
    {"floor", 1, QMD_OF_ONE(std::floor(a))},
    {"ceil", 1, QMD_OF_ONE(std::ceil(a))},
    {"step", 1, QMD_OF_ONE((a >= 0) ? 1.0 : 0.0)},
    {"delta", 1, QMD_OF_ONE(a == 0 ? 1.0 : 0.0)},
    {"select", 3, QMD_OF_THREE(a != 0 ? b : c)},
    {"lookup", 1, lookup, "look_up(a, tables, table_size)"},
    {"image_x", 3, nearest_component<0>, "nearest(a, b, c, box).x"},
    {"image_y", 3, nearest_component<1>, "nearest(a, b, c, box).y"},
    {"image_z", 3, nearest_component<2>, "nearest(a, b, c, box).z"}};

#undef QMD_OF_ONE
#undef QMD_OF_TWO
#undef QMD_OF_THREE

}  // namespace quiltmd
