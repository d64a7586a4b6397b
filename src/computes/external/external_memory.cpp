// SPDX-License-Identifier: Apache-2.0
#include "computes/external/external_memory.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "math/fixed.h"

namespace quiltmd {
namespace {

std::vector<int32_t> all_atoms(const std::vector<ExternalForce>& forces) {
  std::vector<int32_t> all;
  for (const ExternalForce& force : forces)
    all.insert(all.end(), force.atoms.begin(), force.atoms.end());
  return all;
}

bool are_finite(const std::vector<Vec3d>& positions) {
  return std::all_of(positions.begin(), positions.end(), [](const Vec3d& x) {
    return std::isfinite(x.x) && std::isfinite(x.y) && std::isfinite(x.z);
  });
}

}  // namespace

ExternalMemory::ExternalMemory(const SlotMemory& slots, const std::vector<ExternalForce>& forces)
    : slots_(slots),
      forces_(forces),
      atoms_(slots.device, all_atoms(forces)),
      positions_(slots.device, 3 * atoms_.size()),
      found_(slots.device, 3 * atoms_.size() + Symmetric::kParts + forces.size()) {
  clear_found();
}

void ExternalMemory::clear_found() {
  slots_.device.fill(found_.data(), 0, found_.bytes(), Stream::kMain);
}

GatherExternal ExternalMemory::gather() const {
  return {{atoms_.data(), slots_.slot_of_atom.data(), slots_.owned_slots.data(),
           static_cast<int>(atoms_.size())},
          slots_.position().data(),
          positions_.data()};
}

AddExternal ExternalMemory::add(bool with_energies) const {
  return {gather().of, found_.data(), slots_.slots(), static_cast<int>(forces_.size()),
          with_energies ? slots_.energy.data() : nullptr};
}

std::vector<ExternalInput> ExternalMemory::inputs(int64_t step) const {
  const std::vector<int64_t> words = positions_.download();
  std::optional<Box> box;
  if (!slots_.patch_grid.is_open()) box = slots_.conditions.download()[0].box;
  std::vector<ExternalInput> inputs;
  auto word = words.begin();
  const auto next = [&word] { return std::bit_cast<double>(*word++); };
  for (const ExternalForce& force : forces_) {
    ExternalInput& input = inputs.emplace_back(ExternalInput{step, box, {}});
    input.positions.resize(force.atoms.size());
    for (Vec3d& x : input.positions) {
      x.x = next();
      x.y = next();
      x.z = next();
    }
  }
  return inputs;
}

std::vector<int64_t> ExternalMemory::results(int64_t step) {
  std::vector<int64_t> found(found_.size(), 0);
  int64_t* force_to = found.data();
  int64_t* const virial = force_to + words();
  int64_t* const energy = virial + Symmetric::kParts;
  const std::vector<ExternalInput> of = inputs(step);
  for (size_t p = 0; p < forces_.size(); ++p) {
    if (!are_finite(of[p].positions)) return std::vector<int64_t>(found_.size(), 0);
    const ExternalOutput out = forces_[p].provider->compute(of[p]);
    for (const Vec3d& f : out.forces)
      for (const double component : {f.x, f.y, f.z}) *force_to++ = to_fixed(component, kForceScale);
    energy[p] = to_fixed(out.energy, kEnergyScale);
    for (int v = 0; v < Symmetric::kParts; ++v) virial[v] += to_fixed(out.virial[v], kEnergyScale);
  }
  return found;
}

void ExternalMemory::compute(int64_t step) {
  std::vector<int64_t> found(found_.size(), 0);
  try {
    if (!failure_) found = results(step);
  } catch (...) {
    failure_ = std::current_exception();
  }
  found_.upload(found);
}

void ExternalMemory::update(int64_t step) {
  const std::vector<ExternalInput> of = inputs(step);
  for (size_t p = 0; p < forces_.size(); ++p) {
    const int every = forces_[p].update_every;
    if (every > 0 && step % every == 0) forces_[p].provider->update(of[p]);
  }
}

void ExternalMemory::throw_failure() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace quiltmd
