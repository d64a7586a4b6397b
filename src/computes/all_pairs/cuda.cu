// SPDX-License-Identifier: Apache-2.0
// All pairs on the GPU. A block has 128 atoms of the roster, a row, one in each thread, and passes chunks
// of 64 others by them through shared memory, all threads reading the same one. Sums stay in the
// registers of their atom: floating-point ones of a chunk, integers above. Where there are few atoms,
// the chunks of a row are dealt out to several blocks, so that all of the machine has work.
//
// The forces of a pair are found once and given to both atoms: a row meets the chunks behind it, and the
// sums over the atoms of a warp, for eight atoms of the chunk at a time, are taken by a transposition.
// A row with itself, energies, and the sums of integrals, of which both atoms of a pair have their own, are
// found for each atom by itself. With several ranks each does the rows and chunks in which it has atoms.
#include <algorithm>
#include <climits>

#include "computes/all_pairs/operations.h"
#include "computes/nonbonded/cuda_pair_math.cuh"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace all_pairs {

using pairs::force_to_fixed;
using pairs::limited_force;
using pairs::Single;

constexpr int kThreads = 128;
constexpr int kRow = kThreads / kClusterSize;  // clusters
constexpr int kChunk = 8;                      // clusters
static_assert(kRow % kChunk == 0, "a row is so many chunks, too");
constexpr int kBlocksPerProcessor = 16;  // that give every multiprocessor enough to do

// ---- The roster ------------------------------------------------------------------------------

constexpr int kScanThreads = 1024;

__global__ void __launch_bounds__(kScanThreads)
    number_clusters_kernel(const __grid_constant__ LayOutRoster op) {
  wait_for_previous();
  int before = 0;
  for (int base = 0; base < op.patch_count; base += kScanThreads) {
    const int p = base + threadIdx.x;
    PlacedPatch patch{};
    if (p < op.patch_count) patch = op.patches[op.placed_index[p]];
    const int clusters = clusters_of(patch.atoms);
    int all = 0;
    const int place = before + block_sum(clusters, &all);
    for (int c = 0; c < clusters && place + c < op.roster_capacity; ++c) {
      const int cluster = patch.start / kClusterSize + c;
      op.place_of_cluster[cluster] = place + c;
      op.roster[place + c] = {cluster, patch.cell};
    }
    before += all;
  }
  if (threadIdx.x == 0) *op.roster_count = min(before, op.roster_capacity);
}

// Partners are a dozen, so they are sorted by insertion.
__device__ void look_up_partners(const LayOutRoster& op, int atom) {
  const int begin = op.exclusions.start[atom], end = op.exclusions.start[atom + 1];
  for (int k = begin; k < end; ++k) {
    const int slot = op.slot_of_atom[op.exclusions.partners[k]];
    const int place =
        slot < 0 ? INT_MAX
                 : op.place_of_cluster[slot / kClusterSize] * kClusterSize + slot % kClusterSize;
    int at = k;
    for (; at > begin && op.partners[at - 1] > place; --at) op.partners[at] = op.partners[at - 1];
    op.partners[at] = place;
  }
}

__global__ void __launch_bounds__(kThreads)
    look_up_kernel(const __grid_constant__ LayOutRoster op) {
  wait_for_previous();
  const int n = blockIdx.x * kThreads + threadIdx.x;
  if (n < op.atoms) look_up_partners(op, n);
  if (!op.sites || n >= op.slot_capacity) return;
  op.sums[n] = op.derivatives[n] = 0;
  const int place = n / kClusterSize;
  if (place >= *op.roster_count) return;
  const int slot = op.roster[place].cluster * kClusterSize + n % kClusterSize;
  const int32_t atom = op.slots.atom[slot];
  op.sites[slot] = atom < 0 ? BornSite{} : op.site_of_atom[atom];
}

// ---- Passes over pairs -----------------------------------------------------------------------

// A chunk of the roster in shared memory; `More` is what a pass needs besides places.
template <class More>
struct Tile {
  float4 site[kChunk * kClusterSize];
  More more[kChunk * kClusterSize];
  RosterEntry entry[kChunk];
  float4 sphere[kChunk];  // around the atoms of a cluster: centre, radius
};

// The atom of a thread. Behind the end of the roster there is none, as far away as padding.
struct Own {
  int slot;
  bool exists;
  bool counts;  // it is an atom of this rank
  Int3 cell;
  float x, y, z;
};

