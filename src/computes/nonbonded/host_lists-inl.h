// SPDX-License-Identifier: Apache-2.0
// Pair lists on the CPU, for the instruction set that is being compiled: the j atoms of a list in blocks of
// vectors, and what kernels have found for them added to their slots. Included by these kernels alone, once for
// each instruction set.
#if defined(QUILTMD_HOST_LISTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef QUILTMD_HOST_LISTS_INL_H
#undef QUILTMD_HOST_LISTS_INL_H
#else
#define QUILTMD_HOST_LISTS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "computes/nonbonded/host_pairs.h"
#include "math/fixed.h"

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Df = hn::ScalableTag<float>;
using Di = hn::RebindToSigned<Df>;
using Vf = hn::Vec<Df>;
using Mf = hn::Mask<Df>;
constexpr Df df;
constexpr Di di;
using Field = ListScratch::Field;

using Dl = hn::Repartition<int64_t, Df>;
constexpr Dl dl;

// Pairs closer than this are computed as if they were this far apart (0.01 nm): finite, and still
// beyond any force that a time step survives.
constexpr float kClosest2 = 1e-4f;

HWY_INLINE Vf inverse_sqrt(Vf x) {
  const Vf y = hn::ApproximateReciprocalSqrt(x);
  const Vf error = hn::NegMulAdd(hn::Mul(x, y), y, hn::Set(df, 1.0f));
#if HWY_TARGET <= HWY_AVX3  // 14 bits: one Newton step will do
  const Vf step = hn::Set(df, 0.5f);
#else  // 12 or 8 bits: a step of third order
  const Vf step = hn::MulAdd(error, hn::Set(df, 0.375f), hn::Set(df, 0.5f));
#endif
  return hn::MulAdd(hn::Mul(y, error), step, y);
}

// A block of j atoms: one vector of each field.
HWY_INLINE float* row(float* block, Field field) { return block + field * hn::Lanes(df); }
HWY_INLINE Vf load(float* block, Field field) { return hn::Load(df, row(block, field)); }
HWY_INLINE void store(Vf value, float* block, Field field) {
  hn::Store(value, df, row(block, field));
}

// A list in blocks: masked entries, padded to whole blocks, then the others, padded, then those beyond the
// reach of charges, which meet i atoms with the pair form alone.
struct Blocks {
  float* data;
  size_t masked, plain, apart;  // entries
  size_t masked_blocks, plain_blocks,
      blocks;  // blocks of masked entries; of plain ones as well; of all
};

// Copy j atoms to records from number `to` on, as seen from the i patch, and pad to whole blocks.
// Returns the number of blocks.
template <class Op>
size_t locate(const Op& op, const uint32_t* entries, size_t count, size_t to, PairThread& thread) {
  const hn::FixedTag<float, 4> d4;
  Float4* const located = thread.scratch.located.get() + to;
  Float2* const numbers = thread.scratch.pair_numbers.get() + to;
  const Float4 *const local = op.slots.local, *const shifts = thread.shifts;
  const auto slot_numbers = op.numbers();
  uint8_t* const touched = thread.forces.touched();
  for (size_t n = 0; n < count; ++n) {
    const uint32_t entry = entries[n], slot = entry & kSlotMask;
    const auto shift = hn::Load(d4, &shifts[entry >> kSlotBits].x);
    hn::Store(hn::Add(hn::Load(d4, &local[slot].x), shift), d4, &located[n].x);
    numbers[n] = slot_numbers[slot];
    touched[slot >> ForceAccumulator::kBlockBits] = 1;
  }
  const size_t padded = hwy::RoundUpTo(count, hn::Lanes(df));
  for (size_t n = count; n < padded; ++n) {
    located[n] = {-kFarAway, -kFarAway, -kFarAway, 0};
    numbers[n] = {0, 0};
  }
  return padded / hn::Lanes(df);
}

// From records to blocks; forces begin at zero.
void transpose(const ListScratch& scratch, const Blocks& list) {
  for (size_t b = 0; b < list.blocks; ++b) {
    float* block = list.data + b * ListScratch::kFields * hn::Lanes(df);
    Vf x, y, z, charge, first, second;
    hn::LoadInterleaved4(df, &scratch.located[b * hn::Lanes(df)].x, x, y, z, charge);
    hn::LoadInterleaved2(df, &scratch.pair_numbers[b * hn::Lanes(df)].x, first, second);
    store(x, block, Field::kX);
    store(y, block, Field::kY);
    store(z, block, Field::kZ);
    store(charge, block, Field::kCharge);
    store(first, block, Field::kFirst);
    store(second, block, Field::kSecond);
    for (const Field f : {Field::kForceX, Field::kForceY, Field::kForceZ}) {
      store(hn::Zero(df), block, f);
    }
  }
}

