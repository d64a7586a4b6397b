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

#include "computes/long_range/pme/divider.cuh"
#include "computes/long_range/pme/operations.h"

namespace quiltmd::fft {

inline constexpr int kMaxPasses = 6;

// A pass of butterflies: blocks of `block` elements, each made of `radix` runs of `span`.
struct Pass {
  int radix = 1, block = 1, span = 1;
  int turn = 1;  // n / block: what one element further turns a root by
  Divider by_span{1};
};

// The passes of one length, in the order of the forward transform.
struct Plan {
  int n = 1;
  int passes = 0;
  Pass pass[kMaxPasses];
  Divider by_n, by_first;  // by the length; by the butterflies of the first pass

  __host__ __device__ int butterflies(int i) const { return n / pass[i].radix; }
  int most_butterflies() const {
    int most = 1;
    for (int i = 0; i < passes; ++i) most = butterflies(i) > most ? butterflies(i) : most;
    return most;
  }
};

// The fewest passes; among those the smallest largest radix. Lengths have no factor above 7.
inline bool search_radices(int rest, int passes_left, int most, Plan& plan) {
  if (rest == 1) return true;
  if (passes_left == 0) return false;
  for (int r = 2; r <= most; ++r) {
    if (r == 11 || r == 13 || rest % r) continue;
    plan.pass[plan.passes++].radix = r;
    if (search_radices(rest / r, passes_left - 1, r, plan)) return true;
    --plan.passes;
  }
  return false;
}
inline void make_plan(int n, Plan& plan) {
  for (int passes = 1; passes <= kMaxPasses; ++passes)
    for (int most = 2; most <= 16; ++most) {
      plan = Plan{};
      plan.n = n;
      if (!search_radices(n, passes, most, plan)) continue;
      int block = n;
      for (int i = 0; i < plan.passes; ++i) {
        Pass& p = plan.pass[i];
        p.block = block;
        p.span = block / p.radix;
        p.turn = n / block;
        p.by_span = Divider(p.span);
        block = p.span;
      }
      plan.by_n = Divider(n);
      plan.by_first = Divider(plan.butterflies(0));
      return;
    }
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

// Place of frequency k after the forward transform.
__device__ __forceinline__ int position_of(const Plan& plan, int k) {
  int position = 0;
  for (int i = 0; i < plan.passes; ++i) {
    const int next = k / plan.pass[i].radix;
    position += (k - next * plan.pass[i].radix) * plan.pass[i].span;
    k = next;
  }
  return position;
}

// The lowest frequency that butterfly b of the last pass yields; the others are n / radix apart.
__device__ __forceinline__ int lowest_frequency(const Plan& plan, int b) {
  if (plan.passes <= 2) return b;
  const int last_radix = plan.pass[plan.passes - 1].radix;
  int k = 0;
  for (int i = 0, weight = 1; i + 1 < plan.passes; ++i) {
    const int span = plan.pass[i].span / last_radix, digit = b / span;
    b -= digit * span;
    k += digit * weight;
    weight *= plan.pass[i].radix;
  }
  return k;
}

// roots[k] = exp(-2 pi i k/n), by all threads of the block.
__device__ __forceinline__ void fill_roots(Complex* roots, int n) {
  for (int k = threadIdx.x; k < n; k += blockDim.x) {
    float s, c;
    sincospif(2.0f * static_cast<float>(k) / static_cast<float>(n), &s, &c);
    roots[k] = {c, -s};
  }
}

enum class Way { kForward, kInverse };

// Butterfly b of a pass: load(e, r) and store(e, r, value) reach its r-th value, element e of the
// line. The inverse runs the transposed butterflies on values with real and imaginary part exchanged,
// so both ways share one set of roots. `root_step` leads from roots of the transform's length to
// those of the table.
template <int R, Way way, class Load, class Store>
__device__ __forceinline__ void butterfly(const Pass& p, const Complex* roots, int root_step, int b,
                                          Load load, Store store) {
  const int which = p.by_span(b), j = b - which * p.span, first = which * p.block + j;
  const int turn = j * p.turn * root_step;
  Complex x[R];
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const Complex value = load(first + r * p.span, r);
    x[r] = way == Way::kForward ? value : swapped(value);
  }
  if (way == Way::kInverse && p.span > 1) {
#pragma unroll
    for (int r = 1; r < R; ++r) x[r] = x[r] * roots[r * turn];
  }
  dft<R>(x);
  if (way == Way::kForward && p.span > 1) {
#pragma unroll
    for (int r = 1; r < R; ++r) x[r] = x[r] * roots[r * turn];
  }
#pragma unroll
  for (int r = 0; r < R; ++r)
    store(first + r * p.span, r, way == Way::kForward ? x[r] : swapped(x[r]));
}

// Call f with the radix as a compile-time constant.
template <class F>
__device__ __forceinline__ void with_radix(int radix, F f) {
  switch (radix) {
#define QMD_RADIX(R) \
  case R:            \
    return f(std::integral_constant<int, R>{});
    // clang-format off
    QMD_RADIX(2) QMD_RADIX(3) QMD_RADIX(4) QMD_RADIX(5) QMD_RADIX(6) QMD_RADIX(7) QMD_RADIX(8)
    QMD_RADIX(9) QMD_RADIX(10) QMD_RADIX(12) QMD_RADIX(14) QMD_RADIX(15) QMD_RADIX(16)
    // clang-format on
#undef QMD_RADIX
  }
}

// The threads of the block share items 0 .. count - 1.
template <class F>
__device__ __forceinline__ void over_items(int count, F f) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) f(i);
}