__device__ __forceinline__ int slots_of_this_rank(const AllPairs& p) {
  return min(*p.owned_slots, p.slot_capacity);
}

__device__ __forceinline__ Own own_atom(const AllPairs& p) {
  Own own{};
  const int place = blockIdx.x * kThreads + threadIdx.x, cluster = place / kClusterSize;
  const RosterEntry entry = p.roster[min(cluster, *p.roster_count - 1)];
  own.slot = entry.cluster * kClusterSize + place % kClusterSize;
  own.exists = cluster < *p.roster_count && p.slots.atom[own.slot] >= 0;
  own.counts = own.exists && own.slot < slots_of_this_rank(p);
  own.cell = entry.cell;
  const float4 site = *reinterpret_cast<const float4*>(p.slots.local + own.slot);
  own.x = own.exists ? site.x : kFarAway;
  own.y = own.exists ? site.y : kFarAway;
  own.z = own.exists ? site.z : kFarAway;
  return own;
}

// Widths of patches as two floats each, for the sum of products is as exact as a coordinate.
struct PatchWidths {
  float high[3], low[3];
  __device__ __forceinline__ explicit PatchWidths(const AllPairs& p) {
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      high[d] = static_cast<float>(p.patch_width[d]);
      low[d] = static_cast<float>(p.patch_width[d] - static_cast<double>(high[d]));
    }
  }
  // A coordinate as seen from a patch that is so many patches away.
  __device__ __forceinline__ float from(int d, int apart, float x) const {
    const auto back = static_cast<float>(-apart);
    return fmaf(back, low[d], fmaf(back, high[d], x));
  }
};

// Where the excluded atoms of an atom are, from one to the next.
class Partners {
 public:
  __device__ __forceinline__ Partners(const AllPairs& p, const Own& own)
      : at_(nullptr), end_(nullptr) {
    if (!own.exists) return;
    const int32_t atom = p.slots.atom[own.slot];
    at_ = p.partners + p.partner_start[atom];
    end_ = p.partners + p.partner_start[atom + 1];
    load();
  }
  // Bits of those among eight places.
  __device__ __forceinline__ unsigned among(int first) {
    unsigned bits = 0;
    while (next_ < first + kClusterSize) {
      if (next_ >= first) bits |= 1u << (next_ - first);
      ++at_;
      load();
    }
    return bits;
  }

 private:
  __device__ __forceinline__ void load() { next_ = at_ < end_ ? *at_ : INT_MAX; }
  const int32_t *at_, *end_;
  int next_ = INT_MAX;
};

struct NoPartners {
  __device__ __forceinline__ NoPartners(const AllPairs&, const Own&) {}
  __device__ __forceinline__ unsigned among(int) { return 0; }
};

// The sphere around the atoms of a cluster that eight lanes hold, padding left out.
__device__ __forceinline__ float4 sphere_around(float4 site) {
  const int first = threadIdx.x % kWarp / kClusterSize * kClusterSize;
  const bool padding = site.x > 0.5f * kFarAway;
  const float at[3] = {site.x, site.y, site.z};
  float centre[3], r2 = 0;
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const float of_first = __shfl_sync(kAllLanes, at[d], first);
    float low = padding ? of_first : at[d], high = low;
#pragma unroll
    for (int step = 1; step < kClusterSize; step *= 2) {
      low = fminf(low, __shfl_xor_sync(kAllLanes, low, step));
      high = fmaxf(high, __shfl_xor_sync(kAllLanes, high, step));
    }
    centre[d] = 0.5f * (low + high);
    r2 = fmaf(high - centre[d], high - centre[d], r2);
  }
  return {centre[0], centre[1], centre[2], sqrtf(r2)};
}

// Whether a point is farther than `reach` from all of a sphere.
__device__ __forceinline__ bool lies_beyond(float reach, const float4& sphere, float x, float y,
                                            float z) {
  const float dx = x - sphere.x, dy = y - sphere.y, dz = z - sphere.z, least = sphere.w + reach;
  return fmaf(dx, dx, fmaf(dy, dy, dz * dz)) > least * least;
}

// What the atoms of a warp give to eight others: up to four numbers each.
struct Reactions {
  float of[kWarp];

