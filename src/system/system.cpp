// SPDX-License-Identifier: Apache-2.0
#include "system/system.h"

#include "math/error.h"

namespace quiltmd {
namespace {

template <class T>
std::span<const T> row(const std::vector<T>& values, int index, size_t length) {
  return {values.data() + static_cast<size_t>(index) * length, length};
}

}  // namespace

std::span<const int32_t> Terms::atoms_of(int term) const {
  return row(atoms, term, static_cast<size_t>(form->atoms));
}

std::span<const double> Terms::parameters_of(int term) const {
  return row(parameters, term, form->parameters.size());
}

void Terms::add(std::span<const int32_t> term_atoms, std::span<const double> term_parameters) {
  if (term_atoms.size() != static_cast<size_t>(form->atoms) ||
      term_parameters.size() != form->parameters.size())
    throw Error(std::string(form->noun) + " needs " + std::to_string(form->atoms) + " atoms and " +
                std::to_string(form->parameters.size()) + " parameters");
  atoms.insert(atoms.end(), term_atoms.begin(), term_atoms.end());
  parameters.insert(parameters.end(), term_parameters.begin(), term_parameters.end());
}

int System::term_count() const {
  int total = 0;
  for (const Terms& some : terms) total += some.count();
  return total;
}

int32_t System::end_of_masses(int group) const {
  const int32_t first = group_start[static_cast<size_t>(group)];
  int32_t end = group_start[static_cast<size_t>(group) + 1];
  while (end > first + 1 && masses[static_cast<size_t>(end) - 1] == 0) --end;
  return end;
}

bool System::is_large(int group) const {
  const auto g = static_cast<size_t>(group);
  return group_start[g + 1] - group_start[g] > kSmallGroupSize;
}

bool System::has_large_groups() const {
  for (int g = 0; g < group_count(); ++g)
    if (is_large(g)) return true;
  return false;
}

const Terms* System::terms_of(const TermForm& form) const {
  for (const Terms& some : terms)
    if (some.form == &form) return &some;
  return nullptr;
}

Terms& System::terms_to_fill(const TermForm& form) {
  for (Terms& some : terms)
    if (some.form == &form) return some;
  return terms.emplace_back(Terms{&form, {}, {}, {}, 0});
}

}  // namespace quiltmd
