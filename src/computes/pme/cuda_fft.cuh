// SPDX-License-Identifier: Apache-2.0
// Fourier transforms in the shared memory of one block, for lengths made of 2, 3, 5 and 7.
//
// A transform is a few passes of in-register butterflies of radix 2 to 16. Decimation in frequency
// leaves the result in a permuted order; the inverse takes it from there, so nothing is reordered
// between the two, and everything is in place: an array needs no second copy, which is what lets
// a whole plane fit one multiprocessor. A library would transform in more kernels, each through
// global memory; it would win where a line does not fit the registers of a block.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "computes/pme/operations.h"

namespace quiltmd::fft {

inline constexpr int kMaxPasses = 6;

// Radices of the passes of one length, in the order of the forward transform.
struct Plan {
  int n = 1;
  int passes = 0;
  int radix[kMaxPasses] = {};
};

// The fewest passes; among those the smallest largest radix. False: a factor above 7, or too long.
inline bool search_plan(int rest, int passes_left, int most, Plan& plan) {
  if (rest == 1) return true;
  if (passes_left == 0) return false;
  for (int r = 2; r <= most; ++r) {
    if (r == 11 || r == 13 || rest % r) continue;
    plan.radix[plan.passes++] = r;
    if (search_plan(rest / r, passes_left - 1, r, plan)) return true;
    --plan.passes;
  }
  return false;
}
inline bool make_plan(int n, Plan& plan) {
  for (int passes = 0; passes <= kMaxPasses; ++passes)
    for (int most = 2; most <= 16; ++most) {
      plan = {n, 0, {}};
      if (search_plan(n, passes, most, plan)) return true;
    }
  return false;
}

__device__ __forceinline__ Complex operator+(Complex a, Complex b) {
  return {a.re + b.re, a.im + b.im};
}
__device__ __forceinline__ Complex operator-(Complex a, Complex b) {
  return {a.re - b.re, a.im - b.im};
}
__device__ __forceinline__ Complex operator*(Complex a, Complex b) {
  return {__fmaf_rn(-a.im, b.im, a.re * b.re), __fmaf_rn(a.im, b.re, a.re * b.im)};
}
__device__ __forceinline__ Complex swapped(Complex a) { return {a.im, a.re}; }

// cos(2 pi k/n) for compile-time twiddles (octant reduction, then the series).
constexpr double series(double x, double term, int first) {
  double sum = 0;
  for (int i = first; i < 30; i += 2) {
    sum += term;
    term *= -x * x / ((i + 1) * (i + 2));
  }
  return sum;
}
constexpr double cosine(int k, int n) {
  k = ((k % n) + n) % n;
  if (2 * k > n) k = n - k;
  if (4 * k > n) return -cosine(n - 2 * k, 2 * n);
  const double x = 6.283185307179586476925 * k / n;
  if (8 * k <= n) return series(x, 1.0, 0);
  const double y = 6.283185307179586476925 * (n - 4 * k) / (4.0 * n);
  return series(y, y, 1);
}
constexpr double sine(int k, int n) { return cosine(4 * k - n, 4 * n); }

template <int... I, class F>
__device__ __forceinline__ void unrolled(std::integer_sequence<int, I...>, F f) {
  (f(std::integral_constant<int, I>{}), ...);
}
template <int N, class F>
__device__ __forceinline__ void unrolled(F f) {
  unrolled(std::make_integer_sequence<int, N>{}, f);
}

// a * exp(-2 pi i K/N)
template <int K, int N>
__device__ __forceinline__ Complex turned(Complex a) {
  if constexpr (K % N == 0) {
    return a;
  } else if constexpr (4 * K == N) {
    return {a.im, -a.re};
  } else if constexpr (2 * K == N) {
    return {-a.re, -a.im};
  } else if constexpr (8 * K == N) {
    constexpr float h = 0.70710678118654752f;
    return {h * (a.re + a.im), h * (a.im - a.re)};
  } else {
    constexpr float c = static_cast<float>(cosine(K, N)), s = static_cast<float>(sine(K, N));
    return {__fmaf_rn(a.im, s, a.re * c), __fmaf_rn(-a.re, s, a.im * c)};
  }
}

constexpr int smallest_split(int n) {
  if (n == 4 || n == 8 || n == 16) return n == 4 ? 2 : 4;
  for (int f = 2; f < n; ++f)
    if (n % f == 0) return f;
  return n;
}

// Forward transform of R values in registers, natural order.
template <int R>
__device__ __forceinline__ void dft(Complex (&x)[R]) {
  if constexpr (R == 2) {
    const Complex a = x[0];
    x[0] = a + x[1];
    x[1] = a - x[1];
  } else if constexpr (smallest_split(R) == R) {  // an odd prime
    constexpr int H = (R - 1) / 2;
    Complex sum[H], difference[H];
    Complex total = x[0];
#pragma unroll
    for (int k = 0; k < H; ++k) {
      sum[k] = x[k + 1] + x[R - 1 - k];
      difference[k] = x[k + 1] - x[R - 1 - k];
      total = total + sum[k];
    }
    const Complex first = x[0];
    x[0] = total;
    unrolled<H>([&](auto m) {
      Complex even = first, odd = {0.0f, 0.0f};
      unrolled<H>([&](auto k) {
        constexpr float c = static_cast<float>(cosine((m + 1) * (k + 1), R));
        constexpr float s = static_cast<float>(sine((m + 1) * (k + 1), R));
        even = {__fmaf_rn(c, sum[k].re, even.re), __fmaf_rn(c, sum[k].im, even.im)};
        odd = {__fmaf_rn(s, difference[k].re, odd.re), __fmaf_rn(s, difference[k].im, odd.im)};
      });
      x[m + 1] = {even.re + odd.im, even.im - odd.re};
      x[R - 1 - m] = {even.re - odd.im, even.im + odd.re};
    });
  } else {
    constexpr int A = smallest_split(R), B = R / A;
    Complex y[R];
    unrolled<B>([&](auto b) {
      Complex part[A];
#pragma unroll
      for (int a = 0; a < A; ++a) part[a] = x[b + B * a];
      dft<A>(part);
      unrolled<A>([&](auto k) { y[k * B + b] = turned<b * k, R>(part[k]); });
    });
#pragma unroll
    for (int k = 0; k < A; ++k) {
      Complex part[B];
#pragma unroll
      for (int b = 0; b < B; ++b) part[b] = y[k * B + b];
      dft<B>(part);
#pragma unroll
      for (int m = 0; m < B; ++m) x[k + A * m] = part[m];
    }
  }
}

// Where the forward transform leaves frequency k.
__device__ __forceinline__ int position_of(const Plan& plan, int k) {
  int position = 0, block = plan.n;
  for (int p = 0; p < plan.passes; ++p) {
    const int radix = plan.radix[p], next = k / radix;
    block /= radix;
    position += (k - next * radix) * block;
    k = next;
  }
  return position;
}

// roots[k] = exp(-2 pi i k/n), by all threads of the block.
__device__ __forceinline__ void fill_roots(Complex* roots, int n) {
  for (int k = threadIdx.x; k < n; k += blockDim.x) {
    float s, c;
    sincospif(2.0f * static_cast<float>(k) / static_cast<float>(n), &s, &c);
    roots[k] = {c, -s};
  }
}

// Lines in shared memory: element e of line l at data[l * line_stride + e * stride]. Consecutive
// threads take consecutive lines, `width` (a power of two) at a time.
struct Lines {
  Complex* data;
  int count, line_stride, stride;
  int width;
};

enum class Way { kForward, kInverse };

// One pass over all lines. The inverse runs the transposed butterflies on values with real and
// imaginary part exchanged, so both ways share one set of roots. `root_step` leads from roots of
// the transform's length to those of the table.
template <int R, Way way>
__device__ __forceinline__ void pass(const Lines& lines, const Complex* roots, int root_step, int n,
                                     int block) {
  const int span = block / R, butterflies = n / R;
  const int rounds = (lines.count + lines.width - 1) / lines.width;
  const int lane = threadIdx.x & (lines.width - 1);
  const int worker = threadIdx.x / lines.width, workers = blockDim.x / lines.width;
  for (int item = worker; item < butterflies * rounds; item += workers) {
    const int butterfly = item / rounds;
    const int line = (item - butterfly * rounds) * lines.width + lane;
    if (line >= lines.count) continue;
    const int j = butterfly % span;
    const int turn = j * (n / block) * root_step;
    Complex* at = lines.data + line * lines.line_stride +
                  ((butterfly / span) * block + j) * lines.stride;
    const int step = span * lines.stride;
    Complex x[R];
#pragma unroll
    for (int r = 0; r < R; ++r) x[r] = way == Way::kForward ? at[r * step] : swapped(at[r * step]);
    if (way == Way::kInverse && span > 1) {
#pragma unroll
      for (int r = 1; r < R; ++r) x[r] = x[r] * roots[r * turn];
    }
    dft<R>(x);
    if (way == Way::kForward && span > 1) {
#pragma unroll
      for (int r = 1; r < R; ++r) x[r] = x[r] * roots[r * turn];
    }
#pragma unroll
    for (int r = 0; r < R; ++r) at[r * step] = way == Way::kForward ? x[r] : swapped(x[r]);
  }
}

// Call f with the radix as a compile-time constant.
template <class F>
__device__ __forceinline__ void with_radix(int radix, F f) {
  switch (radix) {
#define QMD_RADIX(R) \
  case R: return f(std::integral_constant<int, R>{});
    QMD_RADIX(2) QMD_RADIX(3) QMD_RADIX(4) QMD_RADIX(5) QMD_RADIX(6) QMD_RADIX(7) QMD_RADIX(8)
    QMD_RADIX(9) QMD_RADIX(10) QMD_RADIX(12) QMD_RADIX(14) QMD_RADIX(15) QMD_RADIX(16)
#undef QMD_RADIX
  }
}

// All passes of all lines, by the whole block; the data is complete for all threads on return.
template <Way way>
__device__ __forceinline__ void transform(const Lines& lines, const Plan& plan,
                                          const Complex* roots, int root_step) {
  int block = way == Way::kForward ? plan.n : 1;
  for (int i = 0; i < plan.passes; ++i) {
    const int radix = plan.radix[way == Way::kForward ? i : plan.passes - 1 - i];
    if (way == Way::kInverse) block *= radix;
    with_radix(radix, [&](auto r) { pass<r, way>(lines, roots, root_step, plan.n, block); });
    if (way == Way::kForward) block /= radix;
    __syncthreads();
  }
}

}  // namespace quiltmd::fft
