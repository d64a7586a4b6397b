// SPDX-License-Identifier: Apache-2.0
#include "runtime/frame.h"

#include <algorithm>
#include <utility>

#include "computes/places.h"
#include "math/error.h"
#include "math/fixed.h"
#include "runtime/entering_state.h"

namespace quiltmd {

Frame::Frame(const System& system, const Setup& setup, Contents contents, int64_t step,
             int64_t list_step, double constraint_loss,
             std::vector<std::unique_ptr<Download>> shares)
    : system_(system),
      contents_(contents),
      step_(step),
      list_step_(list_step),
      box_(setup.grid.is_open() ? std::nullopt : std::optional(setup.grid.box)),
      patches_(setup.grid.cells),
      variables_(setup.plan.variables),
      constraint_loss_(constraint_loss),
      constants_(setup.constants),
      constant_virial_(setup.constant_virial),
      solvent_(setup.system.solvent ? Solvent::kImplicit : Solvent::kNone),
      shares_(std::move(shares)) {
  for (const ExternalForce& force : setup.external) external_.push_back(force.name);
}

void Frame::require(bool has, const char* what) const {
  if (!has)
    throw Error(std::string("the frame of step ") + std::to_string(step_) + " was taken without " +
                what);
}

std::vector<double> Frame::sum_energies() const {
  std::vector<int64_t> total(static_cast<size_t>(kEnergyKinds) + external_.size(), 0);
  for (const auto& share : shares_) {
    const auto own = share->values<int64_t>(kFrameEnergies);
    for (size_t k = 0; k < total.size(); ++k) total[k] += own[k];
  }
  std::vector<double> values(total.size());
  for (size_t k = 0; k < values.size(); ++k) values[k] = from_fixed(total[k], kEnergyScale);
  values[kHeat] -= constraint_loss_;
  return values;
}

double Frame::heat() const { return sum_energies()[kHeat]; }

std::map<std::string, double> Frame::energies() const {
  require(contents_.energies, "energies");
  const std::vector<double> all = sum_energies();
  EnergyValues e;
  std::copy_n(all.begin(), e.size(), e.begin());
  if (!box_ && has_constant_forces(system_))
    e[kEnergyOf<ConstantForceForm>] += constant_force_energy(system_, by_atom(kFramePositions));
  auto named = potential_energies(e, constants_, solvent_);
  for (size_t p = 0; p < external_.size(); ++p) {
    named[external_[p]] = all[e.size() + p];
    named["potential"] += all[e.size() + p];
  }
  named["kinetic"] = e[kKinetic];
  named["heat"] = e[kHeat];
  return named;
}

Tensors Frame::tensors() const {
  require(contents_.energies, "energies");
  const auto e = sum_energies();
  Tensors tensors;
  for (int k = 0; k < Symmetric::kParts; ++k) {
    tensors.virial[k] = e[static_cast<size_t>(kVirial + k)];
    tensors.kinetic[k] = e[static_cast<size_t>(kKineticTensor + k)];
  }
  for (int d = 0; d < 3; ++d) tensors.virial[d] += constant_virial_;
  return tensors;
}

std::vector<Vec3d> Frame::by_atom(FramePiece piece) const {
  std::vector<Vec3d> values(system_.input_index.size());
  for (const auto& share : shares_) {
    const auto slots = static_cast<size_t>(share->values<int32_t>(kFrameSlots)[0]);
    const auto atoms = share->values<int32_t>(kFrameAtoms);
    const auto by_slot = share->values<Vec3d>(piece);
    for (size_t s = 0; s < slots; ++s)
      if (atoms[s] >= 0) values[static_cast<size_t>(atoms[s])] = by_slot[s];
  }
  return values;
}

std::vector<Vec3d> Frame::by_input(FramePiece piece) const {
  return to_input_order(system_, by_atom(piece));
}

std::vector<Vec3d> Frame::positions() const {
  require(contents_.positions || contents_.state, "positions");
  return by_input(kFramePositions);
}

HostState Frame::state() const {
  require(contents_.state, "velocities and list positions");
  HostState state{step_,      by_input(kFramePositions),     by_input(kFrameVelocities),
                  list_step_, by_input(kFrameListPositions), patches_};
  const auto values = shares_.front()->values<double>(kFrameVariables);  // all ranks have the same
  for (size_t k = 0; k < variables_.size(); ++k) state.variables[variables_[k].name] = values[k];
  return state;
}

}  // namespace quiltmd
