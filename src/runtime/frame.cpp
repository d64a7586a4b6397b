// SPDX-License-Identifier: Apache-2.0
#include "runtime/frame.h"

#include <algorithm>
#include <utility>

#include "computes/places.h"
#include "math/error.h"
#include "math/fixed.h"

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
      by_lambda_(setup.by_lambda),
      lambdas_(setup.lambdas),
      volume_(setup.grid.box.volume()),
      shares_(std::move(shares)) {
  for (const ExternalForce& force : setup.external) external_.push_back(force.name);
}

void Frame::require(bool has, const char* what) const {
  if (!has)
    throw Error(std::string("the frame of step ") + std::to_string(step_) +
                " was captured without " + what);
}

std::vector<double> Frame::sums() const {
  std::vector<int64_t> total(shares_.front()->values<int64_t>(kFrameEnergies).size());
  for (const auto& share : shares_) {
    const auto own = share->values<int64_t>(kFrameEnergies);
    for (size_t k = 0; k < total.size(); ++k) total[k] += own[k];
  }
  std::vector<double> values;
  values.reserve(total.size());
  for (const int64_t one : total) values.push_back(from_fixed(one, kEnergyScale));
  values[kHeat] -= constraint_loss_;
  return values;
}

// Charges are linear in lambda, so the energy of the mesh is quadratic.
std::optional<AlchemicalEnergies> Frame::alchemical() const {
  require(contents_.energies, "energies");
  if (!by_lambda_) return {};
  const std::vector<double> all = sums();
  const auto of = [&](int kind) { return all[static_cast<size_t>(kind)]; };
  const double slope = of(AlchemicalSums::kMeshSlope);
  const double half_curvature = of(AlchemicalSums::kMesh + kReciprocal);
  AlchemicalEnergies found{{}, by_lambda_->slopes(lambdas_, volume_)};
  for (int l = 0; l < kLambdas; ++l) found.slopes.of[l] += of(AlchemicalSums::kSlopes + l);
  found.slopes.of[kLambdaCoulomb] += slope;
  const double now = by_lambda_->energy(lambdas_, volume_);
  int kind = AlchemicalSums::kStates;
  for (const Lambdas& state : system_.alchemy->states) {
    const double change = state.of[kLambdaCoulomb] - lambdas_.of[kLambdaCoulomb];
    found.states.push_back(of(kind++) + change * (slope + change * half_curvature) +
                           by_lambda_->energy(state, volume_) - now);
  }
  return found;
}

std::vector<double> Frame::collective() const {
  require(contents_.energies, "energies");
  const std::vector<double> all = sums();
  return {all.end() - static_cast<ptrdiff_t>(system_.collective.size()), all.end()};
}

double Frame::heat() const { return sums()[kHeat]; }

std::map<std::string, double> Frame::energies() const {
  require(contents_.energies, "energies");
  const std::vector<double> all = sums();
  EnergyValues e;
  std::copy_n(all.begin(), e.size(), e.begin());
  if (!box_ && has_constant_forces(system_))
    e[kEnergyOf<ConstantForceForm>] += constant_force_energy(system_, by_atom(kFramePositions));
  auto named = potential_energies(e, constants_, system_);
  add_energies(named, external_, &all[0] + e.size());
  add_energies(named, system_.custom_energies, &all[0] + e.size() + external_.size());
  named["kinetic"] = e[kKinetic];
  named["heat"] = e[kHeat];
  return named;
}

Tensors Frame::tensors() const {
  require(contents_.energies, "energies");
  const auto e = sums();
  Tensors tensors;
  for (int k = 0; k < Symmetric::kParts; ++k) {
    tensors.virial[k] = e[static_cast<size_t>(kVirial + k)];
    tensors.kinetic[k] = e[static_cast<size_t>(kKineticTensor + k)];
  }
  for (int d = 0; d < 3; ++d) tensors.virial[d] += constant_virial_;
  return tensors;
}

template <class PlaceOf>
std::vector<Vec3d> Frame::placed(FramePiece piece, const PlaceOf& place_of) const {
  std::vector<Vec3d> values(system_.input_index.size());
  for (const auto& share : shares_) {
    const auto slots = static_cast<size_t>(share->values<int32_t>(kFrameSlots)[0]);
    const auto atoms = share->values<int32_t>(kFrameAtoms);
    const auto by_slot = share->values<Vec3d>(piece);
    for (size_t s = 0; s < slots; ++s)
      if (atoms[s] >= 0) values[static_cast<size_t>(place_of(atoms[s]))] = by_slot[s];
  }
  return values;
}

std::vector<Vec3d> Frame::by_atom(FramePiece piece) const {
  return placed(piece, [](int32_t atom) { return atom; });
}

std::vector<Vec3d> Frame::by_input(FramePiece piece) const {
  return placed(piece,
                [this](int32_t atom) { return system_.input_index[static_cast<size_t>(atom)]; });
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
