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
// Numbers below 1.2e-38 count as zero: an instruction for each of these functions, where others take five.
QMD_HD float inverse(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
QMD_HD float inverse_root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
QMD_HD float exponential2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
QMD_HD float exponential(float x) { return exponential2(x * 1.44269504f); }
QMD_HD float logarithm2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
QMD_HD float logarithm(float x) { return logarithm2(x) * 0.693147181f; }
QMD_HD float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
#else
QMD_HD float inverse(float x) { return 1 / x; }
QMD_HD float inverse_root(float x) { return 1 / std::sqrt(x); }
QMD_HD float exponential(float x) { return std::exp(x); }
QMD_HD float exponential2(float x) { return std::exp2(x); }
QMD_HD float logarithm(float x) { return std::log(x); }
QMD_HD float logarithm2(float x) { return std::log2(x); }
QMD_HD float multiply_add(float a, float b, float c) { return a * b + c; }
#endif

}  // namespace quiltmd
