// SPDX-License-Identifier: Apache-2.0
// The random numbers: known answers of Philox, and normal numbers that are normal.
#include <algorithm>

#include "check.h"
#include "math/philox.h"

using namespace quiltmd;

namespace {

// Known answers published with Random123.
void philox_known_answers() {
  const PhiloxBlock zero = philox(0, 0, 0);
  CHECK(zero.v[0] == 0x6627e8d5 && zero.v[1] == 0xe169c58d);
  CHECK(zero.v[2] == 0xbc57ac4c && zero.v[3] == 0x9b00dbd8);
  const PhiloxBlock ones = philox(~0ull, ~0ull, ~0ull);
  CHECK(ones.v[0] == 0x408f276d && ones.v[1] == 0x41c83b0e);
  CHECK(ones.v[2] == 0xa20bc7c6 && ones.v[3] == 0x6d5451fd);
}

void series_against_libm() {
  for (uint64_t k = 0; k < (1ull << 31); k += 99991) {
    const auto u = static_cast<uint32_t>(k);
    const double exact = -2 * std::log((static_cast<double>(k) + 0.5) / 2147483648.0);
    CHECK_NEAR(minus_two_log(u), exact, 4e-7 * exact + 1.3e-7);
    const double root = std::sqrt(static_cast<double>(minus_two_log(u)));
    CHECK_NEAR(square_root(minus_two_log(u)), root, 3e-7 * root);
    const auto turn = static_cast<uint32_t>(2 * k);
    const double angle = 2 * 3.14159265358979323846 * (turn + 0.5) / 4294967296.0;
    CHECK_NEAR(unit_circle(turn).x, std::cos(angle), 2e-7);
    CHECK_NEAR(unit_circle(turn).y, std::sin(angle), 2e-7);
  }
  CHECK(square_root(0) == 0);
  CHECK(minus_two_log(0) > 44.3f && minus_two_log(0) < 44.4f);
  CHECK(minus_two_log(0x7fffffff) >= -0.0f && minus_two_log(0x7fffffff) < 1e-6f);
}

void moments_are_normal() {
  constexpr int kDraws = 1000000;
  double sum[5] = {}, product[3] = {};
  int beyond_two = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Vec3d g = gaussian3(42, static_cast<uint64_t>(i % 1000), static_cast<uint32_t>(i / 1000),
                              RandomStream::kThermostat);
    for (int d = 0; d < 3; ++d) {
      double power = 1;
      for (double& moment : sum) {
        power *= g[d];
        moment += power;
      }
      product[d] += g[d] * g[(d + 1) % 3];
      beyond_two += std::fabs(g[d]) > 2;
    }
  }
  const double n = 3.0 * kDraws, deviation = 1 / std::sqrt(n);
  CHECK_NEAR(sum[0] / n, 0, 5 * deviation);
  CHECK_NEAR(sum[1] / n, 1, 5 * deviation * std::sqrt(2.0));
  CHECK_NEAR(sum[2] / n, 0, 5 * deviation * std::sqrt(15.0));
  CHECK_NEAR(sum[3] / n, 3, 5 * deviation * std::sqrt(96.0));
  CHECK_NEAR(beyond_two / n, 0.0455003, 5 * deviation * 0.21);
  for (const double p : product) CHECK_NEAR(p / kDraws, 0, 5 / std::sqrt(1.0 * kDraws));
}

// How many lie beyond 3, 4 and 5 standard deviations, against the normal distribution.
void tails_are_normal() {
  constexpr int kDraws = 5000000;
  constexpr double kBeyond[3] = {2.69979606e-3, 6.33424837e-5, 5.73303144e-7};
  int beyond[3] = {};
  float largest = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Vec3f g = gaussian3f(7, static_cast<uint64_t>(i / 4096), static_cast<uint32_t>(i % 4096),
                               RandomStream::kThermostat);
    for (int d = 0; d < 3; ++d) {
      const float size = std::fabs(g[d]);
      for (int k = 0; k < 3; ++k) beyond[k] += size > static_cast<float>(3 + k);
      largest = std::max(largest, size);
    }
  }
  for (int k = 0; k < 3; ++k) {
    const double expected = 3.0 * kDraws * kBeyond[k];
    CHECK_NEAR(beyond[k], expected, 5 * std::sqrt(expected));
  }
  CHECK(largest > 4.8f && largest < 6.7f);
}

void streams_differ() {
  const Vec3d a = gaussian3(1, 2, 3, RandomStream::kThermostat);
  for (const Vec3d& b : {gaussian3(2, 2, 3, RandomStream::kThermostat),
                         gaussian3(1, 3, 3, RandomStream::kThermostat),
                         gaussian3(1, 2, 4, RandomStream::kThermostat),
                         gaussian3(1, 2, 3, RandomStream::kVelocities)})
    CHECK(a.x != b.x && a.y != b.y && a.z != b.z);
}

}  // namespace

int main() {
  return test::run_all({{"philox known answers", philox_known_answers},
                        {"series against libm", series_against_libm},
                        {"moments are normal", moments_are_normal},
                        {"tails are normal", tails_are_normal},
                        {"streams differ", streams_differ}});
}
