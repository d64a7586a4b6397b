// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "math/error.h"

namespace quiltmd {

// A barostat asked for too large a change of the box.
class BoxError : public SimulationError {
 public:
  using SimulationError::SimulationError;
};

}  // namespace quiltmd
