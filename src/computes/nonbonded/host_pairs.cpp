// SPDX-License-Identifier: Apache-2.0
// Pair forces on the CPU, the arithmetic. One list at a time: its j atoms are copied, shifted and
// transposed into blocks, one vector per field; then each i atom passes along the blocks and leaves
// its forces there as well. i data and polynomial stay in registers, and i atoms without
// the pair form (two thirds of water have no Lennard-Jones) skip that part. The price is a pass of loads and stores
// of the j forces per i atom, which hides behind arithmetic. Skipping blocks that are all beyond
// the cutoff (a fifth of them at 0.1 nm list buffer) costs more in mispredicted branches than it
// saves.
//
// Every sum has an order fixed by the list: over i atoms (those with the pair form first) for the
// force on j; over blocks, then SIMD lanes, for the force on i.
#include "computes/nonbonded/host_pairs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "computes/nonbonded/host_pairs.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "computes/nonbonded/host_pair_math-inl.h"
#include "math/fixed.h"

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

template <class Form, int degree, bool energy>
HWY_NOINLINE ISums add_i_atom(const IAtom<Form>& atom, const Blocks& list, const PairForces& op) {
  const IAtom<Form> i = atom;  // copies of what the loops use, so that stores cannot alias it
  const Parameters<Variant<Form, degree, energy>> p(op.parameters, op.table);
  const Vf zero = hn::Zero(df);
  ISums sums{zero, zero, zero, zero, zero};
  constexpr size_t kStride = ListScratch::kFields * hn::Lanes(df);
  float* block = list.data;
  float* const masked_end = block + list.masked_blocks * kStride;
  float* const plain_end = block + list.plain_blocks * kStride;
  float* const end = block + list.blocks * kStride;
  for (; block != masked_end; block += kStride) add_block<Part::kMasked>(i, block, p, sums);
  for (; block != plain_end; block += kStride) add_block<Part::kPlain>(i, block, p, sums);
  if constexpr (Variant<Form, degree, energy>::has_form)
    for (; block != end; block += kStride) add_block<Part::kApart>(i, block, p, sums);
  return sums;
}

template <class Form>
HWY_INLINE IAtom<Form> load_i_atom(const PairForces& op, uint32_t slot) {
  const Float4 at = op.slots.local[slot];
  return {hn::Set(df, at.x),
          hn::Set(df, at.y),
          hn::Set(df, at.z),
          hn::Set(df, at.w),
          Form::template site<Simd>(op.slots.pair_numbers[slot], op.table, op.parameters.types),
          static_cast<int>(slot % kClusterSize)};
}

template <class Form, int degree, bool energy>
void add_slot(const PairForces& op, uint32_t slot, const Blocks& blocks, IResult& result) {
  const ISums sums = add_i_atom<Form, degree, energy>(load_i_atom<Form>(op, slot), blocks, op);
  float* const force = result.force + 4 * (slot % kClusterSize);
  force[0] = hn::ReduceSum(df, sums.x);
  force[1] = hn::ReduceSum(df, sums.y);
  force[2] = hn::ReduceSum(df, sums.z);
  if constexpr (energy) {
    result.form += hn::ReduceSum(df, sums.form);
    result.coulomb += hn::ReduceSum(df, sums.coulomb);
  }
}

// All i atoms along the blocks, those with the pair form first.
template <class Form, int degree, bool energy>
void add_i_atoms(const PairForces& op, uint32_t base, const Blocks& blocks, IResult& result) {
  for (const bool with_form : {true, false}) {
    for (uint32_t slot = base; slot < base + kClusterSize; ++slot) {
      if (Form::interacts(op.slots.pair_numbers[slot]) != with_form || op.slots.atom[slot] < 0)
        continue;
      if (with_form) {
        add_slot<Form, degree, energy>(op, slot, blocks, result);
      } else {
        add_slot<NoForm, degree, energy>(op, slot, blocks, result);
      }
    }
  }
}

template <class Form, int degree, bool energy>
void evaluate(const PairForces& op, int first, int last, PairThread& thread) {
  for (int l = first; l < last; ++l) {
    const PairList& list = op.lists[l];
    if (list.within[op.shells.last] + list.apart(op.shells) == 0) continue;
    const uint32_t base = static_cast<uint32_t>(list.cluster) * kClusterSize;
    const Blocks blocks = load_list(op, list, thread);
    IResult result;
    add_i_atoms<Form, degree, energy>(op, base, blocks, result);
    if constexpr (energy) {
      const Symmetric virial = virial_of(op.slots, base, blocks, result);
      for (int k = 0; k < Symmetric::kParts; ++k)
        thread.virial[k] += to_fixed(virial[k], kEnergyScale);
    }
    Totals totals;
    deliver_j(op, list, blocks, kForceScale, thread, totals);
    deliver_i(result, base, thread, totals);
    if constexpr (energy) {
      thread.form += to_fixed(result.form, kEnergyScale);
      thread.coulomb += to_fixed(result.coulomb, kEnergyScale);
    }
  }
}

void evaluate_here(const PairForces& op, int first, int last, PairThread& thread) {
  PairForms::with(op.parameters.form, [&]<class Form>(Form) {
    // Coefficients beyond the degree are zero: forces have the same bits with energies and without.
    if (op.energy) return evaluate<Form, kEwaldDegree, true>(op, first, last, thread);
    with_force_degree(op.parameters.ewald,
                      [&](auto degree) { evaluate<Form, degree, false>(op, first, last, thread); });
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quiltmd {

HWY_EXPORT(evaluate_here);

void evaluate_lists(const PairForces& op, int first, int last, PairThread& thread) {
  HWY_DYNAMIC_DISPATCH(evaluate_here)(op, first, last, thread);
}

}  // namespace quiltmd
#endif
