// SPDX-License-Identifier: Apache-2.0
#include "computes/pair_expressions/pair_expression_memory.h"

#include "computes/expressions/program_source.h"
#include "device/compiles_kernels.h"

namespace quiltmd {
namespace {

PairKernels kernels_of(const PairExpression& force, Device& device) {
  auto* const compiler = dynamic_cast<CompilesKernels*>(&device);
  if (!compiler) return {};
  const std::string source = pair_source(force);
  return {compiler->compile_kernel(kCompiledPairs, source),
          compiler->compile_kernel(kCompiledPairsWithEnergies, source)};
}

}  // namespace

PairExpressionMemory::PairExpressionMemory(const SlotMemory& slots, const ListMemory& lists,
                                           int own_energies)
    : slots_(slots), lists_(lists), make_(slots.device) {
  for (const PairExpression& from : slots.system.pair_expressions)
    forces_.push_back({from.parameters_per_atom, energy_kind(from, own_energies),
                       kernels_of(from, slots.device), from.cutoff, make_.filled(from.constants),
                       make_.filled(from.parameters), make_.filled(from.first),
                       make_.filled(from.second), ProgramMemory(make_, from.program)});
}

void PairExpressionMemory::take_constants() {
  for (size_t f = 0; f < forces_.size(); ++f)
    forces_[f].constants.upload(slots_.system.pair_expressions[f].constants);
}

std::vector<Work> PairExpressionMemory::step_work(Energies energies) {
  std::vector<Work> work;
  for (const Part part : {Part::kBoundary, Part::kInterior}) {
    if (!lists_.has(part)) continue;
    const Positions positions =
        part == Part::kInterior ? Positions::kOwned : Positions::kWithProxies;
    work.push_back({"pair_expressions", positions, Lists::kUsed,
                    [this, part, energies](Stream stream, int age) {
                      for (const Force& force : forces_)
                        slots_.device.launch(evaluate(force, part, age, energies), stream);
                    },
                    Balance::kMovesWithComputes});
  }
  return work;
}

EvaluatePairExpression PairExpressionMemory::evaluate(const Force& force, Part part, int list_age,
                                                      Energies energies) const {
  EvaluatePairExpression op{};
  static_cast<ListView&>(op) = lists_.view(part, list_age);
  op.exact_shifts = slots_.grid_view().exact_shifts;
  op.shifts = slots_.grid_view().shifts;
  op.pieces = pieces_of_lists(slots_.system.atom_count());
  op.kernel = energies == Energies::kAdd ? force.kernels.with_energies : force.kernels.forces;
  op.constant_count = static_cast<int>(force.constants.size());
  op.parameters_per_atom = force.parameters_per_atom;
  op.constants = force.constants.data();
  op.parameters = force.parameters.data();
  op.first_sets = force.first_sets.data();
  op.second_sets = force.second_sets.data();
  op.cutoff2 = force.cutoff * force.cutoff;
  op.program = force.program.view();
  op.energy = energies == Energies::kAdd ? slots_.energy.data() : nullptr;
  op.energy_kind = force.energy_kind;
  op.step = slots_.step.data();
  op.faults = slots_.faults.data();
  return op;
}

}  // namespace quiltmd
