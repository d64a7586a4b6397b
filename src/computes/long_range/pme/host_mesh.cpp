// SPDX-License-Identifier: Apache-2.0
// Charges onto the grid and forces off it, on the CPU. One atom at a time, its z weights side by
// side in one vector of eight lanes (order 5 leaves three idle, order 8 none; taking several atoms at once would
// need scattered loads and stores, which cost more).
//
// Spreading needs no atomics: the planes are cut into slabs, a slab belongs to one thread, and every
// thread visits the patches that reach into its slab. An atom at the border of two slabs has its
// weights worked out twice. Sums are integers, so the cut does not show in the result. Neither does
// the instruction set: no fused multiply-add, and lanes are summed in one order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "computes/long_range/pme/host_mesh.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
//
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "computes/long_range/pme/host_kernels.h"
#include "computes/long_range/pme/mesh_frame.h"

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, kWindowWidth>;
using Ints = hn::RebindToSigned<Floats>;
constexpr int kWidth = static_cast<int>(hn::MaxLanes(Floats()));
constexpr int kParts = kWindowWidth / kWidth;

// sum over d of coefficient[d][lane] (t - 1/2)^d, d < Terms, for all lanes.
template <int Terms>
HWY_INLINE void polynomial(const float (*coefficient)[kWindowWidth], float t, float* out) {
  const Floats d;
  const auto u = hn::Set(d, t - 0.5f);
  for (int k = 0; k < kWindowWidth; k += kWidth) {
    auto v = hn::LoadU(d, coefficient[Terms - 1] + k);
    for (int n = Terms - 2; n >= 0; --n)
      v = hn::Add(hn::Mul(v, u), hn::LoadU(d, coefficient[n] + k));
    hn::StoreU(v, d, out + k);
  }
}

// Eight points of a row of the grid, never beyond its end: of an atom near the end the first `over` of them are
// from the beginning of the row, and its weights along z are turned likewise.
struct RowPlace {
  int start, over;
  bool is_divided;  // points from the beginning have weights

  RowPlace(int first, int nz, int order)
      : start(std::min(first, nz - kWindowWidth)),
        over(first - start),
        is_divided(kWindowWidth - over < order) {}
};

// Weights or slopes, one after the other and once more, so that they can be read turned.
struct Turned {
  alignas(32) float values[2 * kWindowWidth];

  template <int Terms>
  HWY_INLINE void set(const float (*coefficient)[kWindowWidth], float t) {
    polynomial<Terms>(coefficient, t, values);
    std::copy(values, values + kWindowWidth, values + kWindowWidth);
  }
  HWY_INLINE const float* by(int over) const {
    return values + (kWindowWidth - over) % kWindowWidth;
  }
};

// Which of the lanes from number `k` on are points from the beginning of a row.
HWY_INLINE auto from_beginning(int over, int k) {
  return hn::FirstN(Floats(), static_cast<size_t>(std::max(over - k, 0)));
}

// The grid points that an atom reaches in x or y: Order consecutive ones around the boundary.
template <int Order>
HWY_INLINE void consecutive(const MeshFrame& frame, int d, int last, int n, int* points) {
  const int first = frame.wrap(d, last - (Order - 1));
  for (int j = 0; j < Order; ++j) points[j] = first + j < n ? first + j : first + j - n;
}

// An atom's place and what of it is on the mesh.
template <class Op>
HWY_INLINE Float4 load_atom(const Op& op, int slot) {
  Float4 local = op.slots.local[slot];
  if (op.coefficients) local.w = op.box->coefficient_factor * op.coefficients[slot];
  return local;
}

// ---- spreading ----

// Range of planes [first, end).
struct Slab {
  int first, end;
};

template <int Order>
class Spreader {
 public:
  explicit Spreader(const SpreadCharges& op) : op_(op), frame_(op.grid, *op.box) {}

