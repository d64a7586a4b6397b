// SPDX-License-Identifier: Apache-2.0
// One pass over all forces, compiled once per instruction set: it is as fast as copying them. Additions are in
// another order on each, which decides nothing but whether a sum is about zero.
#include "computes/external/plain_forces.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "computes/external/plain_forces.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "math/bits.h"
#include "math/fixed.h"

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The sum with it has the rounded integer in its low bits.
constexpr double kMiddle = 1.5 * kFixedLimit;
static_assert(kLargestForce * kForceScale < kFixedLimit / 2);

void take_one(double force, int component, int64_t* fixed, ForceSums& sums) {
  sums.net[component] += force;
  sums.magnitude += std::abs(force);
  sums.largest = std::max(sums.largest, std::abs(force));
  *fixed = to_bits(force * kForceScale + kMiddle) - to_bits(kMiddle);
}

// Three vectors at a time, in which a lane has the same component each time.
ForceSums take_any(const double* components, size_t count, int64_t* fixed) {
  const hn::ScalableTag<double> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const size_t lanes = hn::Lanes(d);
  using V = hn::Vec<decltype(d)>;
  const V scale = hn::Set(d, kForceScale), middle = hn::Set(d, kMiddle);
  V net[3] = {hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  V magnitude[3] = {net[0], net[0], net[0]}, largest[3] = {net[0], net[0], net[0]};
  size_t k = 0;
  for (; k + 3 * lanes <= count; k += 3 * lanes)
    for (size_t n = 0; n < 3; ++n) {
      const V force = hn::LoadU(d, components + k + n * lanes), size = hn::Abs(force);
      net[n] = hn::Add(net[n], force);
      magnitude[n] = hn::Add(magnitude[n], size);
      largest[n] = hn::Max(largest[n], size);
      const auto bits = hn::BitCast(integers, hn::Add(hn::Mul(force, scale), middle));
      hn::StoreU(hn::Sub(bits, hn::Set(integers, to_bits(kMiddle))), integers,
                 fixed + k + n * lanes);
    }
  ForceSums sums;
  for (size_t n = 0; n < 3; ++n) {
    for (size_t lane = 0; lane < lanes; ++lane)
      sums.net[static_cast<int>((n * lanes + lane) % 3)] += hn::ExtractLane(net[n], lane);
    sums.magnitude += hn::ReduceSum(d, magnitude[n]);
    sums.largest = std::max(sums.largest, hn::ReduceMax(d, largest[n]));
  }
  for (; k < count; ++k) take_one(components[k], static_cast<int>(k % 3), fixed + k, sums);
  return sums;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quiltmd {

HWY_EXPORT(take_any);

ForceSums take_forces(std::span<const double> components, int64_t* fixed) {
  return HWY_DYNAMIC_DISPATCH(take_any)(components.data(), components.size(), fixed);
}

}  // namespace quiltmd
#endif
