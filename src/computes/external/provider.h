// SPDX-License-Identifier: Apache-2.0
// A force from outside: a function of the positions of some atoms, of which the core knows nothing. What it is
// given does not depend on ranks: one call for all of its atoms, in an order of its own, by rank 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "math/box.h"
#include "math/error.h"
#include "math/vec3.h"

namespace quiltmd {

struct ExternalInput {
  int64_t step;
  std::optional<Box> box;            // none without a periodic boundary
  std::span<const Vec3d> positions;  // of its atoms, unwrapped, nm
  // Of the memory of the positions, which may be kept by it and changed. Null: they are for this call, and constant.
  std::shared_ptr<const void> owner;
};

// Receives results in fixed point (math/fixed.h).
struct ExternalOutput {
  int64_t* forces;  // three components for each atom
  // May be told how many components are there: they are taken meanwhile, and must then stay unless the call fails.
  std::function<void(size_t)> tell;
  int64_t* energy;
  // Symmetric::kParts sums, to which its own are added: minus the derivative of the energy by a strain of positions
  // and box. Null where the virial is not needed.
  int64_t* virial;
};

// Arrays in the memory of a GPU, and the stream (cudaStream_t) on which work on them is put.
struct ExternalLaunch {
  int64_t step;
  int atoms;
  double* positions;  // (atoms, 3), unwrapped, nm
  double* forces;     // receives (atoms, 3), kJ/mol/nm
  double* energy;     // receives one, kJ/mol
  int ordinal;        // of the GPU
  void* stream;
};

class Provider {
 public:
  virtual ~Provider() = default;
  // A pure function: it is called for steps that are undone afterwards, and again for the same step.
  virtual void compute(const ExternalInput& input, const ExternalOutput& out) = 0;
  // Updates the state of the force (a hill of metadynamics): in order, once for each step that is a multiple
  // of ExternalForce::update_every, when the step cannot be undone and before its forces are taken.
  virtual void update(const ExternalInput& input) = 0;
  // Whether it can work in the memory of a GPU, and how: launch() puts what compute() does on the stream, its
  // energy depends on positions alone, and it is a pure function, too. What the GPU finds to be wrong with the
  // results of a step, fail() throws.
  virtual bool can_launch() const { return false; }
  virtual void launch(const ExternalLaunch&) {}
  virtual void fail(int64_t /*step*/, const std::string& what) const { throw Error(what); }
};

struct ExternalForce {
  std::string name;            // of its energy
  std::vector<int32_t> atoms;  // indices, in the order of the provider
  int update_every = 0;        // steps; 0: it remembers nothing
  bool uses_gpu = false;       // so no kernel may wait for it
  std::shared_ptr<Provider> provider;
};

}  // namespace quiltmd
