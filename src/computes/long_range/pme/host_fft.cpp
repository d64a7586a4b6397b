// SPDX-License-Identifier: Apache-2.0
// The transforms of the long-range sum on the CPU: planes (y, z), lines along x with the influence function, planes
// back; and the same by rows and columns. The transforms themselves are pocketfft's, on as many lines at once as a
// vector has lanes; a lane does what a scalar transform would, so neither the vector width nor the way in which lines
// are grouped shows in the result.
//
// pocketfft is a header; it is compiled here once per instruction set, inside the namespace of that
// set, which is what lets one binary use the widest vectors of any machine. Planes fit the first
// cache level, so what remains to pay for is transposing between rows and lanes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "computes/long_range/pme/host_fft.cpp"
#include <hwy/aligned_allocator.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// All that pocketfft includes, so that nothing of it is compiled for one instruction set only.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>

#include "computes/long_range/pme/host_influence-inl.h"
#include "computes/long_range/pme/host_kernels.h"
#include "computes/long_range/pme/setup.h"
#include "math/fixed.h"
#include "math/symmetric.h"
#include "math/units.h"

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
#undef POCKETFFT_HDRONLY_H
#include <pocketfft_hdronly.h>
namespace {

using ComplexPack = pocketfft::detail::cmplx<Pack>;
using RealPlan = pocketfft::detail::pocketfft_r<float>;
using ComplexPlan = pocketfft::detail::pocketfft_c<float>;

// Plans are made once per length and kept.
template <class Plan>
const Plan& plan_for(int length) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<const Plan>> plans;
  const std::lock_guard lock(mutex);
  auto& plan = plans[length];
  if (!plan) plan = std::make_unique<const Plan>(static_cast<size_t>(length));
  return *plan;
}

template <class T>
using Aligned = hwy::AlignedFreeUniquePtr<T[]>;

// `lanes` neighbouring lines of n numbers each, which lie `pitch` apart.
void load_line(ComplexPack* line, const Complex* from, size_t pitch, int n, int lanes) {
  for (int i = 0; i < n; ++i, from += pitch)
    for (int l = 0; l < lanes; ++l) {
      line[i].r[l] = from[l].re;
      line[i].i[l] = from[l].im;
    }
}

void store_line(const ComplexPack* line, Complex* to, size_t pitch, int n, int lanes) {
  for (int i = 0; i < n; ++i, to += pitch)
    for (int l = 0; l < lanes; ++l) to[l] = {line[i].r[l], line[i].i[l]};
}

// ---- planes ----

class PlaneTransform {
 public:
  explicit PlaneTransform(const PmeGrid& grid)
      : ny_(grid.ny),
        nz_(grid.nz),
        nk_(grid.nz / 2 + 1),
        pitch_((ny_ + kLanes - 1) / kLanes * kLanes),
        along_z_(plan_for<RealPlan>(nz_)),
        along_y_(plan_for<ComplexPlan>(ny_)),
        real_line_(hwy::AllocateAligned<Pack>(static_cast<size_t>(nz_))),
        line_(hwy::AllocateAligned<ComplexPack>(static_cast<size_t>(ny_))),
        half_(hwy::AllocateAligned<float>(static_cast<size_t>(2 * nk_ * pitch_))) {}

  void forward(const int32_t* charges, Complex* spectrum) {
    for (int y = 0; y < ny_; y += kLanes) {
      load_rows(charges + y * nz_, std::min(kLanes, ny_ - y));
      along_z_.exec(real_line_.get(), static_cast<float>(1 / kChargeScale), true);
      store_half(y);
    }
    for (int k = 0; k < nk_; k += kLanes) {
      const int lanes = std::min(kLanes, nk_ - k);
      for (int y = 0; y < ny_; ++y)
        for (int l = 0; l < lanes; ++l) {
          line_[y].r[l] = half(k + l, 0)[y];
          line_[y].i[l] = half(k + l, 1)[y];
        }
      along_y_.exec(line_.get(), 1.0f, true);
      store_line(line_.get(), spectrum + k, static_cast<size_t>(nk_), ny_, lanes);
    }
  }

  void inverse(const Complex* spectrum, float* potential) {
    for (int k = 0; k < nk_; k += kLanes) {
      const int lanes = std::min(kLanes, nk_ - k);
      load_line(line_.get(), spectrum + k, static_cast<size_t>(nk_), ny_, lanes);
      along_y_.exec(line_.get(), 1.0f, false);
      for (int y = 0; y < ny_; ++y)
        for (int l = 0; l < lanes; ++l) {
          half(k + l, 0)[y] = line_[y].r[l];
          half(k + l, 1)[y] = line_[y].i[l];
        }
    }
    for (int y = 0; y < ny_; y += kLanes) {
      load_half(y);
      along_z_.exec(real_line_.get(), 1.0f, false);
      store_rows(potential + y * nz_, std::min(kLanes, ny_ - y));
    }
  }

