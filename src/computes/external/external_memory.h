// SPDX-License-Identifier: Apache-2.0
// The memory of forces from outside on one rank, and on rank 0 the calls of their providers.
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "computes/external/operations.h"
#include "computes/external/provider.h"
#include "decomposition/slot_memory.h"
#include "device/device.h"
#include "device/maps_host_memory.h"

namespace quiltmd {

// Of the providers of a step.
struct ExternalCall {
  int64_t step;
  Energies energies;  // kAdd: with the virial
};

class ExternalMemory {
 public:
  // Atoms by internal index. Both must outlive it.
  ExternalMemory(const SlotMemory& slots, const std::vector<ExternalForce>& forces);

  // Number of integers in messages of positions and of forces.
  int words() const { return 3 * static_cast<int>(atoms_.size()); }
  int64_t* positions() const { return positions_.data(); }
  int64_t* found() const { return found_.data(); }
  // Whether positions are to be gathered before they are asked for or used.
  bool gathers() const { return with_others_ || launched_.size() > 0; }
  GatherExternal gather() const;
  AddExternal add(bool with_energies) const;
  void clear_found();

  // The rank that calls providers, before the following. Whether other ranks have atoms, too.
  void prepare_calls(bool with_others);
  // Results of all forces at a step, on the halo stream: kernels ask, and await the answer of providers on the
  // host; those that can launch put their work between other kernels.
  void call(const ExternalCall& call);
  // Calls providers on the host, once kernels have asked. What a provider throws is kept: the step may be one
  // that is undone, and positions nonsense. Until then nothing is called, and there are no forces.
  void answer(const ExternalCall& call);
  // From here on answers are noted instead, as the kernels around them are recorded; each is to be given when
  // the recording runs. Those that were noted.
  void begin_noting() { noted_.emplace(); }
  std::vector<ExternalCall> end_noting() { return *std::exchange(noted_, {}); }
  AskProviders ask() const;
  // After ask(): has providers remember a step.
  void update(int64_t step);
  // Throws what a provider threw at a step before `end`, or what the GPU found in its results.
  void throw_failure(int64_t end);
  void forget_failure();

 private:
  // What kernels and providers hand each other, in host memory. Questions come on one of two sheets: a provider may
  // keep one of them, and is given copies where the next question would then have none.
  struct Desk {
    std::shared_ptr<void> memory;
    uint32_t* answered;
    uint32_t* is_late;  // follows it
    Turn* turn;
    uint32_t* is_nonsense;
    Sheet* sheet;  // of the next question
    int64_t* answer;
    std::array<std::shared_ptr<double>, 2> sheets;
  };
  struct Failure {
    std::exception_ptr error;  // null: none
    int64_t step = 0;
  };
  AwaitProviders await() const;
  ExternalAtoms atoms() const;
  bool launches(const ExternalForce& force) const;
  void launch(size_t force, int64_t step);
  void throw_faults(int64_t end) const;
  // False where no kernel asks, as on a device that runs none.
  bool await_question() const;
  void tell_answered(size_t count) const;
  void end_turn() const;
  // Takes a sheet that nobody has kept for the next question.
  void clear_sheet() const;
  // Whether a call took so long that kernels wait no longer, and nothing is called any more.
  bool is_late() const;
  void note_late(int64_t step);
  enum class Keep { kCopies, kSheet };
  std::vector<ExternalInput> inputs(int64_t step, Keep keep) const;
  void compute(const ExternalCall& call);  // into the answer
  void clear_answer() const;

  const SlotMemory& slots_;
  const std::vector<ExternalForce>& forces_;
  MapsHostMemory* const beside_host_;  // the device; null where launches run at once
  Buffer<int32_t> atoms_;
  Buffer<int64_t> positions_, found_;
  Buffer<uint32_t> ended_blocks_, seen_;
  Buffer<Sheet> sheet_;
  bool with_others_ = true;
  Desk desk_{};
  // Of forces that launch: (atoms, 3) and an energy, of one after the other; and what is wrong, of each force.
  Buffer<double> launched_;
  Buffer<uint64_t> faults_;
  std::optional<std::vector<ExternalCall>> noted_;
  const Provider* slowest_ = nullptr;  // of the last step
  Failure failure_;
};

}  // namespace quiltmd
