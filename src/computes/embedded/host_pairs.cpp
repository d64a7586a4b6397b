// SPDX-License-Identifier: Apache-2.0
// Pairs of embedded atoms on the CPU. In a metal only a fifth of the pairs of a list are within the cutoff, and table
// lookups are expensive: a load for each pair and coefficient. So each i atom passes along the blocks of the list
// once for distances alone, notes where the j atoms within the cutoff are, and then meets these, vector by vector.
//
// Every sum has an order fixed by the pairs within the cutoff, in the order of the list.
#include "computes/embedded/host_pairs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "computes/embedded/host_pairs.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "computes/nonbonded/host_lists-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

using Vi = hn::Vec<Di>;

struct Point {
  Vf x, y, z;
};
HWY_INLINE Vf dot(const Point& a) {
  return hn::MulAdd(a.z, a.z, hn::MulAdd(a.y, a.y, hn::Mul(a.x, a.x)));
}

// One i atom, in every SIMD lane.
struct IAtom {
  Point at;
  int index;  // in its cluster
  int type;
  Vf slope;
};

IAtom load_i_atom(const EmbeddedLists& op, uint32_t slot) {
  const Float4 at = op.slots.local[slot];
  return {{hn::Set(df, at.x), hn::Set(df, at.y), hn::Set(df, at.z)},
          static_cast<int>(slot % kClusterSize),
          op.type_of_slot[slot],
          hn::Set(df, op.slopes[slot])};
}

// Writes where in the blocks of a list the j atoms within the cutoff of an i atom are, and returns their number. Behind
// the last one are places that can be read, up to a whole vector.
HWY_NOINLINE size_t find_near(const IAtom& i, const Blocks& list, float cutoff2, int32_t* near) {
  constexpr size_t kStride = ListScratch::kFields * hn::Lanes(df);
  const Vf reach2 = hn::Set(df, cutoff2);
  const Vi own = hn::Set(di, 256 << i.index);
  size_t count = 0;
  for (size_t b = 0; b < list.blocks; ++b) {
    float* const block = list.data + b * kStride;
    const Point d{hn::Sub(i.at.x, load(block, Field::kX)), hn::Sub(i.at.y, load(block, Field::kY)),
                  hn::Sub(i.at.z, load(block, Field::kZ))};
    Mf counts = hn::Lt(dot(d), reach2);
    if (b < list.masked_blocks) {
      const Vi bits = hn::BitCast(di, load(block, Field::kBits));
      counts = hn::And(counts, hn::RebindMask(df, hn::TestBit(bits, own)));
    }
    const Vi places = hn::Iota(di, static_cast<int32_t>(b * kStride));
    count += hn::CompressStore(places, hn::RebindMask(di, counts), di, near + count);
  }
  hn::StoreU(hn::Zero(di), di, near + count);
  return count;
}

// Some pairs of an i atom.
struct Pairs {
  Mf exist;
  Vi places;
  Point d;  // from j to i
  Vf inverse, fraction;
  Vi row, mirrored;  // in the tables, as seen from the i atom and from the j atom
};

HWY_INLINE Vf gather(const float* data, Field field, Vi places) {
  return hn::GatherIndex(df, data + field * hn::Lanes(df), places);
}

template <bool one_type>
HWY_INLINE Pairs load_pairs(const EmbeddedLists& op, const IAtom& i, const Blocks& list,
                            const int32_t* near, size_t count) {
  Pairs p;
  p.exist = hn::FirstN(df, count);
  p.places = hn::LoadU(di, near);
  p.d = {hn::Sub(i.at.x, gather(list.data, Field::kX, p.places)),
         hn::Sub(i.at.y, gather(list.data, Field::kY, p.places)),
         hn::Sub(i.at.z, gather(list.data, Field::kZ, p.places))};
  const Vf r2 = hn::Max(dot(p.d), hn::Set(df, kClosest2));
  p.inverse = inverse_sqrt(r2);
  const auto intervals = static_cast<float>(op.intervals);
  const Vf place =
      hn::Min(hn::Mul(hn::Mul(r2, p.inverse), hn::Set(df, op.per_spacing)), hn::Set(df, intervals));
  const Vf interval = hn::Min(hn::Floor(place), hn::Set(df, intervals - 1));
  p.fraction = hn::Sub(place, interval);
  p.row = p.mirrored = hn::Mul(hn::ConvertTo(di, interval), hn::Set(di, kEmbeddedRow));
  if constexpr (!one_type) {
    const Vi type = hn::BitCast(di, gather(list.data, Field::kFirst, p.places));
    const auto of_pair = [&](Vi first, Vi second) {
      const Vi pair = hn::Add(hn::Mul(first, hn::Set(di, op.types)), second);
      return hn::Mul(pair, hn::Set(di, op.intervals * kEmbeddedRow));
    };
    const Vi own = hn::Set(di, i.type);
    p.row = hn::Add(p.row, of_pair(own, type));
    p.mirrored = hn::Add(p.mirrored, of_pair(type, own));
  }
  return p;
}

