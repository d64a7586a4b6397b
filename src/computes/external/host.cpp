// SPDX-License-Identifier: Apache-2.0
// Host kernels of forces from outside.
#include <algorithm>
#include <cmath>

#include "computes/external/operations.h"
#include "device/host/kernels.h"

namespace quiltmd {
namespace {

void gather_external(const GatherExternal& op, ThreadGroup&) {
  for (int k = 0; k < op.of.count; ++k) {
    const int slot = op.of.slot(k);
    const Vec3d x = slot < 0 ? Vec3d{} : op.position[slot];
    int64_t* const to = op.words + 3 * static_cast<ptrdiff_t>(k);
    for (int d = 0; d < 3; ++d) to[d] = to_bits(x[d]);
  }
}

// Launches run at once, so the host asks between these two.
void ask_providers(const AskProviders& op, ThreadGroup&) {
  double* const words = op.sheet->words;
  for (int k = 0; k < op.words(); ++k) words[k] = op.word(k);
  const auto is_finite = [](double word) { return std::isfinite(word); };
  if (!std::all_of(words, words + op.words(), is_finite)) *op.is_nonsense = 1;
  *op.answered = 0;
  *op.turn = Turn::kProviders;
}

void await_providers(const AwaitProviders& op, ThreadGroup&) {
  std::copy_n(op.answer, op.count, op.found);
  *op.sheet = *op.given;
}

void add_external(const AddExternal& op, ThreadGroup&) {
  for (int k = 0; k < op.of.count; ++k)
    if (const int slot = op.of.slot(k); slot >= 0)
      for (int d = 0; d < 3; ++d)
        op.slots.force[d][slot] += op.found[3 * static_cast<ptrdiff_t>(k) + d];
  if (!op.energy) return;
  const int64_t* const virial = op.found + 3 * static_cast<ptrdiff_t>(op.of.count);
  for (int v = 0; v < Symmetric::kParts; ++v) op.energy[kVirial + v] += virial[v];
  for (int e = 0; e < op.energies; ++e)
    op.energy[kEnergyKinds + e] += virial[Symmetric::kParts + e];
}

}  // namespace

void add_external_kernels(HostKernels& table) {
  table.add<GatherExternal, gather_external>();
  table.add<AskProviders, ask_providers>();
  table.add<AwaitProviders, await_providers>();
  table.add<AddExternal, add_external>();
}

}  // namespace quiltmd
