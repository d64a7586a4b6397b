// SPDX-License-Identifier: Apache-2.0
// Charges onto the grid and forces off it, on the CPU. One atom at a time, its z weights side by
// side in one vector of eight lanes (order 5 leaves three idle; taking several atoms at once would
// need scattered loads and stores, which cost more).
//
// Spreading needs no atomics: the planes are cut into slabs, a slab belongs to one thread, and every
// thread visits the patches that reach into its slab. An atom at the border of two slabs has its
// weights worked out twice. Sums are integers, so the cut does not show in the result. Neither does
// the instruction set: no fused multiply-add, and lanes are summed in one order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "computes/pme/host_mesh.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
//
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "computes/pme/bspline.h"
#include "computes/pme/host_kernels.h"
#include "computes/pme/mesh_frame.h"

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, kSplineLanes>;
using Ints = hn::RebindToSigned<Floats>;
constexpr int kWidth = static_cast<int>(hn::MaxLanes(Floats()));
constexpr int kParts = kSplineLanes / kWidth;

template <int Order>
alignas(64) constexpr SplinePolynomials kSpline = spline_polynomials<Order>();

// sum over d of coefficient[d][lane] t^d, d < Terms, for all lanes.
template <int Terms>
HWY_INLINE void polynomial(const float (*coefficient)[kSplineLanes], float t, float* out) {
  const Floats d;
  const auto vt = hn::Set(d, t);
  for (int k = 0; k < kSplineLanes; k += kWidth) {
    auto v = hn::LoadU(d, coefficient[Terms - 1] + k);
    for (int n = Terms - 2; n >= 0; --n)
      v = hn::Add(hn::Mul(v, vt), hn::LoadU(d, coefficient[n] + k));
    hn::StoreU(v, d, out + k);
  }
}

// The z weights of an atom as they meet a row of the grid: eight points at a time, never beyond
// the row's end. An atom near the end meets the row twice: at its end and at its start.
struct RowWeights {
  int runs;
  int start[2];
  const float* weight[2];
  const float* slope[2];
};

// A weight or slope array between zeros, so that it can be read shifted.
struct Padded {
  alignas(32) float values[3 * kSplineLanes] = {};
  float* middle() { return values + kSplineLanes; }
};

template <int Order>
HWY_INLINE RowWeights row_weights(int first, int nz, Padded& weight, Padded& slope) {
  const int over = first + kSplineLanes - nz;
  if (over <= 0) return {1, {first, 0}, {weight.middle(), nullptr}, {slope.middle(), nullptr}};
  const int runs = kSplineLanes - over < Order ? 2 : 1;
  const float *w = weight.middle() - over, *s = slope.middle() - over;
  return {runs, {nz - kSplineLanes, 0}, {w, w + kSplineLanes}, {s, s + kSplineLanes}};
}

// ---- spreading ----

// Range of planes [first, end).
struct Slab {
  int first, end;
};

template <int Order>
class Spreader {
 public:
  explicit Spreader(const SpreadCharges& op) : op_(op), frame_(op.grid) {}