  template <int kNumber>
  __device__ __forceinline__ void set(int other, float value) {
    of[kNumber * kClusterSize + other] = value;
  }
  // To each lane the sum over all lanes of the number of that lane, always in the same order.
  template <int kHalf = kWarp / 2>
  __device__ __forceinline__ float sum() {
    const bool upper = threadIdx.x & kHalf;
#pragma unroll
    for (int k = 0; k < kHalf; ++k) {
      const float kept = upper ? of[k + kHalf] : of[k], given = upper ? of[k] : of[k + kHalf];
      of[k] = kept + __shfl_xor_sync(kAllLanes, given, kHalf);
    }
    if constexpr (kHalf > 1) {
      return sum<kHalf / 2>();
    } else {
      return of[0];
    }
  }
};

// The atoms of a row against the chunks of this piece: those behind it, or where a pass finds each atom's
// sums by itself (kFirst), from the first one on. A pass brings an atom into a tile (bring), takes in an
// atom (add, add_distant), ends a chunk, and says where what the other atoms get goes for this lane
// (gift). Where it has a formula for distant atoms (kDistant), it takes in the atoms of a cluster by that
// if the sphere around the cluster is far enough away: which follows from the atom and the cluster
// alone, so an atom's sum does not depend on those beside it.
template <class Pass>
__device__ __forceinline__ void meet_all(const AllPairs& p, const Own& own, Pass& pass) {
  __shared__ Tile<typename Pass::More> tile;
  const int row = blockIdx.x * (kRow / kChunk), behind = row + kRow / kChunk;  // by chunks
  const int slots = slots_of_this_rank(p);
  const int count = *p.roster_count, chunks = (count + kChunk - 1) / kChunk;
  const bool row_counts = __syncthreads_or(own.counts);
  if (!row_counts && !Pass::kGivesBack) return;
  const PatchWidths widths(p);
  typename Pass::Excluded partners(p, own);
  Int3 seen_from = own.cell;  // and the atom's coordinates as seen from that patch
  float x = own.x, y = own.y, z = own.z;
#pragma unroll 1
  for (int chunk = (Pass::kFirst ? 0 : row) + blockIdx.y; chunk < chunks; chunk += gridDim.y) {
    const int first = chunk * kChunk, clusters = min(count - first, kChunk);
    const bool both = Pass::kGivesBack && chunk >= behind;
    __syncthreads();
    float4 site{};
    const int in_cluster = threadIdx.x % kClusterSize, cluster = threadIdx.x / kClusterSize;
    bool theirs_count = false;
    if (cluster < clusters) {
      const RosterEntry entry = p.roster[first + cluster];
      const int slot = entry.cluster * kClusterSize + in_cluster;
      theirs_count = both && slot < slots;
      pass.bring(slot, site, tile.more[threadIdx.x]);
      tile.site[threadIdx.x] = site;
      if (in_cluster == 0) tile.entry[cluster] = entry;
    }
    if constexpr (Pass::kDistant) {
      const float4 sphere = sphere_around(site);
      if (in_cluster == 0 && cluster < clusters) tile.sphere[cluster] = sphere;
    }
    const bool chunk_counts = __syncthreads_or(theirs_count);
    if (!row_counts && !chunk_counts) continue;
#pragma unroll 1
    for (int c = 0; c < clusters; ++c) {
      const RosterEntry entry = tile.entry[c];
      if (entry.cell != seen_from) {
        seen_from = entry.cell;
        x = widths.from(0, p.apart(own.cell, seen_from, 0), own.x);
        y = widths.from(1, p.apart(own.cell, seen_from, 1), own.y);
        z = widths.from(2, p.apart(own.cell, seen_from, 2), own.z);
      }
      const int base = c * kClusterSize;
      const bool own_cluster = own.slot / kClusterSize == entry.cluster;
      const unsigned itself = own_cluster ? 1u << own.slot % kClusterSize : 0;
      const unsigned excluded = partners.among((first + c) * kClusterSize);
      const bool special = __any_sync(kAllLanes, excluded | itself);
      Reactions back{};
      int terms = 0;
      if constexpr (Pass::kDistant) {
        const SeriesReach& reach = pass.op.reach;
        if (lies_beyond(reach.six_terms, tile.sphere[c], x, y, z)) terms = 6;
        if (lies_beyond(reach.three_terms, tile.sphere[c], x, y, z)) terms = 3;
      }
      if (terms == 3) {
#pragma unroll
        for (int a = 0; a < kClusterSize; ++a)
          pass.template add_distant<3>(tile.site[base + a], tile.more[base + a], x, y, z, back, a);
      } else if (terms == 6) {
#pragma unroll
        for (int a = 0; a < kClusterSize; ++a)
          pass.template add_distant<6>(tile.site[base + a], tile.more[base + a], x, y, z, back, a);
      } else if (special || Pass::kDistant) {
#pragma unroll
        for (int a = 0; a < kClusterSize; ++a)
          if (!(itself >> a & 1u))
            pass.add(tile.site[base + a], tile.more[base + a], x, y, z, excluded >> a & 1u, back,
                     a);
      } else {
#pragma unroll
        for (int a = 0; a < kClusterSize; ++a)
          pass.add(tile.site[base + a], tile.more[base + a], x, y, z, false, back, a);
      }
      if constexpr (Pass::kGivesBack) {
        if (!both) continue;
        const float sum = back.sum();
        const int slot = entry.cluster * kClusterSize + in_cluster;
        if (slot < slots && pass.gift)
          add_fixed(pass.gift + slot, force_to_fixed(limited_force(sum)));
      }
    }
    pass.end_chunk(chunk >= row);
  }
}

