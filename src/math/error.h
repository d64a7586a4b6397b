// SPDX-License-Identifier: Apache-2.0
// Errors that reach the user: one line that says what is wrong, where, and what to do.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace quiltmd {

// The input or a request is at fault.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A device is of no use any more to this process, whatever is asked of it.
class LostError : public Error {
 public:
  using Error::Error;
};

// The simulation broke at a step: atoms flew apart, energies are not numbers.
class SimulationError : public Error {
 public:
  SimulationError(int64_t step, const std::string& what) : Error(what), step(step) {}
  const int64_t step;
};

}  // namespace quiltmd