// A cubic at the fraction, from coefficients at `table`.
struct Looked {
  Vf c0, c1, c2, c3;
};
HWY_INLINE Looked look_up(const float* table, Vi row) {
  return {hn::GatherIndex(df, table, row), hn::GatherIndex(df, table + 1, row),
          hn::GatherIndex(df, table + 2, row), hn::GatherIndex(df, table + 3, row)};
}
HWY_INLINE Vf value(const Looked& c, Vf f) {
  return hn::MulAdd(f, hn::MulAdd(f, hn::MulAdd(f, c.c3, c.c2), c.c1), c.c0);
}
// By the place.
HWY_INLINE Vf slope(const Looked& c, Vf f) {
  const Vf bent = hn::MulAdd(hn::Mul(hn::Set(df, 3.0f), f), c.c3, hn::Add(c.c2, c.c2));
  return hn::MulAdd(f, bent, c.c1);
}

// Add values of j atoms to their fields in the blocks.
HWY_INLINE void add_to(float* data, Field field, const int32_t* near, size_t count, Vf values) {
  HWY_ALIGN float lanes[HWY_MAX_LANES_D(Df)];
  hn::Store(values, df, lanes);
  float* const base = data + field * hn::Lanes(df);
  for (size_t k = 0; k < count; ++k) base[near[k]] += lanes[k];
}

// ---- Lists ----

// For each list: meet(i, blocks, near, found, number, result) for each of its i atoms, whose number is that in the
// cluster and whose j atoms within the cutoff are at `near`; then deliver(list, base, blocks, result).
template <class Meet, class Deliver>
void over_lists(const EmbeddedLists& pairs, int first, int last, PairThread& thread,
                const Meet& meet, const Deliver& deliver) {
  for (int l = first; l < last; ++l) {
    const PairList& list = pairs.lists[l];
    if (list.within[pairs.shells.last] == 0) continue;
    const uint32_t base = static_cast<uint32_t>(list.cluster) * kClusterSize;
    const Blocks blocks = load_list(pairs, list, thread);
    IResult result;
    for (uint32_t slot = base; slot < base + kClusterSize; ++slot) {
      if (pairs.slots.atom[slot] < 0) continue;
      const IAtom i = load_i_atom(pairs, slot);
      int32_t* const near = thread.scratch.near.get();
      const size_t found = find_near(i, blocks, pairs.cutoff2, near);
      meet(i, blocks, near, found, slot - base, result);
    }
    deliver(list, base, blocks, result);
  }
}

// ---- Densities ----

template <bool one_type>
float add_densities(const EmbeddedLists& op, const IAtom& i, const Blocks& list,
                    const int32_t* near, size_t found) {
  const float* const densities = op.rows + 4;
  Vf sum = hn::Zero(df);
  for (size_t n = 0; n < found; n += hn::Lanes(df)) {
    const size_t count = HWY_MIN(hn::Lanes(df), found - n);
    const Pairs p = load_pairs<one_type>(op, i, list, near + n, count);
    const Vf here = value(look_up(densities, p.row), p.fraction);
    sum = hn::Add(sum, hn::IfThenElseZero(p.exist, here));
    Vf there = here;
    if constexpr (!one_type) there = value(look_up(densities, p.mirrored), p.fraction);
    add_to(list.data, Field::kForceX, near + n, count, there);
  }
  return hn::ReduceSum(df, sum);
}

template <bool one_type>
void evaluate_densities(const EmbeddedDensities& op, int first, int last, PairThread& thread) {
  const EmbeddedLists& pairs = op.pairs;
  const auto meet = [&](const IAtom& i, const Blocks& blocks, const int32_t* near, size_t found,
                        uint32_t number, IResult& result) {
    result.force[4 * number] = add_densities<one_type>(pairs, i, blocks, near, found);
  };
  const auto deliver = [&](const PairList& list, uint32_t base, const Blocks& blocks,
                           IResult& result) {
    Totals totals;
    deliver_j(pairs, list, blocks, op.unit, thread, totals);
    deliver_records(result, base, op.unit, thread, totals);
  };
  over_lists(pairs, first, last, thread, meet, deliver);
}

// ---- Forces ----

struct ForceSums {
  Point force;
  Vf energy;
};

