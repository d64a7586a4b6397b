// SPDX-License-Identifier: Apache-2.0
// The convolution of PME on a GPU: lines along x forward, times the influence function, and back, in
// tiles of neighbouring lines. The last pass forward and the first pass back work on the same values,
// which stay in registers in between.
#include "computes/long_range/pme/cuda_direct.cuh"
#include "computes/long_range/pme/cuda_kernels.h"
#include "computes/long_range/pme/cuda_shape.cuh"
#include "computes/long_range/pme/dispersion_influence.h"
#include "device/cuda/launch.h"
#include "math/fixed.h"
#include "math/symmetric.h"
#include "math/units.h"

namespace quiltmd {
namespace {

using fft::kTileThreads;
using fft::Lines;
using fft::Plan;
using fft::Run;
using fft::Shape;
using fft::Way;

// The box in single precision, in shared memory: kernels read from constant memory only what never
// changes, and registers are few.
struct FlatBox {
  static constexpr int kNumbers = 10;
  Vec3f a, b, c;  // reciprocal vectors
  float scale;    // 1/(pi V)

  // A number a thread, to be loaded early; there after the barrier that follows store().
  __device__ static float load(const BoxOnMesh* from) {
    static_assert(offsetof(BoxOnMesh, scale) ==
                  offsetof(BoxOnMesh, reciprocal) + 9 * sizeof(double));
    const int number = min(static_cast<int>(threadIdx.x), kNumbers - 1);
    return static_cast<float>((&from->reciprocal.a.x)[number]);
  }
  __device__ void store(float number) {
    static_assert(sizeof(FlatBox) == kNumbers * sizeof(float));
    if (threadIdx.x < kNumbers) (&a.x)[threadIdx.x] = number;
  }

  // m of signed frequencies kx, ky, kz >= 0: the sum of k_d times the reciprocal vectors.
  __device__ Vec3f wave(float kx, float ky, float kz) const {
    return {kx * a.x, __fmaf_rn(kx, a.y, ky * b.y),
            __fmaf_rn(kx, a.z, __fmaf_rn(ky, b.z, kz * c.z))};
  }
};

struct OfSquare {
  FittedTransform transform;
  const float* moduli[3];

  __device__ static float square(Vec3f m) {
    return __fmaf_rn(m.x, m.x, __fmaf_rn(m.y, m.y, m.z * m.z));
  }
};

// transform/(pi V m^2) times the moduli.
struct ChargeInfluence : OfSquare {
  static constexpr EnergyKind kEnergyKind = kReciprocal;

  // `modulus` is the product of the three of them, `scale` 1/(pi V).
  __device__ float operator()(Vec3f m, float modulus, float scale) const {
    const float m2 = square(m), t = __fmaf_rn(transform.t_scale, m2, -1.0f);
    float shape = transform.shape[FittedTransform::kDegree];
#pragma unroll
    for (int k = FittedTransform::kDegree - 1; k >= 0; --k)
      shape = __fmaf_rn(shape, t, transform.shape[k]);
    const float value = __fdividef(scale * modulus * __expf(-transform.decay * m2), m2);
    return m2 > 0.0f && m2 < transform.end ? shape * value : 0.0f;
  }

  // Virial of the energy of m, which is not zero, besides the energy itself, times m (x) m (Essmann et al.
  // 1995, eq. 2.7).
  __device__ float anisotropy(Vec3f m) const {
    const float m2 = square(m), t = __fmaf_rn(transform.t_scale, m2, -1.0f);
    float shape = 0, slope = 0;
#pragma unroll
    for (int k = FittedTransform::kDegree; k >= 0; --k) {
      slope = __fmaf_rn(slope, t, shape);
      shape = __fmaf_rn(shape, t, transform.shape[k]);
    }
    return 2 * (1 / m2 + transform.decay - transform.t_scale * slope / shape);
  }
};

// Influence function of the dispersion (dispersion_influence.h).
struct DispersionInfluence : OfSquare {
  static constexpr EnergyKind kEnergyKind = kDispersionMesh;
  float strength;  // times 1/(pi V)