// Which i atoms each masked entry meets, and how.
template <class Op>
void set_bits(const Op& op, const PairList& list, const Blocks& blocks) {
  constexpr size_t kLanes = HWY_MAX_LANES_D(Df);
  HWY_ALIGN int32_t bits[kLanes];
  for (size_t b = 0; b < blocks.masked_blocks; ++b) {
    for (size_t k = 0; k < kLanes; ++k) {
      const size_t n = b * kLanes + k;
      bits[k] = 0;
      if (n >= blocks.masked) continue;
      const uint32_t entry = op.entries[list.begin + n];
      const bool own = entry / kClusterSize == static_cast<uint32_t>(list.cluster);
      const int counts = own ? (1 << entry % kClusterSize) - 1 : 255;
      const int long_exclusions =
          op.long_exclusion_masks ? op.long_exclusion_masks[list.begin + n] : 0;
      bits[k] = (counts & ~long_exclusions) << 8 | op.masks[list.begin + n];
    }
    store(hn::BitCast(df, hn::Load(di, bits)),
          blocks.data + b * ListScratch::kFields * hn::Lanes(df), Field::kBits);
  }
}

template <class Op>
Blocks load_list(const Op& op, const PairList& list, PairThread& thread) {
  thread.scratch.reserve(static_cast<size_t>(list.count()) + 3 * hn::Lanes(df));
  const uint32_t* entries = op.entries + list.begin;
  Blocks blocks;
  blocks.data = thread.scratch.blocks.get();
  blocks.masked = static_cast<size_t>(list.masked);
  blocks.plain = static_cast<size_t>(list.within[op.shells.last] - list.masked);
  blocks.apart = static_cast<size_t>(list.apart(op.shells));
  blocks.masked_blocks = locate(op, entries, blocks.masked, 0, thread);
  blocks.plain_blocks = blocks.masked_blocks + locate(op, entries + blocks.masked, blocks.plain,
                                                      blocks.masked_blocks * hn::Lanes(df), thread);
  blocks.blocks = blocks.plain_blocks + locate(op, entries + list.apart_begin(), blocks.apart,
                                               blocks.plain_blocks * hn::Lanes(df), thread);
  transpose(thread.scratch, blocks);
  set_bits(op, list, blocks);
  return blocks;
}

// Sums of fixed-point records (x, y, z, 0), laid out as vectors find them.
struct Totals {
  static constexpr size_t kVectors = HWY_MAX(1, 4 / hn::MaxLanes(Dl()));
  hn::Vec<Dl> part[kVectors];

  Totals() {
    for (auto& p : part) p = hn::Zero(dl);
  }
  void read(int64_t (&total)[4]) const {
    HWY_ALIGN int64_t lanes[kVectors * hn::MaxLanes(Dl())];
    for (size_t v = 0; v < kVectors; ++v) hn::Store(part[v], dl, lanes + v * hn::Lanes(dl));
    for (int64_t& t : total) t = 0;
    for (size_t k = 0; k < kVectors * hn::Lanes(dl); ++k) total[k % 4] += lanes[k];
  }
};

// Floating-point records to fixed point, `values` numbers in all.
HWY_INLINE void convert(const float* records, size_t values, double unit, int64_t* fixed,
                        Totals& totals) {
  const hn::Rebind<float, Dl> half;
  const auto limit = hn::Set(half, static_cast<float>(kFixedLimit));
  const auto scale = hn::Set(half, static_cast<float>(unit));
  for (size_t k = 0; k < values;) {
    for (auto& part : totals.part) {
      const auto scaled = hn::Mul(hn::Load(half, records + k), scale);
      const auto limited = hn::Max(hn::Min(scaled, limit), hn::Neg(limit));
      const auto some = hn::PromoteInRangeTo(dl, hn::Round(limited));
      hn::Store(some, dl, fixed + k);
      part = hn::Add(part, some);
      k += hn::Lanes(dl);
    }
  }
}

HWY_INLINE void add_record(const int64_t* fixed, ForceRecord& to) {
  const hn::CappedTag<int64_t, 4> d;
  for (size_t part = 0; part < 4; part += hn::Lanes(d)) {
    hn::Store(hn::Add(hn::Load(d, to.v + part), hn::Load(d, fixed + part)), d, to.v + part);
  }
}

// Add the forces on the j atoms of `count` entries, in blocks from `block` on, to their slots.
void deliver(const uint32_t* entries, size_t count, float* block, double unit, PairThread& thread,
             Totals& totals) {
  constexpr size_t kLanes = hn::MaxLanes(Df());
  ForceRecord* const forces = &thread.forces[0];
  HWY_ALIGN float records[4 * kLanes];
  HWY_ALIGN int64_t fixed[4 * kLanes];
  for (size_t n = 0; n < count; n += kLanes, block += ListScratch::kFields * kLanes) {
    hn::StoreInterleaved4(load(block, Field::kForceX), load(block, Field::kForceY),
                          load(block, Field::kForceZ), hn::Zero(df), df, records);
    convert(records, 4 * kLanes, unit, fixed, totals);
    const size_t present = HWY_MIN(kLanes, count - n);
    for (size_t k = 0; k < present; ++k) {
      add_record(fixed + 4 * k, forces[entries[n + k] & kSlotMask]);
    }
  }
}

