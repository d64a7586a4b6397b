// SPDX-License-Identifier: Apache-2.0
#include "computes/external/external_memory.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <stdexcept>
#include <utility>

#include "math/error.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

std::vector<int32_t> all_atoms(const std::vector<ExternalForce>& forces) {
  std::vector<int32_t> all;
  for (const ExternalForce& force : forces)
    all.insert(all.end(), force.atoms.begin(), force.atoms.end());
  return all;
}

const char* describe(ExternalFault fault) {
  if (fault == ExternalFault::kForceNotFinite) return "the forces are not finite";
  if (fault == ExternalFault::kForceTooLarge) return "a force is out of range";
  return "the energy is not finite, or out of range";
}

constexpr const char* kLate =
    "compute took more than 20 s while the GPU waited for it, or it waits for the GPU: set "
    "`uses_gpu = True`, with which the GPU does not wait";

}  // namespace

ExternalMemory::ExternalMemory(const SlotMemory& slots, const std::vector<ExternalForce>& forces)
    : slots_(slots),
      forces_(forces),
      beside_host_(dynamic_cast<MapsHostMemory*>(&slots.device)),
      atoms_(slots.device, all_atoms(forces)),
      positions_(slots.device, 3 * atoms_.size()),
      found_(slots.device, 3 * atoms_.size() + Symmetric::kParts + forces.size()),
      ended_blocks_(slots.device, std::vector<uint32_t>{0}),
      seen_(slots.device, std::vector<uint32_t>{0}),
      sheet_(slots.device, 1) {
  clear_found();
}

void ExternalMemory::clear_found() {
  slots_.device.fill(found_.data(), 0, found_.bytes(), Stream::kHalo);
}

ExternalAtoms ExternalMemory::atoms() const {
  return {atoms_.data(), slots_.slot_of_atom.data(), slots_.owned_slots.data(),
          static_cast<int>(atoms_.size())};
}

GatherExternal ExternalMemory::gather() const {
  return {atoms(), slots_.position().data(), positions_.data()};
}

AddExternal ExternalMemory::add(bool with_energies) const {
  return {atoms(), found_.data(), slots_.slots(), static_cast<int>(forces_.size()),
          with_energies ? slots_.energy.data() : nullptr};
}

bool ExternalMemory::launches(const ExternalForce& force) const {
  return beside_host_ && force.provider->can_launch();
}

void ExternalMemory::prepare_calls(bool with_others) {
  with_others_ = with_others;
  if (desk_.memory) return;
  size_t most = 0;
  for (const ExternalForce& force : forces_)
    if (launches(force)) most = std::max(most, 3 * force.atoms.size() + 1);
  launched_ = Buffer<double>(slots_.device, most);
  if (most > 0) faults_ = Buffer<uint64_t>(slots_.device, std::vector<uint64_t>(forces_.size(), 0));
  const auto make = [this](size_t words) -> std::shared_ptr<void> {
    if (beside_host_) return beside_host_->make_host_memory(words * sizeof(int64_t));
    return std::make_shared<int64_t[]>(words);
  };
  for (std::shared_ptr<double>& sheet : desk_.sheets)
    sheet = std::static_pointer_cast<double>(
        make(static_cast<size_t>(words()) + AskProviders::kBoxNumbers));
  constexpr size_t kFirstWords = 8;  // a cache line of their own
  desk_.memory = make(kFirstWords + found_.size());
  auto* const first = static_cast<int64_t*>(desk_.memory.get());
  auto* const flags = static_cast<uint32_t*>(desk_.memory.get());
  desk_.answered = flags;
  desk_.is_late = flags + 1;
  desk_.is_nonsense = flags + 2;
  desk_.turn = reinterpret_cast<Turn*>(flags + 3);
  desk_.sheet = reinterpret_cast<Sheet*>(first + 2);
  desk_.sheet->words = desk_.sheets[0].get();
  sheet_.upload({*desk_.sheet});
  desk_.answer = first + kFirstWords;
}