struct Way {
  float x, y, z, r2, per_r;
  __device__ __forceinline__ Way(const float4& site, float from_x, float from_y, float from_z)
      : x(from_x - site.x), y(from_y - site.y), z(from_z - site.z) {
    r2 = fmaf(x, x, fmaf(y, y, z * z));
    per_r = pairs::inverse_sqrt(r2);
  }
};

struct Force {
  float x = 0, y = 0, z = 0;
  long long total[3] = {0, 0, 0};

  __device__ __forceinline__ void add(float over_r, const Way& way, Reactions& back, int a) {
    x = fmaf(over_r, way.x, x);
    y = fmaf(over_r, way.y, y);
    z = fmaf(over_r, way.z, z);
    back.set<0>(a, -over_r * way.x);
    back.set<1>(a, -over_r * way.y);
    back.set<2>(a, -over_r * way.z);
  }
  __device__ __forceinline__ void end_chunk() {
    total[0] += force_to_fixed(limited_force(x));
    total[1] += force_to_fixed(limited_force(y));
    total[2] += force_to_fixed(limited_force(z));
    x = y = z = 0;
  }
  __device__ __forceinline__ void add_to_totals(const Slots& slots, int slot) const {
#pragma unroll
    for (int d = 0; d < 3; ++d) add_fixed(slots.force[d] + slot, total[d]);
  }
};

// Where the number of a lane goes that atoms are given back: forces, and what is added to `fourth`.
__device__ __forceinline__ int64_t* gift_of_lane(const Slots& slots, int64_t* fourth) {
  const int number = threadIdx.x % kWarp / kClusterSize;
  return number == 0   ? slots.force[0]
         : number == 1 ? slots.force[1]
         : number == 2 ? slots.force[2]
                       : fourth;
}

__device__ __forceinline__ BornSite load_site(const BornSite* sites, int slot) {
  const float4 s = *reinterpret_cast<const float4*>(sites + slot);
  return {s.x, s.y, s.z, __float_as_int(s.w)};
}

// ---- First pass ----

template <bool kNecks>
struct IntegralPass {
  using More = BornSite;
  using Excluded = NoPartners;
  static constexpr bool kDistant = true, kGivesBack = false, kFirst = true;
  const BornIntegrals& op;
  BornSite own;
  float sum = 0;
  long long total = 0;

  __device__ __forceinline__ void bring(int slot, float4& site, BornSite& more) const {
    site = *reinterpret_cast<const float4*>(op.pairs.slots.local + slot);
    more = load_site(op.sites, slot);
    site.w = more.scaled_radius;
  }
  template <int kTerms>
  __device__ __forceinline__ void add_distant(const float4& site, const BornSite&, float x, float y,
                                              float z, Reactions&, int) {
    const Way way(site, x, y, z);
    const float ratio = site.w * way.per_r;
    sum += distant_screening<kTerms>(way.per_r, ratio, ratio * ratio).value;
  }
  __device__ __forceinline__ void add(const float4& site, const BornSite& more, float x, float y,
                                      float z, bool, Reactions&, int) {
    const Way way(site, x, y, z);
    const float r = way.r2 * way.per_r;
    sum += screening<float>(r, way.per_r, own.offset_radius, more.scaled_radius).value;
    if constexpr (kNecks) sum += neck_of<float>(op.necks, own, more, r).value;
  }
  __device__ __forceinline__ void end_chunk(bool) {
    total += to_fixed(sum, kScreeningScale);
    sum = 0;
  }
};

