// SPDX-License-Identifier: Apache-2.0
// The exchange of atoms on a GPU. Kernels that read messages wait for them word by word, so they keep
// to few blocks: what they occupy while they wait, other work cannot have.
#include "decomposition/exchange_math.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/message.cuh"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace exchange {

constexpr int kThreads = 128;
constexpr int kStepThreads =
    kWarp;  // in a step: as small as blocks of pairs, whose places they take
constexpr int kLayoutThreads = 1024;
constexpr int kMigrantBlocks = 16;  // of those that read

// ---- Migrants ------------------------------------------------------------------------------

__global__ void __launch_bounds__(kThreads)
    find_far_migrants_kernel(const __grid_constant__ FindFarMigrants op, LaunchTimes* times) {
  const Timed timed(times);
  release_next();
  wait_for_previous();
  const int n = blockIdx.x * kThreads + threadIdx.x;
  if (n >= min(*op.bin.count, op.bin.capacity)) return;
  if (const int32_t found = far_migrant(op, op.bin.placed[n]))
    atomicMax(&op.faults->far_migrant, found);
}

__global__ void __launch_bounds__(kThreads)
    send_migrants_kernel(const __grid_constant__ SendMigrants op, LaunchTimes* times) {
  const Timed timed(times);
  release_next();
  wait_for_previous();
  const int n = blockIdx.x * kThreads + threadIdx.x;
  if (n >= min(*op.bin.count, op.bin.capacity)) return;
  const PlacedGroup group = op.bin.placed[n];
  if (op.owner[make_record(op.bin, group).patch] != op.to) return;
  const int atoms = op.group_start[group.group + 1] - op.group_start[group.group];
  // Both numbers at once: the groups in the lower half.
  const auto step = static_cast<unsigned long long>(atoms) << 32 | 1ull;
  const unsigned long long at = atomicAdd(reinterpret_cast<unsigned long long*>(op.tally), step);
  const int index = static_cast<int>(at), first = static_cast<int>(at >> 32);
  if (index >= op.room.groups || first + atoms > op.room.atoms) return;
  write_migrant<DeviceWords>(op, op.out.buffer(), op.out.number.get(), group, index, first);
}

// Once all groups have been counted. Where not all of them fit, none are announced.
__global__ void send_header_kernel(const __grid_constant__ SendMigrants op, LaunchTimes* times) {
  const Timed timed(times);
  release_next();
  wait_for_previous();
  const int groups = op.tally[0], atoms = op.tally[1];
  const bool fits = groups <= op.room.groups && atoms <= op.room.atoms;
  if (!fits) op.faults->message_overflow |= kMigrantMessage;
  const Migrants sent = fits ? Migrants{groups, atoms} : Migrants{0, 0};
  write_migrant_count<DeviceWords>(op.out.buffer(), op.out.number.get(), sent);
  op.tally[0] = op.tally[1] = 0;
}

__global__ void __launch_bounds__(kThreads)
    receive_migrants_kernel(const __grid_constant__ ReceiveMigrants op, LaunchTimes* times) {
  const Timed timed(times);
  release_next();
  wait_for_previous();
  const uint32_t number = op.in.number.get();
  const MessageWord* const in = op.in.buffer();
  const Migrants arrived = read_migrant_count<DeviceWords>(op, in, number);
  const int thread = blockIdx.x * kThreads + threadIdx.x;
  for (int g = thread; g < arrived.groups; g += gridDim.x * kThreads)
    read_migrant<DeviceWords>(op, in, number, g);
  if (thread == 0) count_migrants(op, arrived);
}

__global__ void __launch_bounds__(kThreads)
    clear_slot_of_atom_kernel(const __grid_constant__ ClearSlotOfAtom op, LaunchTimes* times) {
  const Timed timed(times);
  release_next();
  wait_for_previous();
  const int slot = blockIdx.x * kThreads + threadIdx.x;
  if (slot >= min(*op.slot_count, op.slot_capacity)) return;
  if (must_be_redone(*op.faults, *op.step)) return;
  const int atom = op.atom[slot];
  if (atom >= 0) op.slot_of_atom[atom] = -1;
}

// ---- Proxies -------------------------------------------------------------------------------

// Atoms of the message before those of the block's patch.
__device__ int atoms_before(const PatchExchange& exchange, const PlacedPatch* patches) {
  int mine = 0;
  for (int k = threadIdx.x; k < static_cast<int>(blockIdx.x); k += kThreads)
    mine += patches[exchange.patches[k]].atoms;
  int all;
  block_sum(mine, &all);
  return all;
}