 private:
  // Real (part 0) or imaginary parts of frequency k, by y.
  float* half(int k, int part) { return half_.get() + (2 * k + part) * pitch_; }

  void load_rows(const int32_t* rows, int count) {
    for (int z = 0; z < nz_; ++z)
      for (int l = 0; l < count; ++l) real_line_[z][l] = static_cast<float>(rows[l * nz_ + z]);
  }

  void store_rows(float* rows, int count) const {
    for (int l = 0; l < count; ++l)
      for (int z = 0; z < nz_; ++z) rows[l * nz_ + z] = real_line_[z][l];
  }

  // pocketfft's order of a real transform: r0, r1, i1, r2, i2, ..., and r(n/2) last for even n.
  void store_half(int y) {
    *pack(half(0, 0) + y) = real_line_[0];
    *pack(half(0, 1) + y) = Pack{};
    for (int k = 1; 2 * k < nz_; ++k) {
      *pack(half(k, 0) + y) = real_line_[2 * k - 1];
      *pack(half(k, 1) + y) = real_line_[2 * k];
    }
    if (nz_ % 2 == 0) {
      *pack(half(nk_ - 1, 0) + y) = real_line_[nz_ - 1];
      *pack(half(nk_ - 1, 1) + y) = Pack{};
    }
  }

  void load_half(int y) {
    real_line_[0] = *pack(half(0, 0) + y);
    for (int k = 1; 2 * k < nz_; ++k) {
      real_line_[2 * k - 1] = *pack(half(k, 0) + y);
      real_line_[2 * k] = *pack(half(k, 1) + y);
    }
    if (nz_ % 2 == 0) real_line_[nz_ - 1] = *pack(half(nk_ - 1, 0) + y);
  }

  static Pack* pack(float* at) { return reinterpret_cast<Pack*>(at); }

  int ny_, nz_, nk_, pitch_;
  const RealPlan& along_z_;
  const ComplexPlan& along_y_;
  Aligned<Pack> real_line_;    // z lines of kLanes rows
  Aligned<ComplexPack> line_;  // y lines of kLanes frequencies
  Aligned<float> half_;        // [k][re, im][y]
};

void transform(const TransformPlanes& op, ThreadGroup& threads) {
  const auto plane = static_cast<size_t>(op.grid.ny);
  threads.parallel_for(op.count, 1, [&](int begin, int end, int) {
    PlaneTransform transform(op.grid);
    for (int x = op.first + begin; x < op.first + end; ++x)
      transform.forward(op.charges + x * plane * static_cast<size_t>(op.grid.nz),
                        op.spectrum + x * plane * static_cast<size_t>(op.grid.nz / 2 + 1));
  });
}

void transform_back(const InversePlanes& op, ThreadGroup& threads) {
  const auto plane = static_cast<size_t>(op.grid.ny);
  threads.parallel_for(op.count, 1, [&](int begin, int end, int) {
    PlaneTransform transform(op.grid);
    for (int x = op.first + begin; x < op.first + end; ++x)
      transform.inverse(op.spectrum + x * plane * static_cast<size_t>(op.grid.nz / 2 + 1),
                        op.potential + x * plane * static_cast<size_t>(op.grid.nz));
  });
}

// ---- lines along x ----

int frequency(int m, int n) { return m <= n / 2 ? m : m - n; }

class LineConvolution {
 public:
  explicit LineConvolution(const ConvolveLines& op)
      : op_(op),
        nx_(op.grid.nx),
        nk_(op.grid.nz / 2 + 1),
        plane_(static_cast<size_t>(op.grid.ny) * static_cast<size_t>(nk_)),
        reciprocal_(op.box->reciprocal),
        plan_(plan_for<ComplexPlan>(nx_)),
        line_(hwy::AllocateAligned<ComplexPack>(static_cast<size_t>(nx_))) {}

  // Lines [first, first + lanes), counted y * nk + k.
  void convolve(int first, int lanes) {
    Complex* const spectrum = op_.spectrum + first;
    load_line(line_.get(), spectrum, plane_, nx_, lanes);
    plan_.exec(line_.get(), 1.0f, true);
    if (op_.of != MeshOf::kDispersion)
      multiply(first, lanes, ChargeInfluence{op_.transform});
    else
      multiply(first, lanes, DispersionInfluence{op_.transform});
    plan_.exec(line_.get(), 1.0f, false);
    store_line(line_.get(), spectrum, plane_, nx_, lanes);
  }