template <bool kNecks>
__global__ void __launch_bounds__(kThreads)
    born_integrals_kernel(const __grid_constant__ BornIntegrals op) {
  wait_for_previous();
  if (static_cast<int>(blockIdx.x) * kRow >= *op.pairs.roster_count) return;
  const Own own = own_atom(op.pairs);
  IntegralPass<kNecks> pass{op, load_site(op.sites, own.slot)};
  meet_all(op.pairs, own, pass);
  if (own.counts) add_fixed(op.sums + own.slot, pass.total);
}

__global__ void __launch_bounds__(kThreads)
    born_radii_kernel(const __grid_constant__ BornRadii op) {
  wait_for_previous();
  const int slot = blockIdx.x * kThreads + threadIdx.x;
  if (slot < min(*op.owned_slots, op.slot_capacity)) set_radius(op, slot);
}

// ---- Second pass ----

struct Partner {
  Float2 numbers;
  float radius, per_radius;
};

template <class Form, bool kSolvent, bool kEnergy>
struct ForcePass {
  using More = Partner;
  using Excluded = Partners;
  static constexpr bool kDistant = false, kGivesBack = true, kFirst = kEnergy;
  const AllPairForces& op;
  typename Form::template Site<Single> site;
  float charge, radius, per_radius;
  float inverse_dielectric, kappa;
  int64_t* gift;
  Force force;
  float derivative = 0, form = 0, coulomb = 0, polarised = 0;
  long long derivative_total = 0, form_total = 0, coulomb_total = 0, polarised_total = 0;

  __device__ __forceinline__ void bring(int slot, float4& place, Partner& more) const {
    place = *reinterpret_cast<const float4*>(op.pairs.slots.local + slot);
    more.numbers = op.pairs.slots.pair_numbers[slot];
    more.radius = kSolvent ? op.radii[slot] : 0;
    // Of padding nothing is known: its charge is zero, and any radius will do.
    if (kSolvent && op.pairs.slots.atom[slot] < 0) more.radius = 1;
    more.per_radius = kSolvent ? 1 / more.radius : 0;
  }

  template <int kTerms>
  __device__ __forceinline__ void add_distant(const float4&, const Partner&, float, float, float,
                                              Reactions&, int) {}

  __device__ __forceinline__ void add(const float4& other, const Partner& more, float x, float y,
                                      float z, bool excluded, Reactions& back, int a) {
    const Way way(other, x, y, z);
    const Distance<Single> r{way.r2, way.per_r, way.per_r * way.per_r};
    const float qq = charge * other.w, bare = qq * way.per_r;
    const auto pair = Form::template evaluate<kEnergy, Single>(site, more.numbers.x, more.numbers.y,
                                                               r, op.parameters, op.table);
    float over_r = excluded ? 0.0f : (pair.force_r + bare) * r.inverse2;
    if constexpr (kEnergy) {
      form += excluded ? 0.0f : pair.energy;
      coulomb += excluded ? 0.0f : bare;
    }
    if constexpr (kSolvent) {
      const auto solvent =
          polarisation<float>(way.r2, radius * more.radius, per_radius * more.per_radius, qq,
                              inverse_dielectric, kappa);
      over_r += solvent.force_over_r;
      derivative = fmaf(solvent.by_product, more.radius, derivative);
      back.set<3>(a, solvent.by_product * radius);
      if constexpr (kEnergy) polarised += solvent.energy;
    }
    force.add(over_r, way, back, a);
  }

  // Forces by a chunk in front of the row are what that one's row gives back.
  __device__ __forceinline__ void end_chunk(bool forces_count) {
    if (!kEnergy || forces_count) {
      force.end_chunk();
      if constexpr (kSolvent) derivative_total += force_to_fixed(limited_force(derivative));
    }
    force.x = force.y = force.z = derivative = 0;
    if constexpr (kEnergy) {
      form_total += to_fixed(0.5 * form, kEnergyScale);
      coulomb_total += to_fixed(0.5 * coulomb, kEnergyScale);
      polarised_total += to_fixed(0.5 * polarised, kEnergyScale);
      form = coulomb = polarised = 0;
    }
  }
};

