// SPDX-License-Identifier: Apache-2.0
// A simulation as it was at a step: what trajectories, logs and checkpoints are made of. It is taken
// without waiting for the device (Engine::capture), travels while the next steps run, and is put
// into the order of the input when asked, in the thread that asks.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "computes/energies.h"
#include "device/device.h"
#include "math/box.h"
#include "math/symmetric.h"
#include "schedule/setup.h"

namespace quiltmd {

// A state in internal order, as it enters a run, or in the order of the input, as it leaves.
struct HostState {
  int64_t step = 0;
  std::vector<Vec3d> positions, velocities;
  int64_t list_step = 0;
  std::vector<Vec3d> list_positions;  // empty: build lists from the positions
  std::optional<Int3> patches;        // cells of the patch grid; none: as suits the box
  // Variables of the step plan, by name; missing ones have their initial values.
  std::map<std::string, double> variables = {};
};

// Contents of a frame; it always has the heat of the thermostat.
struct Contents {
  bool energies = false;  // and tensors; costs an evaluation of the forces
  bool positions = false;
  bool state = false;  // positions, velocities, positions at which lists were built, variables
};

// Over hydrogen groups, kJ/mol: minus the derivative of the potential energy by a strain that moves
// their centres of mass with the box, and the sum of momentum (x) momentum / mass, twice the kinetic energy
// as a tensor.
struct Tensors {
  Symmetric virial, kinetic;
};

// Energies of a system with alchemical atoms, kJ/mol: the energy of each state minus that of the present
// state, and the derivatives with respect to the lambdas.
struct AlchemicalEnergies {
  std::vector<double> states;
  Lambdas slopes;
};

// A rank's share travels as these pieces, as many as the contents need.
enum FramePiece : size_t {
  kFrameEnergies,
  kFrameSlots,
  kFrameAtoms,
  kFramePositions,
  kFrameVelocities,
  kFrameListPositions,
  kFrameVariables
};

class Frame {
 public:
  // `system` must outlive the frame; the setup need not. `constraint_loss`: of the heat that the ranks
  // have counted, kJ/mol.
  Frame(const System& system, const Setup& setup, Contents contents, int64_t step,
        int64_t list_step, double constraint_loss, std::vector<std::unique_ptr<Download>> shares);
  Frame(const Frame&) = delete;

  int64_t step() const { return step_; }
  std::optional<Box> box() const { return box_; }  // none without a periodic boundary

  // Each returns when its data are there, and throws Error where the frame does not have them.
  std::map<std::string, double> energies() const;
  Tensors tensors() const;                               // evaluated with the energies
  std::optional<AlchemicalEnergies> alchemical() const;  // evaluated with the energies
  std::vector<double> collective() const;  // values of collective restraints, with the energies
  double heat() const;                     // added by the thermostat, kJ/mol
  std::vector<Vec3d> positions() const;    // input order
  HostState state() const;                 // input order

 private:
  void require(bool has, const char* what) const;
  std::vector<double> sums() const;  // by kind, those of forces from outside, or of lambdas, last
  // Each value at the index that a function gives for its atom (internal order).
  template <class PlaceOf>
  std::vector<Vec3d> placed(FramePiece piece, const PlaceOf& place_of) const;
  std::vector<Vec3d> by_atom(FramePiece piece) const;  // internal order
  std::vector<Vec3d> by_input(FramePiece piece) const;

  const System& system_;
  Contents contents_;
  int64_t step_, list_step_;
  std::optional<Box> box_;
  Int3 patches_;
  std::vector<Variable> variables_;
  std::vector<std::string> external_;  // names
  double constraint_loss_;
  ConstantEnergies constants_;
  double constant_virial_;
  std::optional<LambdaConstants> by_lambda_;
  Lambdas lambdas_;
  double volume_;
  std::vector<std::unique_ptr<Download>> shares_;  // by rank
};

}  // namespace quiltmd