 private:
  // Multiply by the influence function; add energy and virial (Essmann et al. 1995, eq. 2.7), one
  // partial sum per column.
  template <class Influence>
  void multiply(int first, int lanes, const Influence& of_square) {
    Pack my{}, mz{}, moduli{};
    double twice[kLanes] = {}, energy[kLanes] = {};
    Symmetric virial[kLanes] = {};
    for (int l = 0; l < lanes; ++l) {
      const int y = (first + l) / nk_, k = (first + l) % nk_;
      const int fy = frequency(y, op_.grid.ny);
      my[l] = static_cast<float>(fy * reciprocal_.b.y);
      mz[l] = static_cast<float>(fy * reciprocal_.b.z + k * reciprocal_.c.z);
      moduli[l] = op_.moduli[1][y] * op_.moduli[2][k];
      twice[l] = k == 0 || 2 * k == op_.grid.nz ? 1 : 2;
    }
    const float decay = -op_.transform.decay;
    const auto factor = static_cast<float>(op_.box->scale * op_.strength);
    for (int x = 0; x < nx_; ++x) {
      const Vec3d m = static_cast<double>(frequency(x, nx_)) * reciprocal_.a;
      const Pack y = my + static_cast<float>(m.y), z = mz + static_cast<float>(m.z);
      const Pack m2 = (static_cast<float>(m.x * m.x) + y * y) + z * z;
      const Pack decayed = exponential(m2 * decay) * (moduli * (factor * op_.moduli[0][x]));
      const Pack influence = of_square(m2, decayed);
      if (op_.energy)
        for (int l = 0; l < lanes; ++l) {
          const double re = line_[x].r[l], im = line_[x].i[l];
          const double square = twice[l] * (re * re + im * im);
          const Vec3d k{m.x, y[l], z[l]};
          energy[l] += 0.5 * influence[l] * square;
          virial[l].add_product((-square * of_square.fall(dot(k, k), decayed[l])) * k, k);
        }
      line_[x].r *= influence;
      line_[x].i *= influence;
    }
    if (op_.energy) add(Influence::kEnergy, energy, virial, lanes);
  }

  // Add what the columns found, each converted by itself; a share of the virial is the energy.
  void add(EnergyKind of, const double* energy, const Symmetric* virial, int lanes) {
    const auto sum = [&](int kind, auto value) {
      int64_t fixed = 0;
      for (int l = 0; l < lanes; ++l) fixed += to_fixed(value(l), kEnergyScale);
      std::atomic_ref(op_.energy[kind]).fetch_add(fixed, std::memory_order_relaxed);
    };
    sum(of, [&](int l) { return energy[l]; });
    for (int k = 0; k < Symmetric::kParts; ++k)
      sum(kVirial + k, [&](int l) { return virial[l][k] + (k < 3 ? energy[l] : 0); });
  }

  const ConvolveLines& op_;
  int nx_, nk_;
  size_t plane_;
  Reciprocal reciprocal_;
  const ComplexPlan& plan_;
  Aligned<ComplexPack> line_;
};

// ---- rows and columns ----

// Transforms of the rows along z of a plane.
class RowTransform {
 public:
  explicit RowTransform(const PmeGrid& grid)
      : nz_(grid.nz),
        nk_(grid.nz / 2 + 1),
        plan_(plan_for<RealPlan>(nz_)),
        line_(hwy::AllocateAligned<Pack>(static_cast<size_t>(nz_))) {}

  void forward(const int32_t* rows, Complex* spectrum, int lanes) {
    for (int z = 0; z < nz_; ++z)
      for (int l = 0; l < lanes; ++l) line_[z][l] = static_cast<float>(rows[l * nz_ + z]);
    plan_.exec(line_.get(), static_cast<float>(1 / kChargeScale), true);
    for (int l = 0; l < lanes; ++l)
      for (int k = 0; k < nk_; ++k)
        spectrum[l * nk_ + k] = {line_[k ? 2 * k - 1 : 0][l],
                                 has_imaginary(k) ? line_[2 * k][l] : 0};
  }

  void inverse(const Complex* spectrum, float* rows, int lanes) {
    for (int l = 0; l < lanes; ++l)
      for (int k = 0; k < nk_; ++k) {
        line_[k ? 2 * k - 1 : 0][l] = spectrum[l * nk_ + k].re;
        if (has_imaginary(k)) line_[2 * k][l] = spectrum[l * nk_ + k].im;
      }
    plan_.exec(line_.get(), 1.0f, false);
    for (int l = 0; l < lanes; ++l)
      for (int z = 0; z < nz_; ++z) rows[l * nz_ + z] = line_[z][l];
  }