AskProviders ExternalMemory::ask() const {
  const bool has_box = !slots_.patch_grid.is_open();
  const Conditions* const conditions = has_box ? slots_.conditions.data() : nullptr;
  return {atoms(),
          slots_.position().data(),
          gathers() ? positions_.data() : nullptr,
          conditions,
          sheet_.data(),
          desk_.is_nonsense,
          desk_.answered,
          desk_.turn,
          seen_.data(),
          ended_blocks_.data()};
}

AwaitProviders ExternalMemory::await() const {
  return {
      desk_.answered, desk_.answer, seen_.data(), found_.data(), static_cast<int>(found_.size()),
      desk_.sheet,    sheet_.data()};
}

void ExternalMemory::call(const ExternalCall& call) {
  Device& device = slots_.device;
  const auto is_launched = [this](const ExternalForce& force) { return launches(force); };
  if (std::all_of(forces_.begin(), forces_.end(), is_launched)) {
    clear_found();
  } else {
    device.launch(ask(), Stream::kHalo);
    noted_ ? noted_->push_back(call) : answer(call);
    device.launch(await(), Stream::kHalo);
  }
  try {
    for (size_t p = 0; p < forces_.size(); ++p)
      if (launches(forces_[p]) && !failure_.error) launch(p, call.step);
  } catch (...) {
    failure_ = {std::current_exception(), call.step};
  }
}

void ExternalMemory::launch(size_t force, int64_t step) {
  Device& device = slots_.device;
  ptrdiff_t before = 0;  // integers of the forces before it
  for (size_t p = 0; p < force; ++p) before += 3 * static_cast<ptrdiff_t>(forces_[p].atoms.size());
  const int count = static_cast<int>(forces_[force].atoms.size());
  double* const forces = launched_.data();
  double* const energy = forces + 3 * static_cast<ptrdiff_t>(count);
  // Its words are the bits of positions.
  auto* const positions = reinterpret_cast<double*>(positions_.data() + before);
  device.enqueue("external.launch", Stream::kHalo, [&](void* stream) {
    forces_[force].provider->launch(
        {step, count, positions, forces, energy, beside_host_->ordinal(), stream});
  });
  int64_t* const virial = found_.data() + words();
  device.launch(TakeLaunched{positions, forces, energy, count, step, found_.data() + before, virial,
                             virial + Symmetric::kParts + force, faults_.data() + force},
                Stream::kHalo);
}

bool ExternalMemory::await_question() const {
  constexpr int64_t kLooks = 100'000;  // some milliseconds
  const std::atomic_ref<Turn> turn(*desk_.turn);
  const auto is_asked = [&turn] {
    return turn.load(std::memory_order_acquire) == Turn::kProviders;
  };
  if (!beside_host_) return is_asked();
  for (int64_t looks = 1; !is_asked(); ++looks)
    if (looks % kLooks == 0 && beside_host_->is_idle() && !is_asked())
      throw std::logic_error("no kernel has asked external forces, and none will");
  return true;
}

void ExternalMemory::tell_answered(size_t count) const {
  std::atomic_ref<uint32_t>(*desk_.answered).store(static_cast<uint32_t>(count));
}

void ExternalMemory::end_turn() const {
  *desk_.is_nonsense = 0;
  tell_answered(found_.size());
  std::atomic_ref<Turn>(*desk_.turn).store(Turn::kKernels);
}

void ExternalMemory::clear_sheet() const {
  for (const std::shared_ptr<double>& sheet : desk_.sheets)
    if (sheet.use_count() == 1) desk_.sheet->words = sheet.get();
  std::atomic_thread_fence(std::memory_order_acquire);  // after those who let go of it have read it
}

bool ExternalMemory::is_late() const {
  return desk_.memory && std::atomic_ref<uint32_t>(*desk_.is_late).load() != 0;
}