__device__ __forceinline__ void add_energy(int64_t* energy, int kind, bool counts,
                                           long long value) {
  const long long sum = warp_sum(counts ? value : 0);
  if (threadIdx.x % kWarp == 0) add_fixed(energy + kind, sum);
}

template <class Form, bool kSolvent, bool kEnergy>
__global__ void __launch_bounds__(kThreads)
    all_pair_forces_kernel(const __grid_constant__ AllPairForces op) {
  wait_for_previous();
  const Slots& s = op.pairs.slots;
  if (static_cast<int>(blockIdx.x) * kRow >= *op.pairs.roster_count) return;
  const Own own = own_atom(op.pairs);
  const float radius = kSolvent && own.exists ? op.radii[own.slot] : 1.0f;
  const Float2 numbers = own.exists ? s.pair_numbers[own.slot] : Float2{0, 0};
  ForcePass<Form, kSolvent, kEnergy> pass{
      op,
      Form::template site<Single>(numbers, op.table, op.parameters.types),
      own.exists ? s.local[own.slot].w : 0.0f,
      radius,
      1 / radius,
      static_cast<float>(op.constants.inverse_dielectric),
      static_cast<float>(op.constants.kappa),
      gift_of_lane(s, kSolvent ? op.derivatives : nullptr),
      {}};
  meet_all(op.pairs, own, pass);
  if (own.counts) {
    pass.force.add_to_totals(s, own.slot);
    if constexpr (kSolvent) add_fixed(op.derivatives + own.slot, pass.derivative_total);
  }
  if constexpr (kEnergy) {
    add_energy(op.energy, kPairForm, own.counts, pass.form_total);
    add_energy(op.energy, kCoulombDirect, own.counts, pass.coulomb_total);
    add_energy(op.energy, kPolarisation, own.counts, pass.polarised_total);
  }
}

__global__ void __launch_bounds__(kThreads)
    born_slopes_kernel(const __grid_constant__ BornSlopes op) {
  wait_for_previous();
  const int slot = blockIdx.x * kThreads + threadIdx.x;
  const bool owned = slot < min(*op.owned_slots, op.slot_capacity);
  const SlopeEnergies own = owned ? set_slope(op, slot) : SlopeEnergies{0, 0};
  if (!op.energy) return;
  add_energy(op.energy, kPolarisation, owned, own.polarisation);
  add_energy(op.energy, kSurface, owned, own.surface);
}

// ---- Third pass ----

template <bool kNecks>
struct ChainPass {
  using More = BornSite;
  using Excluded = NoPartners;
  static constexpr bool kDistant = true, kGivesBack = true, kFirst = false;
  const BornForces& op;
  BornSite own;
  float slope;
  int64_t* gift;
  Force force{};

  __device__ __forceinline__ void bring(int slot, float4& site, BornSite& more) const {
    site = *reinterpret_cast<const float4*>(op.pairs.slots.local + slot);
    site.w = op.pairs.slots.atom[slot] < 0 ? 0.0f : op.slopes[slot];
    more = load_site(op.sites, slot);
  }
  template <int kTerms>
  __device__ __forceinline__ void add_distant(const float4& site, const BornSite& more, float x,
                                              float y, float z, Reactions& back, int a) {
    const Way way(site, x, y, z);
    const float ratio = more.scaled_radius * way.per_r, other = own.scaled_radius * way.per_r;
    const float here = distant_screening<kTerms>(way.per_r, ratio, ratio * ratio).slope,
                there = distant_screening<kTerms>(way.per_r, other, other * other).slope;
    force.add(-fmaf(slope, here, site.w * there) * way.per_r, way, back, a);
  }
  __device__ __forceinline__ void add(const float4& site, const BornSite& more, float x, float y,
                                      float z, bool, Reactions& back, int a) {
    const Way way(site, x, y, z);
    const float r = way.r2 * way.per_r;
    float here = screening<float>(r, way.per_r, own.offset_radius, more.scaled_radius).slope;
    float there = screening<float>(r, way.per_r, more.offset_radius, own.scaled_radius).slope;
    if constexpr (kNecks) {
      here += neck_of<float>(op.necks, own, more, r).slope;
      there += neck_of<float>(op.necks, more, own, r).slope;
    }
    force.add(-fmaf(slope, here, site.w * there) * way.per_r, way, back, a);
  }
  __device__ __forceinline__ void end_chunk(bool) { force.end_chunk(); }
};

