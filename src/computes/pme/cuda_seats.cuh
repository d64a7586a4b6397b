// SPDX-License-Identifier: Apache-2.0
// Which thread takes which atom when charges are spread.
//
// An access of a warp to a brick takes as many turns as its atoms have first grid points in the
// same bank: 3.5 if they come as they are. So the atoms of a block are seated first: a row of
// seats, for a warp, has one for each bank. An atom that finds the seats of its bank taken gets any
// that is left, which makes two turns of most accesses. Sums are of integers, and do not depend on
// seats.
#pragma once

#include "computes/pme/cuda_bricks.cuh"

namespace quiltmd::mesh {

inline constexpr int kBanks = 32;  // of shared memory
inline constexpr int kEach = 2;    // seats of a thread
inline constexpr int kSeats = kEach * kThreads;

struct Seats {
  Float4 local[kSeats];
  bool taken[kSeats];
  int left[kSeats];   // seats that nobody took at first
  int asked[kBanks];  // for seats of each bank
  int standing, empty;
};

// Seat the atoms in slots [begin, end), kSeats at most, by the bank of word_of(local), which is
// asked only after a barrier. Ends with a barrier.
template <class F>
__device__ __forceinline__ void seat_atoms(const Float4* locals, int begin, int end, Seats& seats,
                                           F word_of) {
  const int t = threadIdx.x, used = (end - begin + kBanks - 1) / kBanks * kBanks;
  const auto slot_of = [&](int n) { return begin + t + n * kThreads; };
  Float4 local[kEach];
#pragma unroll
  for (int n = 0; n < kEach; ++n) local[n] = locals[min(slot_of(n), end - 1)];
  const auto sit = [&](int seat, int n) {
    seats.local[seat] = local[n];
    seats.taken[seat] = true;
  };
#pragma unroll
  for (int n = 0; n < kEach; ++n) seats.taken[t + n * kThreads] = false;
  if (t < kBanks) seats.asked[t] = 0;
  if (t == 0) seats.standing = seats.empty = 0;
  __syncthreads();
  int turn[kEach];  // of those who stand
#pragma unroll
  for (int n = 0; n < kEach; ++n) {
    turn[n] = -1;
    if (slot_of(n) >= end) continue;
    const int bank = word_of(local[n]) & (kBanks - 1);
    const int seat = atomicAdd(&seats.asked[bank], 1) * kBanks + bank;
    if (seat < used) {
      sit(seat, n);
    } else {
      turn[n] = atomicAdd(&seats.standing, 1);
    }
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < kEach; ++n) {
    const int seat = t + n * kThreads;
    if (seat < used && !seats.taken[seat]) seats.left[atomicAdd(&seats.empty, 1)] = seat;
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < kEach; ++n)
    if (turn[n] >= 0) sit(seats.left[turn[n]], n);
  __syncthreads();
}

}  // namespace quiltmd::mesh
