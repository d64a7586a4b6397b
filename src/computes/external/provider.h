// SPDX-License-Identifier: Apache-2.0
// A force from outside: a function of the positions of some atoms, of which the core knows nothing. What it is
// given does not depend on ranks: one call for all of its atoms, in an order of its own, by rank 0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "math/box.h"
#include "math/symmetric.h"
#include "math/vec3.h"

namespace quiltmd {

struct ExternalInput {
  int64_t step;
  std::optional<Box> box;        // none without a periodic boundary
  std::vector<Vec3d> positions;  // of its atoms, unwrapped, nm
};

struct ExternalOutput {
  std::vector<Vec3d> forces;  // on its atoms, kJ/mol/nm
  double energy;              // kJ/mol
  Symmetric virial;  // minus the derivative of the energy by a strain of positions and box, kJ/mol
};

class Provider {
 public:
  virtual ~Provider() = default;
  // A pure function: it is called for steps that are undone afterwards, and again for the same step.
  virtual ExternalOutput compute(const ExternalInput& input) = 0;
  // Updates the state of the force (a hill of metadynamics): in order, once for each step that is a multiple
  // of ExternalForce::update_every, when the step cannot be undone and before its forces are taken.
  virtual void update(const ExternalInput& input) = 0;
};

struct ExternalForce {
  std::string name;            // of its energy
  std::vector<int32_t> atoms;  // indices, in the order of the provider
  int update_every = 0;        // steps; 0: it remembers nothing
  std::shared_ptr<Provider> provider;
};

}  // namespace quiltmd