std::vector<ExternalInput> ExternalMemory::inputs(int64_t step, Keep keep) const {
  const double* next = desk_.sheet->words;
  const auto& [one, other] = desk_.sheets;
  std::shared_ptr<const void> owner;
  if (keep == Keep::kSheet && one.use_count() + other.use_count() == 2)
    owner = next == one.get() ? one : other;
  std::vector<ExternalInput> inputs;
  for (const ExternalForce& force : forces_) {
    inputs.push_back({step, {}, {reinterpret_cast<const Vec3d*>(next), force.atoms.size()}, owner});
    next += 3 * force.atoms.size();
  }
  if (slots_.patch_grid.is_open()) return inputs;
  const Box box{next[0], next[1], next[2], next[3], next[4], next[5]};
  for (ExternalInput& input : inputs) input.box = box;
  return inputs;
}

void ExternalMemory::clear_answer() const { std::fill_n(desk_.answer, found_.size(), 0); }

void ExternalMemory::compute(const ExternalCall& call) {
  int64_t* force_to = desk_.answer;
  int64_t* const virial = force_to + words();
  int64_t* const energy = virial + Symmetric::kParts;
  std::fill(virial, desk_.answer + found_.size(), 0);
  // Which is of the positions that were asked for, so those may not be changed.
  const bool with_virial = call.energies == Energies::kAdd;
  const std::vector<ExternalInput> of =
      inputs(call.step, with_virial ? Keep::kCopies : Keep::kSheet);
  double longest = 0;
  for (size_t p = 0; p < forces_.size(); force_to += 3 * forces_[p++].atoms.size()) {
    if (launches(forces_[p])) continue;
    const double begin = clock_seconds();
    const auto tell = [this, before = force_to - desk_.answer](size_t count) {
      tell_answered(static_cast<size_t>(before) + count);
    };
    forces_[p].provider->compute(of[p],
                                 {force_to, tell, energy + p, with_virial ? virial : nullptr});
    const double seconds = clock_seconds() - begin;
    if (seconds > longest) slowest_ = forces_[p].provider.get();
    longest = std::max(longest, seconds);
  }
}

void ExternalMemory::answer(const ExternalCall& call) {
  if (is_late()) return note_late(call.step);
  if (!await_question()) return;
  try {
    failure_.error || *desk_.is_nonsense ? clear_answer() : compute(call);
  } catch (...) {
    clear_answer();
    failure_ = {std::current_exception(), call.step};
  }
  clear_sheet();
  end_turn();
  if (is_late()) note_late(call.step);
}

void ExternalMemory::note_late(int64_t step) {
  if (failure_.error || !slowest_) return;
  try {
    slowest_->fail(step, kLate);
  } catch (...) {
    failure_ = {std::current_exception(), step};
  }
}

void ExternalMemory::update(int64_t step) {
  if (!await_question()) return;
  const std::vector<ExternalInput> of = inputs(step, Keep::kCopies);
  end_turn();  // no kernel asks before this returns
  for (size_t p = 0; p < forces_.size(); ++p) {
    const int every = forces_[p].update_every;
    if (every > 0 && step % every == 0) forces_[p].provider->update(of[p]);
  }
}

void ExternalMemory::forget_failure() {
  failure_ = {};
  if (is_late()) {
    slots_.device.synchronize();  // of kernels that waited no longer, some may still ask
    std::atomic_ref<uint32_t>(*desk_.is_late).store(0);
    sheet_.upload({*desk_.sheet});  // which they may not have read
    end_turn();
  }
  if (faults_.size() > 0) slots_.device.fill(faults_.data(), 0, faults_.bytes(), Stream::kMain);
}

void ExternalMemory::throw_faults(int64_t end) const {
  const std::vector<uint64_t> faults = faults_.download();
  for (size_t p = 0; p < faults.size(); ++p) {
    const auto step = static_cast<int64_t>(faults[p] >> kExternalFaultBits) - 1;
    if (faults[p] == 0 || step >= end) continue;
    constexpr uint64_t kMask = (1u << kExternalFaultBits) - 1;
    forces_[p].provider->fail(step, describe(static_cast<ExternalFault>(faults[p] & kMask)));
  }
}

void ExternalMemory::throw_failure(int64_t end) {
  throw_faults(end);
  if (failure_.error && failure_.step < end)
    std::rethrow_exception(std::exchange(failure_, {}).error);
}

}  // namespace quiltmd
