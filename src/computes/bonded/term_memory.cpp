// SPDX-License-Identifier: Apache-2.0
#include "computes/bonded/term_memory.h"

#include <numeric>

#include "computes/bonded/tables.h"

namespace quiltmd {

TermMemory::TermMemory(const System& system, Device& device)
    : placed_count_(device, std::vector<int32_t>(kTermForms, 0)) {
  const auto packed = term_arrays(system);
  TermForms::for_each([&]<class Form>(int k) {
    const TermArrays& from = packed[static_cast<size_t>(k)];
    Arrays& to = arrays_[static_cast<size_t>(k)];
    to.atoms = Buffer<int32_t>(device, from.atoms);
    to.first_term = Buffer<int32_t>(device, from.first_term);
    to.parameters = Buffer<double>(device, from.parameters);
    to.shared = Buffer<double>(device, from.shared);
    to.placed = Buffer<uint32_t>(device, static_cast<size_t>(from.count * (Form::kAtoms + 1)));
    tables_.form[k] = {from.count,       to.atoms.data(),      to.parameters.data(),
                       to.shared.data(), to.first_term.data(), to.placed.data()};
  });
  tables_.placed_count = placed_count_.data();
}

int64_t TermMemory::count_placed() const {
  const auto counts = placed_count_.download();
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

size_t TermMemory::bytes() const {
  size_t total = placed_count_.bytes();
  for (const Arrays& a : arrays_)
    total += a.atoms.bytes() + a.first_term.bytes() + a.parameters.bytes() + a.shared.bytes() +
             a.placed.bytes();
  return total;
}

}  // namespace quiltmd