// Lines in shared memory: element e of line l at data[l * line_stride + e * stride].
struct Lines {
  Complex* data;
  int count;
  Divider by_count;
  int line_stride, stride;
  const Complex* roots;
  int root_step;

  __device__ __forceinline__ Complex& at(int line, int e) const {
    return data[line * line_stride + e * stride];
  }
};

// Pass i of all lines in place; consecutive threads take consecutive lines. Ends with a barrier.
template <Way way>
__device__ __forceinline__ void pass_in_place(const Lines& lines, const Plan& plan, int i) {
  const Pass& p = plan.pass[i];
  with_radix(p.radix, [&](auto radix) {
    over_items(lines.count * (plan.n / radix), [&](int item) {
      const int b = lines.by_count(item), line = item - b * lines.count;
      butterfly<radix, way>(
          p, lines.roots, lines.root_step, b, [&](int e, int) { return lines.at(line, e); },
          [&](int e, int, Complex value) { lines.at(line, e) = value; });
    });
  });
  __syncthreads();
}

// Order of threads in the outermost passes: neighbours take neighbouring lines, or neighbouring elements of a
// line, whichever are contiguous in global memory.
enum class Run { kAcrossLines, kAlongLines };

// f(line, i) for i < per_line of every line.
template <Run run, class F>
__device__ __forceinline__ void over_lines(const Lines& lines, int per_line, Divider by_per_line,
                                           F f) {
  over_items(lines.count * per_line, [&](int item) {
    if constexpr (run == Run::kAcrossLines) {
      const int i = lines.by_count(item);
      f(item - i * lines.count, i);
    } else {
      const int line = by_per_line(item);
      f(line, item - line * per_line);
    }
  });
}

// The pass that starts a forward transform: from in(line, element). With a plan of one pass it only
// copies, since the last pass does the work. Ends with a barrier.
template <Run run, class In>
__device__ __forceinline__ void first_forward(const Lines& lines, const Plan& plan, In in) {
  if (plan.passes == 1) {
    over_lines<run>(lines, plan.n, plan.by_n,
                    [&](int line, int e) { lines.at(line, e) = in(line, e); });
  } else {
    with_radix(plan.pass[0].radix, [&](auto radix) {
      over_lines<run>(lines, plan.n / radix, plan.by_first, [&](int line, int b) {
        butterfly<radix, Way::kForward>(
            plan.pass[0], lines.roots, lines.root_step, b, [&](int e, int) { return in(line, e); },
            [&](int e, int, Complex value) { lines.at(line, e) = value; });
      });
    });
  }
  __syncthreads();
}

// The pass that ends an inverse transform: to out(line, element, value).
template <Run run, class Out>
__device__ __forceinline__ void last_inverse(const Lines& lines, const Plan& plan, Out out) {
  if (plan.passes == 1) {
    over_lines<run>(lines, plan.n, plan.by_n,
                    [&](int line, int e) { out(line, e, lines.at(line, e)); });
    return;
  }
  with_radix(plan.pass[0].radix, [&](auto radix) {
    over_lines<run>(lines, plan.n / radix, plan.by_first, [&](int line, int b) {
      butterfly<radix, Way::kInverse>(
          plan.pass[0], lines.roots, lines.root_step, b,
          [&](int e, int) { return lines.at(line, e); },
          [&](int e, int, Complex value) { out(line, e, value); });
    });
  });
}

// The pass that ends a forward transform: frequencies to out(line, frequency, value). Line i of the
// output lies at place(i).
template <class Place, class Out>
__device__ __forceinline__ void last_forward(const Lines& lines, const Plan& plan, Place place,
                                             Out out) {
  const Pass& last = plan.pass[plan.passes - 1];
  with_radix(last.radix, [&](auto radix) {
    const int step = plan.n / radix;
    over_lines<Run::kAcrossLines>(lines, step, {}, [&](int line, int b) {
      const int lowest = lowest_frequency(plan, b), at = place(line);
      butterfly<radix, Way::kForward>(
          last, lines.roots, lines.root_step, b, [&](int e, int) { return lines.at(at, e); },
          [&](int, int r, Complex value) { out(line, lowest + r * step, value); });
    });
  });
}

// The pass that starts an inverse transform: from frequencies in(line, frequency). Ends with a
// barrier.
template <class Place, class In>
__device__ __forceinline__ void first_inverse(const Lines& lines, const Plan& plan, Place place,
                                              In in) {
  const Pass& last = plan.pass[plan.passes - 1];
  with_radix(last.radix, [&](auto radix) {
    const int step = plan.n / radix;
    over_lines<Run::kAcrossLines>(lines, step, {}, [&](int line, int b) {
      const int lowest = lowest_frequency(plan, b), at = place(line);
      butterfly<radix, Way::kInverse>(
          last, lines.roots, lines.root_step, b,
          [&](int, int r) { return in(line, lowest + r * step); },
          [&](int e, int, Complex value) { lines.at(at, e) = value; });
    });
  });
  __syncthreads();
}

// The passes between the first and the last.
template <Way way>
__device__ __forceinline__ void inner_passes(const Lines& lines, const Plan& plan) {
  for (int i = 1; i + 1 < plan.passes; ++i)
    pass_in_place<way>(lines, plan, way == Way::kForward ? i : plan.passes - 1 - i);
}

}  // namespace quiltmd::fft
