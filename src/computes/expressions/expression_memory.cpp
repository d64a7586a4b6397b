// SPDX-License-Identifier: Apache-2.0
#include "computes/expressions/expression_memory.h"

#include <utility>

#include "computes/expressions/program_source.h"
#include "device/compiles_kernels.h"

namespace quiltmd {
namespace {

// Of the program, on a device that compiles it.
int kernel_of(const ExpressionForce& force, Device& device) {
  auto* const compiler = dynamic_cast<CompilesKernels*>(&device);
  return compiler ? compiler->compile_kernel(kCompiledTerms, term_source(force)) : -1;
}

}  // namespace

ExpressionMemory::ExpressionMemory(const SlotMemory& slots, int own_energies)
    : slots_(slots), make_(slots.device) {
  std::vector<int32_t> shared_atoms;
  std::vector<int32_t> place_of_atom(slots.system.masses.size(), -1);
  for (const ExpressionForce& from : slots.system.expressions) {
    std::vector<int32_t> places;
    for (const int32_t atom : from.atoms) {
      if (from.atoms_per_term == 1) break;
      int32_t& place = place_of_atom[static_cast<size_t>(atom)];
      if (place < 0) {
        place = static_cast<int32_t>(shared_atoms.size());
        shared_atoms.push_back(atom);
      }
      places.push_back(place);
    }
    forces_.push_back({from.atoms_per_term, from.parameters_per_term,
                       energy_kind(from, own_energies), kernel_of(from, slots.device),
                       make_.filled(from.constants), make_.filled(from.parameters),
                       make_.filled(from.variables), make_.filled(from.atoms), make_.filled(places),
                       ProgramMemory(make_, from.program)});
  }
  shared_atoms_ = make_.filled(shared_atoms);
  shared_ = make_.zeros<int64_t>(3 * shared_atoms.size());
}

void ExpressionMemory::take_constants() {
  for (size_t f = 0; f < forces_.size(); ++f)
    forces_[f].constants.upload(slots_.system.expressions[f].constants);
}

ExpressionAtoms ExpressionMemory::atoms() const {
  return {slots_.slot_of_atom.data(), slots_.owned_slots.data(), slots_.position().data()};
}

EvaluateExpression ExpressionMemory::evaluate(const Force& force, Energies energies) const {
  EvaluateExpression op{};
  op.of = atoms();
  op.view = {force.atoms_per_term,
             force.parameters_per_term,
             static_cast<int>(force.constants.size()),
             static_cast<int>(force.variables.size()),
             force.constants.data(),
             force.variables.data(),
             force.parameters.data(),
             force.program.view()};
  op.kernel = force.kernel;
  op.terms = static_cast<int>(force.atoms.size()) / force.atoms_per_term;
  op.atoms = force.atoms.data();
  op.shared_place = force.shared_place.data();
  op.shared = shared_.data();
  op.conditions = slots_.conditions.data();
  op.periodic = !slots_.patch_grid.is_open();
  op.slots = slots_.slots();
  op.energy = energies == Energies::kAdd ? slots_.energy.data() : nullptr;
  op.energy_kind = force.energy_kind;
  op.step = slots_.step.data();
  op.faults = slots_.faults.data();
  return op;
}

void ExpressionMemory::launch_gather(Stream stream) const {
  GatherExpressions op{};
  op.of = atoms();
  op.shared_atoms = shared_atoms_.data();
  op.shared_count = static_cast<int>(shared_atoms_.size());
  op.shared = shared_.data();
  slots_.device.launch(op, stream);
}

void ExpressionMemory::launch_forces(Energies energies, Stream stream) const {
  for (const Force& force : forces_) slots_.device.launch(evaluate(force, energies), stream);
}

// Other ranks await the positions.
std::vector<Work> ExpressionMemory::step_work(Energies energies) {
  std::vector<Work> work;
  if (shared_atoms_.size() > 0)
    work.push_back({"expressions.gather", Positions::kOwned, Lists::kNotUsed,
                    [this](Stream stream, int) { launch_gather(stream); }});
  Work forces{"expressions", Positions::kOwned, Lists::kNotUsed,
              [this, energies](Stream stream, int) { launch_forces(energies, stream); }};
  forces.phase = static_cast<int>(work.size());
  work.push_back(std::move(forces));
  for (Work& one : work) one.apart = true;
  return work;
}

std::vector<Handover> ExpressionMemory::handovers() {
  if (shared_atoms_.size() == 0) return {};
  Handover positions;
  positions.totals = {{shared_.data(), static_cast<int>(shared_.size())}};
  return {positions};
}

}  // namespace quiltmd