  // The planes that a patch's atoms reach, unwrapped; counts atoms by their last plane.
  Slab reach(const PlacedPatch& patch, int* atoms_at) {
    frame_.enter(patch.cell);
    Slab reach{std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
    for (int slot = patch.start; slot < patch.start + patch.atoms; ++slot) {
      const int point = frame_.place(0, op_.slots.local[slot]).point;
      reach = {std::min(reach.first, point), std::max(reach.end, point + 1)};
      ++atoms_at[frame_.wrap(0, point)];
    }
    return {reach.first - Order + 1, reach.end};
  }

  void add(const PlacedPatch& patch, Slab slab) {
    frame_.enter(patch.cell);
    for (int slot = patch.start; slot < patch.start + patch.atoms; ++slot) {
      const Float4 local = load_atom(op_, slot);
      const MeshFrame::Place x = frame_.place(0, local);
      int planes[Order], inside = 0;
      consecutive<Order>(frame_, 0, x.point, op_.grid.nx, planes);
      for (int& plane : planes) {
        const bool in = plane >= slab.first && plane < slab.end;
        inside += in;
        if (!in) plane = -1;
      }
      if (inside) add_atom(local, x.fraction, planes);
    }
  }

 private:
  // Add an atom to those of its planes that are not -1.
  HWY_INLINE void add_atom(const Float4& local, float x_fraction, const int (&planes)[Order]) {
    const auto& weights = op_.window.weight;
    const MeshFrame::Place y = frame_.place(1, local), z = frame_.place(2, local);
    alignas(32) float wx[kWindowWidth], wy[kWindowWidth];
    polynomial<Order>(weights, x_fraction, wx);
    polynomial<Order>(weights, y.fraction, wy);
    wz_.set<Order>(weights, z.fraction);
    const int ny = op_.grid.ny, nz = op_.grid.nz;
    const RowPlace row(frame_.wrap(2, z.point - (Order - 1)), nz, Order);
    int lines[Order];
    consecutive<Order>(frame_, 1, y.point, ny, lines);
    ptrdiff_t line_at[Order];
    for (int j = 0; j < Order; ++j) line_at[j] = static_cast<ptrdiff_t>(lines[j]) * nz;

    const float charge = local.w * static_cast<float>(kChargeScale);
    const Floats d;
    const Ints di;
    const float* const weight_z = wz_.by(row.over);
    for (int i = 0; i < Order; ++i) {
      if (planes[i] < 0) continue;
      const auto weight_x = hn::Set(d, charge * wx[i]);
      int32_t* const plane = op_.charges + static_cast<ptrdiff_t>(planes[i]) * ny * nz;
      for (int k = 0; k < kWindowWidth; k += kWidth) {
        const auto weight_xz = hn::Mul(weight_x, hn::LoadU(d, weight_z + k));
        const auto is_first = hn::RebindMask(di, from_beginning(row.over, k));
        for (int j = 0; j < Order; ++j) {
          int32_t* const first = plane + line_at[j] + k;
          const auto share = hn::NearestInt(hn::Mul(weight_xz, hn::Set(d, wy[j])));
          if (row.is_divided) {
            add_to(first, hn::IfThenElseZero(is_first, share));
            add_to(first + row.start, hn::IfThenZeroElse(is_first, share));
          } else {
            add_to(first + row.start, share);
          }
        }
      }
    }
  }
  static HWY_INLINE void add_to(int32_t* at, hn::Vec<Ints> share) {
    hn::StoreU(hn::Add(hn::LoadU(Ints(), at), share), Ints(), at);
  }

  const SpreadCharges& op_;
  MeshFrame frame_;
  Turned wz_;
};

// Do planes [a.first, a.end), any image, meet the slab?
bool meets(Slab a, Slab slab, int nx) {
  const auto ahead = [nx](int from, int to) { return ((to - from) % nx + nx) % nx; };
  return a.first < a.end && (ahead(a.first, slab.first) < a.end - a.first ||
                             ahead(slab.first, a.first) < slab.end - slab.first);
}

// Survey needed before spreading in several slabs.
struct Survey {
  std::vector<Slab> reach;    // by patch
  std::vector<int> atoms_at;  // by the last plane that an atom touches
};

template <int Order>
Survey survey(const SpreadCharges& op, ThreadGroup& threads) {
  const auto nx = static_cast<size_t>(op.grid.nx);
  Survey result{std::vector<Slab>(static_cast<size_t>(op.patch_count)), std::vector<int>(nx, 0)};
  threads.parallel_for(op.patch_count, 16, [&](int begin, int end, int) {
    Spreader<Order> spreader(op);
    std::vector<int> atoms_at(nx, 0);
    for (int p = begin; p < end; ++p)
      result.reach[static_cast<size_t>(p)] = spreader.reach(op.patches[p], atoms_at.data());
    for (size_t x = 0; x < nx; ++x)
      std::atomic_ref(result.atoms_at[x]).fetch_add(atoms_at[x], std::memory_order_relaxed);
  });
  return result;
}

// Cut the planes into slabs that get about equally much charge to spread.
std::vector<Slab> balanced_slabs(const std::vector<int>& atoms_at, int order, int slabs) {
  const int nx = static_cast<int>(atoms_at.size());
  int64_t total = 0, passed = 0;
  for (const int atoms : atoms_at) total += int64_t{atoms} * order;
  std::vector<Slab> result;
  int first = 0;
  for (int x = 0; x < nx; ++x) {
    for (int j = 0; j < order; ++j) passed += atoms_at[static_cast<size_t>((x + j) % nx)];
    const auto made = static_cast<int64_t>(result.size()) + 1;
    if (x + 1 == nx || (made < slabs && passed * slabs >= total * made)) {
      result.push_back({first, x + 1});
      first = x + 1;
    }
  }
  return result;
}

template <int Order>
void spread(const SpreadCharges& op, ThreadGroup& threads) {
  const int nx = op.grid.nx;
  if (threads.size() == 1) {
    Spreader<Order> spreader(op);
    for (int p = 0; p < op.patch_count; ++p) spreader.add(op.patches[p], {0, nx});
    return;
  }
  const Survey found = survey<Order>(op, threads);
  // A slab per thread: more would even out little and repeat weights.
  const std::vector<Slab> slabs = balanced_slabs(found.atoms_at, Order, threads.size());
  threads.parallel_for(static_cast<int>(slabs.size()), 1, [&](int begin, int end, int) {
    Spreader<Order> spreader(op);
    for (int s = begin; s < end; ++s)
      for (int p = 0; p < op.patch_count; ++p)
        if (meets(found.reach[static_cast<size_t>(p)], slabs[static_cast<size_t>(s)], nx))
          spreader.add(op.patches[p], slabs[static_cast<size_t>(s)]);
  });
}

void spread_any(const SpreadCharges& op, ThreadGroup& threads) {
  for_order(op.grid.order, [&]<int Order>() { spread<Order>(op, threads); });
}

// ---- gathering ----

// Sum of eight lanes in the order in which any width of vector can fold them.
HWY_INLINE float fold(const float* v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

template <int Order>
class Gatherer {
 public:
  explicit Gatherer(const GatherForces& op) : op_(op), frame_(op.grid, *op.box) {}

  void gather(const PlacedPatch& patch) {
    frame_.enter(patch.cell);
    for (int slot = patch.start; slot < patch.start + patch.atoms; ++slot) {
      const Float4 local = load_atom(op_, slot);
      Vec3f f = -local.w * frame_.to_cartesian(gradient(local));
      Float4& force = op_.slots.long_range[slot];
      if (op_.of == MeshOf::kDispersion) f += {force.x, force.y, force.z};
      force = {f.x, f.y, f.z, 0};
    }
  }

 private:
  // Begins of the rows that an atom reaches.
  struct Rows {
    const float* plane[Order];
    ptrdiff_t line[Order];
  };

  // Gradient of the potential in grid coordinates.
  HWY_INLINE Vec3f gradient(const Float4& local) {
    const WindowPolynomials& window = op_.window;
    float w[2][kWindowWidth], s[2][kWindowWidth];
    MeshFrame::Place place[3];
    for (int d = 0; d < 3; ++d) place[d] = frame_.place(d, local);
    for (int d = 0; d < 2; ++d) {
      polynomial<Order>(window.weight, place[d].fraction, w[d]);
      polynomial<Order - 1>(window.slope, place[d].fraction, s[d]);
    }
    wz_.set<Order>(window.weight, place[2].fraction);
    sz_.set<Order - 1>(window.slope, place[2].fraction);
    const int nz = op_.grid.nz;
    const RowPlace row(frame_.wrap(2, place[2].point - (Order - 1)), nz, Order);
    int planes[Order], lines[Order];
    consecutive<Order>(frame_, 0, place[0].point, op_.grid.nx, planes);
    consecutive<Order>(frame_, 1, place[1].point, op_.grid.ny, lines);
    Rows rows;
    for (int i = 0; i < Order; ++i) {
      rows.plane[i] = op_.potential + static_cast<ptrdiff_t>(planes[i]) * op_.grid.ny * nz;
      rows.line[i] = static_cast<ptrdiff_t>(lines[i]) * nz;
    }
    return row.is_divided ? weigh<true>(rows, row, w, s) : weigh<false>(rows, row, w, s);
  }

  // Weigh the eight points of all rows.
  template <bool kDivided>
  HWY_INLINE Vec3f weigh(const Rows& rows, const RowPlace& row, const float (&w)[2][kWindowWidth],
                         const float (&s)[2][kWindowWidth]) {
    const Floats d;
    const float *const weight_z = wz_.by(row.over), *const slope_z = sz_.by(row.over);
    alignas(32) float sum[3][kWindowWidth];
    for (int k = 0; k < kWindowWidth; k += kWidth) {
      auto gx = hn::Zero(d), gy = hn::Zero(d), gz = hn::Zero(d);
      const auto is_first = from_beginning(row.over, k);
      for (int i = 0; i < Order; ++i) {
        auto along = hn::Zero(d), across = hn::Zero(d);
        const float* const first = rows.plane[i] + k;
        for (int j = 0; j < Order; ++j) {
          auto value = hn::LoadU(d, first + rows.line[j] + row.start);
          if constexpr (kDivided)
            value = hn::IfThenElse(is_first, hn::LoadU(d, first + rows.line[j]), value);
          along = hn::Add(along, hn::Mul(hn::Set(d, w[1][j]), value));
          across = hn::Add(across, hn::Mul(hn::Set(d, s[1][j]), value));
        }
        gx = hn::Add(gx, hn::Mul(hn::Set(d, s[0][i]), along));
        gy = hn::Add(gy, hn::Mul(hn::Set(d, w[0][i]), across));
        gz = hn::Add(gz, hn::Mul(hn::Set(d, w[0][i]), along));
      }
      const auto weight = hn::LoadU(d, weight_z + k);
      hn::StoreU(hn::Mul(weight, gx), d, sum[0] + k);
      hn::StoreU(hn::Mul(weight, gy), d, sum[1] + k);
      hn::StoreU(hn::Mul(hn::LoadU(d, slope_z + k), gz), d, sum[2] + k);
    }
    return {fold(sum[0]), fold(sum[1]), fold(sum[2])};
  }

  const GatherForces& op_;
  MeshFrame frame_;
  Turned wz_, sz_;
};

template <int Order>
void gather(const GatherForces& op, ThreadGroup& threads) {
  threads.parallel_for(op.patch_count, 1, [&](int begin, int end, int) {
    Gatherer<Order> gatherer(op);
    for (int p = begin; p < end; ++p) gatherer.gather(op.patches[p]);
  });
}

void gather_any(const GatherForces& op, ThreadGroup& threads) {
  for_order(op.grid.order, [&]<int Order>() { gather<Order>(op, threads); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quiltmd {

HWY_EXPORT(spread_any);
HWY_EXPORT(gather_any);

void spread_charges(const SpreadCharges& op, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(spread_any)(op, threads);
}

void gather_forces(const GatherForces& op, ThreadGroup& threads) {
  const ptrdiff_t plane = static_cast<ptrdiff_t>(op.grid.ny) * op.grid.nz;
  threads.parallel_for(op.grid.nx, 1, [&](int begin, int end, int) {
    std::fill(op.charges + begin * plane, op.charges + end * plane, 0);
  });
  HWY_DYNAMIC_DISPATCH(gather_any)(op, threads);
}

}  // namespace quiltmd
#endif
