// SPDX-License-Identifier: Apache-2.0
// A program of an expression in the memory of a device.
#pragma once

#include "computes/expressions/program_lanes.h"
#include "decomposition/energies.h"
#include "device/buffer_maker.h"

namespace quiltmd {

// The accumulator of the energy of a force; `own`: the first of those with names of their own.
inline int energy_kind(const CustomForce& force, int own) {
  return force.energy < 0 ? kCustom : own + force.energy;
}

class ProgramMemory {
 public:
  ProgramMemory(BufferMaker& make, const ExpressionProgram& program)
      : steps_(make.filled(program.steps)),
        outputs_(make.filled(program.outputs)),
        tables_(make.filled(program.tables)),
        registers_(program.registers) {}

  ProgramView view() const {
    return {steps_.data(),
            outputs_.data(),
            static_cast<int>(steps_.size()),
            static_cast<int>(outputs_.size()),
            registers_,
            tables_.data(),
            static_cast<int>(tables_.size())};
  }

 private:
  Buffer<ExpressionStep> steps_;
  Buffer<int32_t> outputs_;
  Buffer<double> tables_;
  int registers_;
};

}  // namespace quiltmd