  // Lowest and highest grid point in x, unwrapped, at or below the atoms of a patch.
  Slab reach(const PlacedPatch& patch) {
    frame_.enter(patch.cell);
    Slab reach{std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
    for (int slot = patch.start; slot < patch.start + patch.atoms; ++slot) {
      const int point = frame_.place(0, op_.slots.local[slot]).point;
      reach = {std::min(reach.first, point), std::max(reach.end, point + 1)};
    }
    return {reach.first - Order + 1, reach.end};
  }

  void add(const PlacedPatch& patch, Slab slab) {
    frame_.enter(patch.cell);
    for (int slot = patch.start; slot < patch.start + patch.atoms; ++slot) {
      const Float4 local = op_.slots.local[slot];
      const MeshFrame::Place x = frame_.place(0, local);
      int planes[Order], which[Order], count = 0;
      for (int j = 0; j < Order; ++j) {
        const int plane = frame_.wrap(0, x.point - (Order - 1) + j);
        planes[count] = plane;
        which[count] = j;
        count += plane >= slab.first && plane < slab.end;
      }
      if (count) add_atom(local, x.fraction, planes, which, count);
    }
  }

 private:
  HWY_INLINE void add_atom(const Float4& local, float x_fraction, const int* planes,
                           const int* which, int count) {
    const auto& spline = kSpline<Order>.weight;
    const MeshFrame::Place y = frame_.place(1, local), z = frame_.place(2, local);
    alignas(32) float wx[kSplineLanes], wy[kSplineLanes];
    polynomial<Order>(spline, x_fraction, wx);
    polynomial<Order>(spline, y.fraction, wy);
    polynomial<Order>(spline, z.fraction, wz_.middle());
    const int nz = op_.grid.nz;
    const RowWeights row =
        row_weights<Order>(frame_.wrap(2, z.point - (Order - 1)), nz, wz_, wz_);
    size_t line[Order];
    for (int j = 0; j < Order; ++j)
      line[j] = static_cast<size_t>(frame_.wrap(1, y.point - (Order - 1) + j));

    const float charge = local.w * static_cast<float>(kChargeScale);
    const Floats d;
    const Ints di;
    for (int run = 0; run < row.runs; ++run)
      for (int i = 0; i < count; ++i) {
        const float weight_x = charge * wx[which[i]];
        const size_t plane =
            static_cast<size_t>(planes[i]) * static_cast<size_t>(op_.grid.ny);
        for (int j = 0; j < Order; ++j) {
          const auto scale = hn::Set(d, weight_x * wy[j]);
          int32_t* at = op_.charges + (plane + line[j]) * static_cast<size_t>(nz) + row.start[run];
          for (int k = 0; k < kSplineLanes; k += kWidth) {
            const auto share = hn::Mul(scale, hn::LoadU(d, row.weight[run] + k));
            hn::StoreU(hn::Add(hn::LoadU(di, at + k), hn::NearestInt(share)), di, at + k);
          }
        }
      }
  }

  const SpreadCharges& op_;
  MeshFrame frame_;
  Padded wz_;
};

// Do planes [a.first, a.end), any image, meet the slab?
bool meets(Slab a, Slab slab, int nx) {
  const auto ahead = [nx](int from, int to) { return ((to - from) % nx + nx) % nx; };
  return a.first < a.end && (ahead(a.first, slab.first) < a.end - a.first ||
                             ahead(slab.first, a.first) < slab.end - slab.first);
}

template <int Order>
void spread(const SpreadCharges& op, ThreadGroup& threads) {
  const int nx = op.grid.nx;
  // Two slabs per thread even out the load; more would only repeat weights.
  const int slabs = threads.size() == 1 ? 1 : std::clamp(2 * threads.size(), 1, nx / Order);
  std::vector<Slab> reach(static_cast<size_t>(op.patch_count), Slab{0, nx});
  if (slabs > 1)
    threads.parallel_for(op.patch_count, 8, [&](int begin, int end, int) {
      Spreader<Order> spreader(op);
      for (int p = begin; p < end; ++p)
        reach[static_cast<size_t>(p)] = spreader.reach(op.patches[p]);
    });
  threads.parallel_for(slabs, 1, [&](int begin, int end, int) {
    Spreader<Order> spreader(op);
    for (int s = begin; s < end; ++s) {
      const Slab slab{nx * s / slabs, nx * (s + 1) / slabs};
      for (int p = 0; p < op.patch_count; ++p)
        if (meets(reach[static_cast<size_t>(p)], slab, nx)) spreader.add(op.patches[p], slab);
    }
  });
}

void spread_any(const SpreadCharges& op, ThreadGroup& threads) {
  op.grid.order == 4 ? spread<4>(op, threads) : spread<5>(op, threads);
}

// ---- gathering ----

// Sum of eight lanes in the order in which any width of vector can fold them.
HWY_INLINE float fold(const float* v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

template <int Order>
class Gatherer {
 public:
  explicit Gatherer(const GatherForces& op) : op_(op), frame_(op.grid) {}

  void gather(const PlacedPatch& patch) {
    frame_.enter(patch.cell);
    for (int slot = patch.start; slot < patch.start + patch.atoms; ++slot) {
      const Float4 local = op_.slots.local[slot];
      const Vec3f f = -local.w * frame_.to_cartesian(gradient(local));
      op_.slots.long_range[slot] = {f.x, f.y, f.z, 0};
    }
  }

 private:
  // Gradient of the potential in grid coordinates.
  HWY_INLINE Vec3f gradient(const Float4& local) {
    const auto& spline = kSpline<Order>;
    const float* rows[Order][Order];
    float w[2][kSplineLanes], s[2][kSplineLanes];
    MeshFrame::Place place[3];
    for (int d = 0; d < 3; ++d) place[d] = frame_.place(d, local);
    for (int d = 0; d < 2; ++d) {
      polynomial<Order>(spline.weight, place[d].fraction, w[d]);
      polynomial<Order - 1>(spline.slope, place[d].fraction, s[d]);
    }
    polynomial<Order>(spline.weight, place[2].fraction, wz_.middle());
    polynomial<Order - 1>(spline.slope, place[2].fraction, sz_.middle());
    const int nz = op_.grid.nz;
    const RowWeights row =
        row_weights<Order>(frame_.wrap(2, place[2].point - (Order - 1)), nz, wz_, sz_);
    size_t line[Order];
    for (int j = 0; j < Order; ++j)
      line[j] = static_cast<size_t>(frame_.wrap(1, place[1].point - (Order - 1) + j));
    for (int i = 0; i < Order; ++i) {
      const auto plane = static_cast<size_t>(frame_.wrap(0, place[0].point - (Order - 1) + i)) *
                         static_cast<size_t>(op_.grid.ny);
      for (int j = 0; j < Order; ++j)
        rows[i][j] = op_.potential + (plane + line[j]) * static_cast<size_t>(nz);
    }
    Vec3f g{0, 0, 0};
    for (int run = 0; run < row.runs; ++run) g += weigh(rows, row, run, w, s);
    return g;
  }

  // Weigh one run of eight points of all rows.
  HWY_INLINE Vec3f weigh(const float* (&rows)[Order][Order], const RowWeights& row, int run,
                         const float (&w)[2][kSplineLanes], const float (&s)[2][kSplineLanes]) {
    const Floats d;
    alignas(32) float sum[3][kSplineLanes];
    for (int k = 0; k < kSplineLanes; k += kWidth) {
      auto gx = hn::Zero(d), gy = hn::Zero(d), gz = hn::Zero(d);
      for (int i = 0; i < Order; ++i) {
        auto along = hn::Zero(d), across = hn::Zero(d);
        for (int j = 0; j < Order; ++j) {
          const auto value = hn::LoadU(d, rows[i][j] + row.start[run] + k);
          along = hn::Add(along, hn::Mul(hn::Set(d, w[1][j]), value));
          across = hn::Add(across, hn::Mul(hn::Set(d, s[1][j]), value));
        }
        gx = hn::Add(gx, hn::Mul(hn::Set(d, s[0][i]), along));
        gy = hn::Add(gy, hn::Mul(hn::Set(d, w[0][i]), across));
        gz = hn::Add(gz, hn::Mul(hn::Set(d, w[0][i]), along));
      }
      const auto weight = hn::LoadU(d, row.weight[run] + k);
      hn::StoreU(hn::Mul(weight, gx), d, sum[0] + k);
      hn::StoreU(hn::Mul(weight, gy), d, sum[1] + k);
      hn::StoreU(hn::Mul(hn::LoadU(d, row.slope[run] + k), gz), d, sum[2] + k);
    }
    return {fold(sum[0]), fold(sum[1]), fold(sum[2])};
  }

  const GatherForces& op_;
  MeshFrame frame_;
  Padded wz_, sz_;
};

template <int Order>
void gather(const GatherForces& op, ThreadGroup& threads) {
  threads.parallel_for(op.patch_count, 1, [&](int begin, int end, int) {
    Gatherer<Order> gatherer(op);
    for (int p = begin; p < end; ++p) gatherer.gather(op.patches[p]);
  });
}

void gather_any(const GatherForces& op, ThreadGroup& threads) {
  op.grid.order == 4 ? gather<4>(op, threads) : gather<5>(op, threads);
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
  HWY_DYNAMIC_DISPATCH(gather_any)(op, threads);
}

}  // namespace quiltmd
#endif
