// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC11, 2011). A draw is a pure
// function of (seed, step, atom, stream), so it does not matter which rank or thread asks.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "math/vec3.h"

namespace quiltmd {

struct PhiloxBlock {
  uint32_t v[4];
};

QMD_HD PhiloxBlock philox(uint64_t seed, uint64_t counter_low, uint64_t counter_high) {
  uint32_t c0 = static_cast<uint32_t>(counter_low), c1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t c2 = static_cast<uint32_t>(counter_high), c3 = static_cast<uint32_t>(counter_high >> 32);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * c0;
    const uint64_t p1 = static_cast<uint64_t>(0xCD9E8D57u) * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Purpose of a draw; part of the counter, so that different purposes never share numbers.
enum class RandomStream : uint32_t {
  kThermostat = 0,
  kVelocities = 1,
  kRescaling = 2,
  kCell = 3,
  kCollisions = 4,
};

// The functions below take neither divisions nor branches: a GPU would go through those one lane's
// path after the other, where it can work on several such chains at a time.

// -2 ln u for u = (k + 0.5) / 2^31, k < 2^31, to single precision: the exponent and the mantissa m
// in [sqrt(1/2), sqrt(2)) are taken apart, and ln m = t - t^2/2 + t^3 p(t) for t = m - 1 with p fitted
// (to 4e-8, relative).
QMD_HD float minus_two_log(uint32_t k) {
  const int32_t sqrt_half = 0x3f3504f3;
  const auto bits = std::bit_cast<int32_t>(static_cast<float>(static_cast<int32_t>(k)) + 0.5f);
  const int32_t exponent = (bits - sqrt_half) >> 23;
  const float t = std::bit_cast<float>(bits - exponent * (1 << 23)) - 1.0f;
  float p = 0.0891785920f;
  p = p * t - 0.143501952f;
  p = p * t + 0.148769617f;
  p = p * t - 0.165656358f;
  p = p * t + 0.199653983f;
  p = p * t - 0.250017464f;
  p = p * t + 0.333338588f;
  const float log_m = t + t * t * (t * p - 0.5f);
  return -2.0f * (static_cast<float>(exponent - 31) * 0.693147181f + log_m);
}

// The square root of 0 or of a normal number, to single precision: Newton's method for its inverse,
// from a guess that halves the exponent; without sign, since -0 would overflow.
QMD_HD float square_root(float x) {
  const float half = 0.5f * x;
  const auto halved = static_cast<uint32_t>(std::bit_cast<int32_t>(x) >> 1);
  auto inverse = std::bit_cast<float>(0x5f3759dfu - halved);
  for (int step = 0; step < 3; ++step) inverse = inverse * (1.5f - half * inverse * inverse);
  return x * inverse;
}

// Cosine and sine of 2 pi (k + 0.5) / 2^32, to single precision: the quarter turn is read off the
// highest bits, the rest is a Taylor series within an eighth of a turn.
QMD_HD Float2 unit_circle(uint32_t k) {
  const uint32_t quarter = (k + 0x20000000u) >> 30;
  const int32_t rest = static_cast<int32_t>(k - (quarter << 30));
  const float a = (static_cast<float>(rest) + 0.5f) * 1.46291808e-9f;  // 2 pi / 2^32
  const float z = a * a;
  const float s =
      a * (1.0f + z * (-1 / 6.0f + z * (1 / 120.0f + z * (-1 / 5040.0f + z * (1 / 362880.0f)))));
  const float c = 1.0f + z * (-0.5f + z * (1 / 24.0f + z * (-1 / 720.0f + z * (1 / 40320.0f))));
  const bool odd = quarter & 1, flip_c = ((quarter + 1) & 2) != 0, flip_s = (quarter & 2) != 0;
  const float x = odd ? s : c, y = odd ? c : s;
  return {flip_c ? -x : x, flip_s ? -y : y};
}

// Uniform in (0, 1): the number of this index of a step.
QMD_HD double uniform(uint64_t seed, uint64_t step, uint32_t index, RandomStream stream) {
  const PhiloxBlock block = philox(seed, step, static_cast<uint64_t>(stream) << 32 | index);
  return (block.v[0] + 0.5) / 4294967296.0;
}

// Three independent standard normal numbers for one atom and step (Box and Muller, Ann. Math.
// Statist. 29, 610 (1958)). Single precision suffices for noise (the largest is 6.7), and own
// series make the numbers the same on every kind of device.
QMD_HD Vec3f gaussian3f(uint64_t seed, uint64_t step, uint32_t atom, RandomStream stream) {
  const uint64_t high = (static_cast<uint64_t>(stream) << 32) | atom;
  const PhiloxBlock b = philox(seed, step, high);
  const float r0 = square_root(minus_two_log(b.v[0] >> 1));
  const float r1 = square_root(minus_two_log(b.v[2] >> 1));
  const Float2 p0 = unit_circle(b.v[1]), p1 = unit_circle(b.v[3]);
  return {r0 * p0.x, r0 * p0.y, r1 * p1.x};
}

QMD_HD Vec3d gaussian3(uint64_t seed, uint64_t step, uint32_t atom, RandomStream stream) {
  const Vec3f g = gaussian3f(seed, step, atom, stream);
  return {g.x, g.y, g.z};
}

}  // namespace quiltmd