__global__ void __launch_bounds__(kThreads)
    send_proxies_kernel(const __grid_constant__ SendProxies op, LaunchTimes* times) {
  const Timed timed(times);
  release_next();
  wait_for_previous();
  const uint32_t number = op.out.number.get();
  MessageWord* const out = op.out.buffer();
  const int at = atoms_before(op.exchange, op.patches), room = op.exchange.atom_room;
  const PlacedPatch patch = op.patches[op.exchange.patches[blockIdx.x]];
  const int atoms = min(patch.atoms, max(room - at, 0));
  for (int a = threadIdx.x; a < atoms; a += kThreads)
    write_proxy<DeviceWords>(op, out, number, at + a, patch.start + a);
  if (threadIdx.x != 0) return;
  write_proxy_count<DeviceWords>(out, number, blockIdx.x, atoms);
  if (blockIdx.x == gridDim.x - 1) *op.exchange.atom_count = at + atoms;
  if (atoms != patch.atoms) op.faults->message_overflow |= kProxyMessage;
}

__global__ void __launch_bounds__(kThreads)
    receive_counts_kernel(const __grid_constant__ ReceiveCounts op, LaunchTimes* times) {
  const Timed timed(times);
  release_next();
  wait_for_previous();
  const int k = blockIdx.x * kThreads + threadIdx.x;
  if (k >= op.exchange.count) return;
  const MessageWord word = DeviceWords::take(op.in, op.in.buffer() + k, op.in.number.get());
  op.patches[op.exchange.patches[k]] = proxy_patch(op, k, word);
}

__global__ void __launch_bounds__(kLayoutThreads)
    lay_out_proxies_kernel(const __grid_constant__ LayOutProxies op, LaunchTimes* times) {
  const Timed timed(times);
  release_next();
  wait_for_previous();
  int slot = *op.owned_slots, used = slot;
  for (int base = 0; base < op.proxy_count; base += kLayoutThreads) {
    const int p = base + threadIdx.x;
    const bool present = p < op.proxy_count;
    PlacedPatch* const patch = op.patches + op.owned_count + (present ? p : 0);
    const int size = present ? padded_slots(patch->atoms) : 0;
    int all;
    const int start = slot + block_sum(size, &all);
    if (present && start + size <= op.slot_capacity) {
      patch->start = start;
    } else if (present) {
      patch->start = patch->atoms = 0;
      op.faults->share_overflow = 1;
    }
    slot += all;
    used = min(slot, op.slot_capacity);
  }
  if (threadIdx.x == 0) *op.all_slots = used;
}

__global__ void __launch_bounds__(kThreads)
    receive_proxies_kernel(const __grid_constant__ ReceiveProxies op, LaunchTimes* times) {
  const Timed timed(times);
  release_next();
  wait_for_previous();
  const uint32_t number = op.in.number.get();
  const MessageWord* const in = op.in.buffer();
  const int at = atoms_before(op.exchange, op.patches), index = op.exchange.patches[blockIdx.x];
  const PlacedPatch patch = op.patches[index];
  const int end = padded_slots(patch.atoms);
  for (int a = threadIdx.x; a < end; a += kThreads) {
    const int slot = patch.start + a;
    if (a < patch.atoms)
      read_proxy<DeviceWords>(op, in, number, at + a, slot, patch.patch);
    else
      place_proxy_padding(op.slots, patch.patch, slot);
    if (a % kClusterSize == 0) op.slots.patch[slot / kClusterSize] = index;
  }
  if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) *op.exchange.atom_count = at + patch.atoms;
}

// ---- Steps ---------------------------------------------------------------------------------

// Treatment of atom m of a message, for each operation.
__device__ __forceinline__ void exchange_atom(const SendPositions& op, int m) {
  write_position<DeviceWords>(op, op.out.buffer(), op.out.number.get(), m);
}
__device__ __forceinline__ void exchange_atom(const ReceivePositions& op, int m) {
  read_position<DeviceWords>(op, op.in.buffer(), op.in.number.get(), m);
}
__device__ __forceinline__ void exchange_atom(const SendValues& op, int m) {
  write_value<DeviceWords>(op, op.out.buffer(), op.out.number.get(), m);
}
__device__ __forceinline__ void exchange_atom(const ReceiveValues& op, int m) {
  read_value<DeviceWords>(op, op.in.buffer(), op.in.number.get(), m);
}
__device__ __forceinline__ void exchange_atom(const ReturnSums& op, int m) {
  write_returned<DeviceWords>(op, op.out.buffer(), op.out.number.get(), m);
}
__device__ __forceinline__ void exchange_atom(const AddSums& op, int m) {
  const int64_t sum = read_returned<DeviceWords>(op, op.in.buffer(), op.in.number.get(), m);
  add_fixed(op.sums + slot_in(op.exchange.slot_of[m]), sum);
}
__device__ __forceinline__ void exchange_atom(const SendForces& op, int m) {
  write_force<DeviceWords>(op, op.out.buffer(), op.out.number.get(), m);
}
__device__ __forceinline__ void exchange_atom(const ReceiveForces& op, int m) {
  const ForceParts force = read_force<DeviceWords>(op, op.in.buffer(), op.in.number.get(), m);
  const int slot = slot_in(op.exchange.slot_of[m]);
#pragma unroll
  for (int d = 0; d < 3; ++d) add_fixed(op.slots.force[d] + slot, force.along[d]);
}