template <bool one_type>
HWY_NOINLINE ForceSums add_forces(const EmbeddedLists& op, const IAtom& i, const Blocks& list,
                                  const int32_t* near, size_t found) {
  const Vf zero = hn::Zero(df), per_spacing = hn::Set(df, op.per_spacing);
  ForceSums sums{{zero, zero, zero}, zero};
  for (size_t n = 0; n < found; n += hn::Lanes(df)) {
    const size_t count = HWY_MIN(hn::Lanes(df), found - n);
    const Pairs p = load_pairs<one_type>(op, i, list, near + n, count);
    const Looked product = look_up(op.rows, p.row), density = look_up(op.rows + 4, p.row);
    const Vf other = gather(list.data, Field::kSecond, p.places);
    Vf embedding = hn::Mul(i.slope, slope(density, p.fraction));
    if constexpr (one_type) {
      embedding = hn::Mul(hn::Add(i.slope, other), slope(density, p.fraction));
    } else {
      const Looked mirrored = look_up(op.rows + 4, p.mirrored);
      embedding = hn::MulAdd(other, slope(mirrored, p.fraction), embedding);
    }
    // r phi = product: phi' = (product' - phi) / r
    const Vf energy = hn::Mul(value(product, p.fraction), p.inverse);
    const Vf by_r = hn::Mul(slope(product, p.fraction), per_spacing);
    const Vf pair = hn::Mul(hn::Sub(by_r, energy), p.inverse);
    const Vf total = hn::MulAdd(embedding, per_spacing, pair);
    const Vf over_r = hn::IfThenElseZero(p.exist, hn::Neg(hn::Mul(total, p.inverse)));
    sums.energy = hn::Add(sums.energy, hn::IfThenElseZero(p.exist, energy));
    const Point force{hn::Mul(over_r, p.d.x), hn::Mul(over_r, p.d.y), hn::Mul(over_r, p.d.z)};
    sums.force = {hn::Add(sums.force.x, force.x), hn::Add(sums.force.y, force.y),
                  hn::Add(sums.force.z, force.z)};
    add_to(list.data, Field::kForceX, near + n, count, hn::Neg(force.x));
    add_to(list.data, Field::kForceY, near + n, count, hn::Neg(force.y));
    add_to(list.data, Field::kForceZ, near + n, count, hn::Neg(force.z));
  }
  return sums;
}

template <bool one_type>
void evaluate_forces(const EmbeddedForces& op, int first, int last, PairThread& thread) {
  const EmbeddedLists& pairs = op.pairs;
  const auto meet = [&](const IAtom& i, const Blocks& blocks, const int32_t* near, size_t found,
                        uint32_t number, IResult& result) {
    const ForceSums sums = add_forces<one_type>(pairs, i, blocks, near, found);
    float* const force = result.force + 4 * number;
    force[0] = hn::ReduceSum(df, sums.force.x);
    force[1] = hn::ReduceSum(df, sums.force.y);
    force[2] = hn::ReduceSum(df, sums.force.z);
    result.form += hn::ReduceSum(df, sums.energy);
  };
  const auto deliver = [&](const PairList& list, uint32_t base, const Blocks& blocks,
                           IResult& result) {
    if (op.energy) {
      const Symmetric virial = virial_of(pairs.slots, base, blocks, result);
      for (int k = 0; k < Symmetric::kParts; ++k)
        thread.virial[k] += to_fixed(virial[k], kEnergyScale);
      thread.form += to_fixed(result.form, kEnergyScale);
    }
    Totals totals;
    deliver_j(pairs, list, blocks, kForceScale, thread, totals);
    deliver_i(result, base, thread, totals);
  };
  over_lists(pairs, first, last, thread, meet, deliver);
}

void densities_here(const EmbeddedDensities& op, int first, int last, PairThread& thread) {
  op.pairs.types == 1 ? evaluate_densities<true>(op, first, last, thread)
                      : evaluate_densities<false>(op, first, last, thread);
}

void forces_here(const EmbeddedForces& op, int first, int last, PairThread& thread) {
  op.pairs.types == 1 ? evaluate_forces<true>(op, first, last, thread)
                      : evaluate_forces<false>(op, first, last, thread);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quiltmd {

HWY_EXPORT(densities_here);
HWY_EXPORT(forces_here);

void evaluate_lists(const EmbeddedDensities& op, int first, int last, PairThread& thread) {
  HWY_DYNAMIC_DISPATCH(densities_here)(op, first, last, thread);
}

void evaluate_lists(const EmbeddedForces& op, int first, int last, PairThread& thread) {
  HWY_DYNAMIC_DISPATCH(forces_here)(op, first, last, thread);
}

}  // namespace quiltmd
#endif