  __device__ float operator()(Vec3f m, float modulus, float scale) const {
    constexpr DispersionFit phi = kDispersionPhi;
    const float exponent = -transform.decay * square(m);
    return scale * strength * modulus * __expf(exponent) * phi(sqrtf(-exponent));
  }
  __device__ float anisotropy(Vec3f m) const {
    constexpr DispersionFit phi = kDispersionPhi, psi = kDispersionPsi;
    const float b = sqrtf(transform.decay * square(m));
    return 6 * transform.decay * psi(b) / phi(b);
  }
};

__device__ __forceinline__ float signed_frequency(int k, int n) {
  return static_cast<float>(2 * k > n ? k - n : k);
}

// Add the sum over the block, taken in an order that does not depend on timing.
__device__ void add_block_sum(double value, double* scratch, int64_t* total) {
  __syncthreads();
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffu, value, offset);
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x != 0) return;
  double sum = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) sum += scratch[w];
  atomicAdd(reinterpret_cast<unsigned long long*>(total),
            static_cast<unsigned long long>(to_fixed(sum, kEnergyScale)));
}

// One tile of lines along x: `width` neighbours in z of one y.
template <bool kEnergy, class Influence>
struct ConvolveTile {
  const Influence& influence;
  const FlatBox& box;
  const Shape& s;
  int y, first_z;
  float ky, modulus_y;
  double energy = 0;
  Symmetric virial{};

  __device__ ConvolveTile(const Influence& i, const FlatBox& cell, const Shape& shape, int line,
                          int z)
      : influence(i),
        box(cell),
        s(shape),
        y(line),
        first_z(z),
        ky(signed_frequency(line, shape.ny)),
        modulus_y(i.moduli[1][line]) {}

  // Entry k of a column: times the influence function; adds its energy.
  __device__ __forceinline__ Complex operator()(int column, int k, Complex v) {
    const int kz = first_z + column;
    const float modulus = modulus_y * influence.moduli[0][k] * influence.moduli[2][min(kz, s.half)];
    const Vec3f m = box.wave(signed_frequency(k, s.nx), ky, static_cast<float>(kz));
    const float g = influence(m, modulus, box.scale);
    if constexpr (kEnergy) add(kz, g, m, v);
    return {g * v.re, g * v.im};
  }

 private:
  __device__ __forceinline__ void add(int kz, float g, Vec3f m, Complex v) {
    if (kz > s.half || g == 0.0f) return;
    const float weight = kz == 0 || kz == s.half ? 0.5f : 1.0f;
    const float here = weight * g * __fmaf_rn(v.re, v.re, v.im * v.im);
    const Vec3f reduced = -influence.anisotropy(m) * here * m;
    energy += here;
    virial.add_product({reduced.x, reduced.y, reduced.z}, {m.x, m.y, m.z});
  }
};

// The last pass forward, the convolution and the first pass back: they work on the same values.
// Ends with a barrier.
template <class Tile>
__device__ __forceinline__ void convolve_pass(const Lines& lines, const Plan& plan, Tile& tile) {
  fft::with_radix(plan.pass[plan.passes - 1].radix, [&](auto radix) {
    const int step = plan.n / radix;
    fft::over_lines<Run::kAcrossLines>(lines, step, {}, [&](int column, int b) {
      const int lowest = fft::lowest_frequency(plan, b);
      Complex x[radix];
#pragma unroll
      for (int r = 0; r < radix; ++r) x[r] = lines.at(column, b * radix + r);
      fft::dft<radix>(x);
#pragma unroll
      for (int r = 0; r < radix; ++r) x[r] = fft::swapped(tile(column, lowest + r * step, x[r]));
      fft::dft<radix>(x);
#pragma unroll
      for (int r = 0; r < radix; ++r) lines.at(column, b * radix + r) = fft::swapped(x[r]);
    });
  });
  __syncthreads();
}

