// SPDX-License-Identifier: Apache-2.0
// The whole test framework of the C++ unit tests: a program is a list of functions that CHECK; it
// prints what failed and returns 1 if anything did. test_core.py runs the programs under pytest.
#pragma once

#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace quiltmd::test {

inline int failures = 0;

inline void check(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  ++failures;
  std::printf("%s:%d: failed: %s\n", file, line, what);
}

inline void check_near(double value, double expected, double tolerance, const char* what,
                       const char* file, int line) {
  if (std::fabs(value - expected) <= tolerance) return;
  ++failures;
  std::printf("%s:%d: %s is %.12g, expected %.12g within %g\n", file, line, what, value, expected,
              tolerance);
}

// The message of the error that this ends with; empty where it ends with none.
inline std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

struct Case {
  const char* name;
  std::function<void()> body;
};

inline int run_all(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const int before = failures;
    c.body();
    std::printf("%s %s\n", failures == before ? "ok    " : "FAILED", c.name);
    std::fflush(stdout);  // a program that is ended before its time has said how far it came
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace quiltmd::test

#define CHECK(condition) quiltmd::test::check((condition), #condition, __FILE__, __LINE__)
#define CHECK_NEAR(value, expected, tolerance) \
  quiltmd::test::check_near((value), (expected), (tolerance), #value, __FILE__, __LINE__)