template <class Op>
__global__ void __launch_bounds__(kStepThreads)
    exchange_atoms_kernel(const __grid_constant__ Op op, LaunchTimes* times) {
  const Timed timed(times);
  release_next();
  wait_for_previous();
  const int m = blockIdx.x * kStepThreads + threadIdx.x;
  if (m < *op.exchange.atom_count) exchange_atom(op, m);
}

}  // namespace exchange

namespace {

using exchange::kThreads;

void find_far_migrants(const FindFarMigrants& op, CudaContext& context) {
  launch(
      context,
      {FindFarMigrants::kName, blocks_for(op.bin.capacity, kThreads), kThreads, 0, Start::kEarly},
      exchange::find_far_migrants_kernel, op);
}

void send_migrants(const SendMigrants& op, CudaContext& context) {
  launch(context,
         {SendMigrants::kName, blocks_for(op.bin.capacity, kThreads), kThreads, 0, Start::kEarly},
         exchange::send_migrants_kernel, op);
  launch(context, {"send_migrants.header", 1, 1, 0, Start::kEarly}, exchange::send_header_kernel,
         op);
}

void receive_migrants(const ReceiveMigrants& op, CudaContext& context) {
  launch(context, {ReceiveMigrants::kName, exchange::kMigrantBlocks, kThreads, 0, Start::kEarly},
         exchange::receive_migrants_kernel, op);
}

void clear_slot_of_atom(const ClearSlotOfAtom& op, CudaContext& context) {
  launch(
      context,
      {ClearSlotOfAtom::kName, blocks_for(op.slot_capacity, kThreads), kThreads, 0, Start::kEarly},
      exchange::clear_slot_of_atom_kernel, op);
}

void send_proxies(const SendProxies& op, CudaContext& context) {
  launch(context,
         {SendProxies::kName, static_cast<unsigned>(op.exchange.count), kThreads, 0, Start::kEarly},
         exchange::send_proxies_kernel, op);
}

void receive_counts(const ReceiveCounts& op, CudaContext& context) {
  launch(
      context,
      {ReceiveCounts::kName, blocks_for(op.exchange.count, kThreads), kThreads, 0, Start::kEarly},
      exchange::receive_counts_kernel, op);
}

void lay_out_proxies(const LayOutProxies& op, CudaContext& context) {
  launch(context, {LayOutProxies::kName, 1, exchange::kLayoutThreads, 0, Start::kEarly},
         exchange::lay_out_proxies_kernel, op);
}

void receive_proxies(const ReceiveProxies& op, CudaContext& context) {
  launch(
      context,
      {ReceiveProxies::kName, static_cast<unsigned>(op.exchange.count), kThreads, 0, Start::kEarly},
      exchange::receive_proxies_kernel, op);
}

template <class Op>
void exchange_atoms(const Op& op, CudaContext& context) {
  launch(context,
         {Op::kName, blocks_for(op.exchange.atom_room, exchange::kStepThreads),
          exchange::kStepThreads, 0, Start::kEarly},
         exchange::exchange_atoms_kernel<Op>, op);
}

}  // namespace

void add_atom_exchange_kernels(CudaKernels& table) {
  table.add<FindFarMigrants, find_far_migrants>();
  table.add<SendMigrants, send_migrants>();
  table.add<ReceiveMigrants, receive_migrants>();
  table.add<ClearSlotOfAtom, clear_slot_of_atom>();
  table.add<SendProxies, send_proxies>();
  table.add<ReceiveCounts, receive_counts>();
  table.add<LayOutProxies, lay_out_proxies>();
  table.add<ReceiveProxies, receive_proxies>();
  table.add<SendPositions, exchange_atoms<SendPositions>>();
  table.add<ReceivePositions, exchange_atoms<ReceivePositions>>();
  table.add<SendValues, exchange_atoms<SendValues>>();
  table.add<ReceiveValues, exchange_atoms<ReceiveValues>>();
  table.add<ReturnSums, exchange_atoms<ReturnSums>>();
  table.add<AddSums, exchange_atoms<AddSums>>();
  table.add<SendForces, exchange_atoms<SendForces>>();
  table.add<ReceiveForces, exchange_atoms<ReceiveForces>>();
}

}  // namespace quiltmd
