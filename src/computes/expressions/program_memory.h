// SPDX-License-Identifier: Apache-2.0
// A program of an expression in the memory of a device.
#pragma once

#include "computes/expressions/program_lanes.h"
#include "device/buffer_maker.h"

namespace quiltmd {

class ProgramMemory {
 public:
  ProgramMemory(BufferMaker& make, const ExpressionProgram& program)
      : steps_(make.filled(program.steps)),
        outputs_(make.filled(program.outputs)),
        registers_(program.registers) {}

  ProgramView view() const {
    ProgramView view;
    view.steps = steps_.data();
    view.outputs = outputs_.data();
    view.step_count = static_cast<int>(steps_.size());
    view.output_count = static_cast<int>(outputs_.size());
    view.registers = registers_;
    return view;
  }

 private:
  Buffer<ExpressionStep> steps_;
  Buffer<int32_t> outputs_;
  int registers_;
};

}  // namespace quiltmd