// Add what is in the blocks of a list to the slots of its j atoms, in fixed point.
template <class Op>
void deliver_j(const Op& op, const PairList& list, const Blocks& blocks, double unit,
               PairThread& thread, Totals& totals) {
  const uint32_t* entries = op.entries + list.begin;
  constexpr size_t kStride = ListScratch::kFields * hn::Lanes(df);
  float* const plain = blocks.data + blocks.masked_blocks * kStride;
  float* const apart = blocks.data + blocks.plain_blocks * kStride;
  deliver(entries, blocks.masked, blocks.data, unit, thread, totals);
  deliver(entries + blocks.masked, blocks.plain, plain, unit, thread, totals);
  deliver(entries + list.apart_begin(), blocks.apart, apart, unit, thread, totals);
}

// Forces on the i atoms, records (x, y, z, 0), and energies of a list.
struct IResult {
  HWY_ALIGN float force[4 * kClusterSize] = {};
  double form = 0, coulomb = 0;
};

// Add what was found for the i atoms to their slots.
void deliver_records(const IResult& result, uint32_t base, double unit, PairThread& thread,
                     Totals& totals) {
  HWY_ALIGN int64_t fixed[4 * kClusterSize];
  convert(result.force, 4 * kClusterSize, unit, fixed, totals);
  thread.forces.touched()[base >> ForceAccumulator::kBlockBits] = 1;
  for (int a = 0; a < kClusterSize; ++a) add_record(fixed + 4 * a, thread.forces[base + a]);
}

// Add the forces on the i atoms to their slots. Atom 0 takes what makes the forces of the list sum
// to zero, given the sum over the j atoms: its own force, to rounding.
void deliver_i(IResult& result, uint32_t base, PairThread& thread, Totals& totals) {
  HWY_ALIGN int64_t fixed[4 * kClusterSize];
  std::fill_n(result.force, 4, 0.0f);
  convert(result.force, 4 * kClusterSize, kForceScale, fixed, totals);
  int64_t total[4];
  totals.read(total);
  for (int axis = 0; axis < 3; ++axis) fixed[axis] = -total[axis];
  thread.forces.touched()[base >> ForceAccumulator::kBlockBits] = 1;
  for (int a = 0; a < kClusterSize; ++a) {
    add_record(fixed + 4 * a, thread.forces[base + a]);
  }
}

HWY_INLINE Vec3d position(const Float4& local) { return {local.x, local.y, local.z}; }

// Positions times forces over all atoms of a list, seen from the first i atom: the forces add up to
// zero, so its own does not matter.
Symmetric virial_of(const Slots& slots, uint32_t base, const Blocks& blocks,
                    const IResult& result) {
  const Float4* const site = slots.local + base;
  const Vf origin[3] = {hn::Set(df, site->x), hn::Set(df, site->y), hn::Set(df, site->z)};
  Vf sums[Symmetric::kParts];
  for (Vf& sum : sums) sum = hn::Zero(df);
  for (size_t b = 0; b < blocks.blocks; ++b) {
    float* block = blocks.data + b * ListScratch::kFields * hn::Lanes(df);
    const Vf x = hn::Sub(load(block, Field::kX), origin[0]);
    const Vf y = hn::Sub(load(block, Field::kY), origin[1]);
    const Vf z = hn::Sub(load(block, Field::kZ), origin[2]);
    const Vf fx = load(block, Field::kForceX), fy = load(block, Field::kForceY);
    const Vf fz = load(block, Field::kForceZ);
    sums[0] = hn::MulAdd(x, fx, sums[0]);
    sums[1] = hn::MulAdd(y, fy, sums[1]);
    sums[2] = hn::MulAdd(z, fz, sums[2]);
    sums[3] = hn::MulAdd(x, fy, hn::MulAdd(y, fx, sums[3]));
    sums[4] = hn::MulAdd(x, fz, hn::MulAdd(z, fx, sums[4]));
    sums[5] = hn::MulAdd(y, fz, hn::MulAdd(z, fy, sums[5]));
  }
  Symmetric virial;
  for (int k = 0; k < Symmetric::kParts; ++k)
    virial[k] = (k < 3 ? 1.0 : 0.5) * hn::ReduceSum(df, sums[k]);
  for (int a = 1; a < kClusterSize; ++a) {
    const float* force = result.force + 4 * a;
    virial.add_product(position(site[a]) - position(site[0]), {force[0], force[1], force[2]});
  }
  return virial;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#endif
