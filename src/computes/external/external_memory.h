// SPDX-License-Identifier: Apache-2.0
// The memory of forces from outside on one rank, and on rank 0 the calls of their providers.
#pragma once

#include <exception>
#include <vector>

#include "computes/external/operations.h"
#include "computes/external/provider.h"
#include "decomposition/slot_memory.h"
#include "device/device.h"

namespace quiltmd {

class ExternalMemory {
 public:
  // Atoms by internal index. Both must outlive it.
  ExternalMemory(const SlotMemory& slots, const std::vector<ExternalForce>& forces);

  // Number of integers in messages of positions and of forces.
  int words() const { return 3 * static_cast<int>(atoms_.size()); }
  int64_t* positions() const { return positions_.data(); }
  int64_t* found() const { return found_.data(); }
  GatherExternal gather() const;
  AddExternal add(bool with_energies) const;
  void clear_found();

  // On rank 0, where all positions are there. What a provider throws is kept: the step may be one that is
  // undone, and positions nonsense. Until then nothing is called, and there are no forces.
  void compute(int64_t step);
  void update(int64_t step);
  void throw_failure();
  void forget_failure() { failure_ = nullptr; }

 private:
  std::vector<ExternalInput> inputs(int64_t step) const;
  std::vector<int64_t> results(int64_t step);

  const SlotMemory& slots_;
  const std::vector<ExternalForce>& forces_;
  Buffer<int32_t> atoms_;
  Buffer<int64_t> positions_, found_;
  std::exception_ptr failure_;
};

}  // namespace quiltmd
