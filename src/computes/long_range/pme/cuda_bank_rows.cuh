// SPDX-License-Identifier: Apache-2.0
// Which thread takes which atom when charges are spread.
//
// An access of a warp to a brick takes as many turns as its atoms have first grid points in the
// same bank: 3.5 if they come as they are. So the atoms of a block are first sorted into rows, one
// row for a warp, with an entry for each bank. An atom whose bank has no entry left gets any free
// entry, which makes two turns of most accesses. Sums are of integers, and do not depend on the
// order.
#pragma once

#include "computes/long_range/pme/cuda_bricks.cuh"

namespace quiltmd::mesh {

inline constexpr int kBanks = 32;  // of shared memory
inline constexpr int kEach = 2;    // entries of a thread
inline constexpr int kEntries = kEach * kThreads;

struct BankRows {
  Float4 local[kEntries];
  bool filled[kEntries];
  int free[kEntries];   // entries that no atom of their bank needs
  int wanted[kBanks];   // entries, by atoms of each bank
  int overflow, frees;  // atoms without an entry of their bank; free entries
};

// Sort the atoms local_of(slot) of slots [begin, end), kEntries at most, by the bank of word_of(local),
// which is called only after a barrier. Ends with a barrier.
template <class Load, class F>
__device__ __forceinline__ void sort_by_bank(Load local_of, int begin, int end, BankRows& rows,
                                             F word_of) {
  const int t = threadIdx.x, used = (end - begin + kBanks - 1) / kBanks * kBanks;
  const auto slot_of = [&](int n) { return begin + t + n * kThreads; };
  Float4 local[kEach];
#pragma unroll
  for (int n = 0; n < kEach; ++n) local[n] = local_of(min(slot_of(n), end - 1));
  const auto put = [&](int entry, int n) {
    rows.local[entry] = local[n];
    rows.filled[entry] = true;
  };
#pragma unroll
  for (int n = 0; n < kEach; ++n) rows.filled[t + n * kThreads] = false;
  if (t < kBanks) rows.wanted[t] = 0;
  if (t == 0) rows.overflow = rows.frees = 0;
  __syncthreads();
  int number[kEach];  // among the atoms without an entry of their bank, or -1
#pragma unroll
  for (int n = 0; n < kEach; ++n) {
    number[n] = -1;
    if (slot_of(n) >= end) continue;
    const int bank = word_of(local[n]) & (kBanks - 1);
    const int entry = atomicAdd(&rows.wanted[bank], 1) * kBanks + bank;
    if (entry < used) {
      put(entry, n);
    } else {
      number[n] = atomicAdd(&rows.overflow, 1);
    }
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < kEach; ++n) {
    const int entry = t + n * kThreads;
    if (entry < used && !rows.filled[entry]) rows.free[atomicAdd(&rows.frees, 1)] = entry;
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < kEach; ++n)
    if (number[n] >= 0) put(rows.free[number[n]], n);
  __syncthreads();
}

}  // namespace quiltmd::mesh