template <bool kEnergy, class Influence, class Op>
__global__ void __launch_bounds__(kTileThreads)
    convolve_tiles(const __grid_constant__ Shape s, int width, Divider by_width,
                   const __grid_constant__ Influence influence, const __grid_constant__ Op op,
                   LaunchTimes* times) {
  const Timed timed(times);
  __shared__ FlatBox box;
  // Lines begin when planes have been placed, which is when all that came before spreading has ended.
  const float number = FlatBox::load(direct::base(op).box);
  const int y = direct::base(op).first + blockIdx.y;
  const int entries = s.entries(), column = blockIdx.x * width;
  const int64_t plane = static_cast<int64_t>(s.ny) * entries;
  const Lines lines = column_tile(s.x, width, by_width);
  ConvolveTile<kEnergy, Influence> tile(influence, box, s, y, column);
  box.store(number);
  const int64_t start = static_cast<int64_t>(y) * entries + column;
  const Complex* in = direct::base(op).spectrum + start;
  const int here = min(width, entries - column);
  wait_for_previous();
  release_next();
  direct::await_peers(op);
  fft::first_forward<Run::kAcrossLines>(lines, s.x, [&](int line, int x) {
    return line < here ? in[x * plane + line] : Complex{0, 0};
  });
  fft::inner_passes<Way::kForward>(lines, s.x);
  convolve_pass(lines, s.x, tile);
  fft::inner_passes<Way::kInverse>(lines, s.x);
  const auto homes = direct::homes(op);
  fft::last_inverse<Run::kAcrossLines>(lines, s.x, [&](int line, int x, Complex value) {
    if (line < here) (homes(x) + start)[x * plane + line] = value;
  });
  direct::tell_peers(op);
  if constexpr (kEnergy) {
    int64_t* const energy = direct::base(op).energy;
    auto* const scratch = reinterpret_cast<double*>(lines.data);
    add_block_sum(tile.energy, scratch, energy + Influence::kEnergyKind);
#pragma unroll
    for (int k = 0; k < Symmetric::kParts; ++k)
      add_block_sum(tile.virial[k] + (k < 3 ? tile.energy : 0), scratch, energy + kVirial + k);
  }
}

template <class Influence, class Op>
void convolve(const Influence& influence, const Op& op, const ConvolveLines& of,
              CudaContext& context) {
  const Shape s(of.grid, of.grid.nx);
  // Energies are summed tile by tile: tiles are those of the whole grid, however many lines are here.
  const int width = fft::tile_width(s.entries(), of.grid.ny, context.sm_count);
  const LaunchShape shape{"convolve_lines",
                          blocks_for(s.entries(), width),
                          fft::column_tile_threads(s.x, width),
                          fft::tile_bytes(s.x, width),
                          Start::kEarly,
                          static_cast<unsigned>(of.count)};
  const auto kernel =
      of.energy ? convolve_tiles<true, Influence, Op> : convolve_tiles<false, Influence, Op>;
  launch(context, shape, kernel, s, width, Divider(width), influence, op);
}

template <class Op>
void convolve(const Op& op, const ConvolveLines& of, CudaContext& context) {
  const OfSquare of_square{of.transform, {of.moduli[0], of.moduli[1], of.moduli[2]}};
  if (of.of != MeshOf::kDispersion) {
    convolve(ChargeInfluence{of_square}, op, of, context);
  } else {
    convolve(DispersionInfluence{of_square, static_cast<float>(of.strength)}, op, of, context);
  }
}

}  // namespace

void convolve_lines(const ConvolveLines& op, CudaContext& context) { convolve(op, op, context); }

void convolve_lines_directly(const ConvolveLinesDirectly& op, CudaContext& context) {
  convolve(op, op.lines, context);
}

}  // namespace quiltmd