template <bool kNecks>
__global__ void __launch_bounds__(kThreads)
    born_forces_kernel(const __grid_constant__ BornForces op) {
  wait_for_previous();
  if (static_cast<int>(blockIdx.x) * kRow >= *op.pairs.roster_count) return;
  const Own own = own_atom(op.pairs);
  ChainPass<kNecks> pass{op, own.exists ? load_site(op.sites, own.slot) : BornSite{},
                         own.exists ? op.slopes[own.slot] : 0.0f,
                         gift_of_lane(op.pairs.slots, nullptr)};
  meet_all(op.pairs, own, pass);
  if (own.counts) pass.force.add_to_totals(op.pairs.slots, own.slot);
}

}  // namespace all_pairs

namespace {

using all_pairs::kThreads;

LaunchShape by_slot(const char* name, int count) {
  return {name, blocks_for(count, kThreads), kThreads, 0, Start::kEarly};
}

// Blocks for all atoms that there is room for; those without atoms end at once.
LaunchShape by_pairs(const char* name, const AllPairs& p, const CudaContext& context) {
  const unsigned rows = std::max(blocks_for(p.roster_capacity, all_pairs::kRow), 1u);
  const unsigned chunks = std::max(blocks_for(p.roster_capacity, all_pairs::kChunk), 1u);
  const auto wanted = static_cast<unsigned>(context.sm_count) * all_pairs::kBlocksPerProcessor;
  LaunchShape shape{name, rows, kThreads, 0, Start::kEarly};
  shape.blocks_y = std::min(blocks_for(wanted, rows), chunks);
  return shape;
}

void lay_out_roster(const LayOutRoster& op, CudaContext& context) {
  launch(context, {"lay_out_roster.number", 1, all_pairs::kScanThreads},
         all_pairs::number_clusters_kernel, op);
  launch(context, by_slot(LayOutRoster::kName, std::max(op.atoms, op.slot_capacity)),
         all_pairs::look_up_kernel, op);
}

void born_integrals(const BornIntegrals& op, CudaContext& context) {
  launch(context, by_pairs(BornIntegrals::kName, op.pairs, context),
         op.necks.types > 0 ? all_pairs::born_integrals_kernel<true>
                            : all_pairs::born_integrals_kernel<false>,
         op);
}

void born_radii(const BornRadii& op, CudaContext& context) {
  launch(context, by_slot(BornRadii::kName, op.slot_capacity), all_pairs::born_radii_kernel, op);
}

using ForceKernel = void (*)(AllPairForces);

template <class Form>
ForceKernel kernel_of(const AllPairForces& op) {
  if (op.radii)
    return op.energy ? all_pairs::all_pair_forces_kernel<Form, true, true>
                     : all_pairs::all_pair_forces_kernel<Form, true, false>;
  return op.energy ? all_pairs::all_pair_forces_kernel<Form, false, true>
                   : all_pairs::all_pair_forces_kernel<Form, false, false>;
}

void all_pair_forces(const AllPairForces& op, CudaContext& context) {
  const auto kernel =
      PairForms::with(op.parameters.form, [&]<class Form>(Form) { return kernel_of<Form>(op); });
  launch(context, by_pairs(AllPairForces::kName, op.pairs, context), kernel, op);
}

void born_slopes(const BornSlopes& op, CudaContext& context) {
  launch(context, by_slot(BornSlopes::kName, op.slot_capacity), all_pairs::born_slopes_kernel, op);
}

void born_forces(const BornForces& op, CudaContext& context) {
  launch(context, by_pairs(BornForces::kName, op.pairs, context),
         op.necks.types > 0 ? all_pairs::born_forces_kernel<true>
                            : all_pairs::born_forces_kernel<false>,
         op);
}

}  // namespace

void add_all_pairs_kernels(CudaKernels& table) {
  table.add<LayOutRoster, lay_out_roster>();
  table.add<BornIntegrals, born_integrals>();
  table.add<BornRadii, born_radii>();
  table.add<AllPairForces, all_pair_forces>();
  table.add<BornSlopes, born_slopes>();
  table.add<BornForces, born_forces>();
}

}  // namespace quiltmd