 private:
  // pocketfft's order of a real transform: r0, r1, i1, r2, i2, ..., and r(n/2) last for even n.
  bool has_imaginary(int k) const { return k > 0 && 2 * k < nz_; }

  int nz_, nk_;
  const RealPlan& plan_;
  Aligned<Pack> line_;
};

// transform(x, first y, lanes) for the rows of a block, kLanes at a time.
template <class Transform>
void over_rows(GridRange x, GridRange y, ThreadGroup& threads, const Transform& transform) {
  const int packs = (y.count + kLanes - 1) / kLanes;
  threads.parallel_for(x.count * packs, packs, [&](int begin, int end, int) {
    for (int i = begin; i < end; ++i) {
      const int first = i % packs * kLanes;
      transform(x.first + i / packs, y.first + first, std::min(kLanes, y.count - first));
    }
  });
}

void rows(const TransformRows& op, ThreadGroup& threads) {
  const auto nz = static_cast<size_t>(op.grid.nz);
  over_rows(op.x, op.y, threads, [&](int x, int y, int lanes) {
    const size_t row =
        static_cast<size_t>(x) * static_cast<size_t>(op.grid.ny) + static_cast<size_t>(y);
    RowTransform(op.grid).forward(op.charges + row * nz, op.spectrum + row * (nz / 2 + 1), lanes);
  });
}

void rows_back(const InverseRows& op, ThreadGroup& threads) {
  const auto nz = static_cast<size_t>(op.grid.nz);
  over_rows(op.x, op.y, threads, [&](int x, int y, int lanes) {
    const size_t row =
        static_cast<size_t>(x) * static_cast<size_t>(op.grid.ny) + static_cast<size_t>(y);
    RowTransform(op.grid).inverse(op.spectrum + row * (nz / 2 + 1), op.potential + row * nz, lanes);
  });
}

template <bool kForward, class Op>
void along_columns(const Op& op, ThreadGroup& threads) {
  const auto pitch = static_cast<size_t>(op.grid.nz / 2 + 1);
  const auto plane = pitch * static_cast<size_t>(op.grid.ny);
  const ComplexPlan& plan = plan_for<ComplexPlan>(op.grid.ny);
  over_rows(op.x, op.k, threads, [&](int x, int k, int lanes) {
    const auto line = hwy::AllocateAligned<ComplexPack>(static_cast<size_t>(op.grid.ny));
    Complex* const at = op.spectrum + static_cast<size_t>(x) * plane + k;
    load_line(line.get(), at, pitch, op.grid.ny, lanes);
    plan.exec(line.get(), 1.0f, kForward);
    store_line(line.get(), at, pitch, op.grid.ny, lanes);
  });
}

void columns(const TransformColumns& op, ThreadGroup& threads) { along_columns<true>(op, threads); }

void columns_back(const InverseColumns& op, ThreadGroup& threads) {
  along_columns<false>(op, threads);
}

void pencils(const ConvolvePencils& op, ThreadGroup& threads) {
  const int nk = op.lines.grid.nz / 2 + 1;
  over_rows({op.lines.first, op.lines.count}, op.k, threads, [&](int y, int k, int lanes) {
    LineConvolution(op.lines).convolve(y * nk + k, lanes);
  });
}

void convolve(const ConvolveLines& op, ThreadGroup& threads) {
  const int nk = op.grid.nz / 2 + 1;
  const int columns = op.count * nk, packs = (columns + kLanes - 1) / kLanes;
  threads.parallel_for(packs, 8, [&](int begin, int end, int) {
    LineConvolution lines(op);
    for (int p = begin; p < end; ++p)
      lines.convolve(op.first * nk + p * kLanes, std::min(kLanes, columns - p * kLanes));
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quiltmd {

HWY_EXPORT(transform);
HWY_EXPORT(convolve);
HWY_EXPORT(transform_back);
HWY_EXPORT(rows);
HWY_EXPORT(columns);
HWY_EXPORT(pencils);
HWY_EXPORT(columns_back);
HWY_EXPORT(rows_back);

void transform_planes(const TransformPlanes& op, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(transform)(op, threads);
}

void convolve_lines(const ConvolveLines& op, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(convolve)(op, threads);
}

void inverse_planes(const InversePlanes& op, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(transform_back)(op, threads);
}

void transform_rows(const TransformRows& op, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(rows)(op, threads);
}

void transform_columns(const TransformColumns& op, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(columns)(op, threads);
}

void convolve_pencils(const ConvolvePencils& op, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(pencils)(op, threads);
}

void inverse_columns(const InverseColumns& op, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(columns_back)(op, threads);
}

void inverse_rows(const InverseRows& op, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(rows_back)(op, threads);
}

}  // namespace quiltmd
#endif
