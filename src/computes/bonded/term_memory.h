// SPDX-License-Identifier: Apache-2.0
// What bonded terms keep on a rank's device: tables of all terms, and which of them are placed here.
//
// Every rank has the tables of the whole system, some 60 bytes a term: so terms need not travel when
// atoms migrate or computes are shared out anew.
#pragma once

#include <array>
#include <vector>

#include "computes/bonded/operations.h"
#include "device/device.h"
#include "system/system.h"

namespace quiltmd {

class TermMemory {
 public:
  // Throws Error for parameters that make no sense; see term_arrays.
  TermMemory(const System& system, Device& device);

  const TermTables& tables() const { return tables_; }
  int64_t count_placed() const;  // waits for the device
  size_t bytes() const;

 private:
  struct Arrays {
    Buffer<int32_t> atoms, first_term;
    Buffer<double> parameters, shared;
    Buffer<uint32_t> placed;
  };
  std::array<Arrays, kTermForms> arrays_;
  Buffer<int32_t> placed_count_;
  TermTables tables_{};
};

}  // namespace quiltmd
