// SPDX-License-Identifier: Apache-2.0
#include "computes/collective/collective_memory.h"

#include <algorithm>

namespace quiltmd {

CollectiveArrays::CollectiveArrays(const std::vector<CollectiveRestraint>& restraints) {
  for (const CollectiveRestraint& restraint : restraints) add(restraint);
}

void CollectiveArrays::add(const CollectiveRestraint& restraint) {
  CollectiveTerm term = term_of(restraint);
  term.bodies = static_cast<int32_t>(restraint.groups.size());
  term.first_body = static_cast<int32_t>(bodies.size());
  term.first_sum = sums;
  if (restraint.path.size() > 1) {
    term.first_point = static_cast<int32_t>(path.size());
    term.points = static_cast<int32_t>(restraint.path.size());
    for (const auto& [time, centre] : restraint.path) path.push_back({time, centre});
  }
  terms.push_back(term);
  for (int role = 0; role < term.bodies; ++role) add_body(restraint, role);
}

void CollectiveArrays::add_body(const CollectiveRestraint& restraint, int role) {
  const AtomGroup& group = restraint.groups[static_cast<size_t>(role)];
  const bool contacts = restraint.kind == CollectiveKind::kCoordination;
  CollectiveBody body{};
  body.term = static_cast<int32_t>(terms.size()) - 1;
  body.role = role;
  body.origin = static_cast<int32_t>(shared_atoms.size());
  body.atoms = static_cast<int32_t>(group.atoms.size());
  body.sums = sums;
  if (contacts)
    shared_atoms.insert(shared_atoms.end(), group.atoms.begin(), group.atoms.end());
  else
    shared_atoms.push_back(group.origin);
  if (!contacts || role == 0) sums += sums_of(restraint.kind);
  for (size_t i = 0; i < group.atoms.size(); ++i)
    members.push_back({group.atoms[i], static_cast<int32_t>(bodies.size()), group.weights[i],
                       restraint.reference.empty() ? Vec3d{} : restraint.reference[i]});
  bodies.push_back(body);
}

CollectiveMemory::CollectiveMemory(const SlotMemory& slots, double timestep)
    : slots_(slots),
      arrays_(slots.system.collective),
      timestep_(timestep),
      make_(slots.device),
      terms_(make_.filled(arrays_.terms)),
      bodies_(make_.filled(arrays_.bodies)),
      members_(make_.filled(arrays_.members)),
      shared_atoms_(make_.filled(arrays_.shared_atoms)),
      path_(make_.filled(arrays_.path)),
      centres_(make_.zeros<double>(arrays_.terms.size())),
      shared_(make_.zeros<int64_t>(3 * arrays_.shared_atoms.size())),
      sums_(make_.zeros<int64_t>(static_cast<size_t>(arrays_.sums))),
      pulls_(make_.room<CollectivePull>(arrays_.terms.size())) {}

// A bias, if there is one, comes after the centres. Its memory must not move, because recordings use it.
void CollectiveMemory::take_centres(const std::vector<double>& numbers) {
  const auto end = numbers.begin() + static_cast<ptrdiff_t>(terms_.size());
  centres_.upload({numbers.begin(), end});
  if (end == numbers.end()) return;
  const Bias bias = Bias::unpacked({end, numbers.end()});
  if (bias_.size() != bias.grid.size()) make_.renew(bias_, bias.grid.size());
  bias_axes_ = bias.axes;
  bias_.upload(bias.grid);
}

CollectiveTable CollectiveMemory::table() const {
  CollectiveTable table{};
  table.terms = terms_.data();
  table.bodies = bodies_.data();
  table.members = members_.data();
  table.shared_atoms = shared_atoms_.data();
  table.term_count = static_cast<int>(terms_.size());
  table.member_count = static_cast<int>(members_.size());
  table.shared_count = static_cast<int>(shared_atoms_.size());
  table.sum_count = arrays_.sums;
  table.periodic = !slots_.patch_grid.is_open();
  table.slot_of_atom = slots_.slot_of_atom.data();
  table.owned_slots = slots_.owned_slots.data();
  table.position = slots_.position().data();
  table.conditions = slots_.conditions.data();
  return table;
}

EvaluateCollective CollectiveMemory::evaluate(Energies energies) const {
  EvaluateCollective op{};
  op.of = table();
  op.shared = shared_.data();
  op.sums = sums_.data();
  op.centres = centres_.data();
  op.path = path_.data();
  op.step = slots_.step.data();
  op.timestep = timestep_;
  op.bias.axes = static_cast<int>(bias_axes_.size());
  std::copy(bias_axes_.begin(), bias_axes_.end(), op.bias.axis);
  op.bias.grid = bias_.data();
  op.pulls = pulls_.data();
  if (energies == Energies::kSkip) return op;
  op.energy = slots_.energy.data();
  op.values = slots_.energy.data() + (slots_.energy.size() - terms_.size());
  return op;
}

// Other ranks await the results of the first two phases; the last phase ends a step.
std::vector<Work> CollectiveMemory::step_work(Energies energies) {
  const auto work = [](const char* name, int phase, std::function<void(Stream)> launch) {
    Work made{name, Positions::kOwned, Lists::kNotUsed,
              [launch = std::move(launch)](Stream stream, int) { launch(stream); }};
    made.phase = phase;
    made.apart = true;
    return made;
  };
  Device& device = slots_.device;
  return {work("collective.gather", 0,
               [this, &device](Stream stream) {
                 device.launch(GatherCollective{table(), shared_.data(), sums_.data()}, stream);
               }),
          work("collective.sum", 1,
               [this, &device](Stream stream) {
                 device.launch(SumCollective{table(), shared_.data(), sums_.data()}, stream);
               }),
          work("collective", 2, [this, &device, energies](Stream stream) {
            device.launch(evaluate(energies), stream);
            device.launch(ApplyCollective{table(), shared_.data(), pulls_.data(), slots_.slots()},
                          stream);
          })};
}

std::vector<Handover> CollectiveMemory::handovers() {
  Handover positions, sums;
  positions.totals = {{shared_.data(), static_cast<int>(shared_.size())}};
  sums.totals = {{sums_.data(), arrays_.sums}};
  return {positions, sums};
}

}  // namespace quiltmd
