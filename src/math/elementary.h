// SPDX-License-Identifier: Apache-2.0
// Functions of one number that a GPU has an instruction for in single precision: some units in the last
// place off there, exact to rounding elsewhere.
#pragma once

#include <cmath>

#include "math/macros.h"

namespace quiltmd {

QMD_HD double inverse(double x) { return 1 / x; }
QMD_HD double inverse_root(double x) { return 1 / std::sqrt(x); }
QMD_HD double exponential(double x) { return std::exp(x); }
QMD_HD double logarithm(double x) { return std::log(x); }
QMD_HD double multiply_add(double a, double b, double c) { return a * b + c; }

#ifdef __CUDA_ARCH__
QMD_HD float inverse(float x) { return __fdividef(1.0f, x); }
QMD_HD float inverse_root(float x) { return rsqrtf(x); }
QMD_HD float exponential(float x) { return __expf(x); }
QMD_HD float logarithm(float x) { return __logf(x); }
QMD_HD float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
#else
QMD_HD float inverse(float x) { return 1 / x; }
QMD_HD float inverse_root(float x) { return 1 / std::sqrt(x); }
QMD_HD float exponential(float x) { return std::exp(x); }
QMD_HD float logarithm(float x) { return std::log(x); }
QMD_HD float multiply_add(float a, float b, float c) { return a * b + c; }
#endif

}  // namespace quiltmd
