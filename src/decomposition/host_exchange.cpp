// SPDX-License-Identifier: Apache-2.0
// Host kernels of the exchange of atoms. Messages have arrived when a kernel that reads them starts.
#include <algorithm>

#include "decomposition/exchange_math.h"
#include "device/host/kernels.h"

namespace quiltmd {
namespace {

constexpr int kAtomGrain = 4096;
constexpr int kMessageGrain = 4;

// ---- Migrants ------------------------------------------------------------------------------

void find_far_migrants(const FindFarMigrants& op, ThreadGroup&) {
  for (int n = 0; n < std::min(*op.bin.count, op.bin.capacity); ++n)
    op.faults->far_migrant = std::max(op.faults->far_migrant, far_migrant(op, op.bin.placed[n]));
}

// Few groups leave, so one thread looks for them.
void send_migrants(const SendMigrants& op, ThreadGroup&) {
  const uint32_t number = op.out.number.get();
  MessageWord* const out = op.out.buffer();
  int groups = 0, atoms_sent = 0;
  for (int n = 0; n < std::min(*op.bin.count, op.bin.capacity); ++n) {
    const PlacedGroup group = op.bin.placed[n];
    if (op.owner[make_record(op.bin, group).patch] != op.to) continue;
    const int atoms = op.group_start[group.group + 1] - op.group_start[group.group];
    if (groups == op.room.groups || atoms_sent + atoms > op.room.atoms) {
      op.faults->message_overflow |= kMigrantMessage;
      break;
    }
    write_migrant<HostWords>(op, out, number, group, groups, atoms_sent);
    ++groups;
    atoms_sent += atoms;
  }
  write_migrant_count<HostWords>(out, number, {groups, atoms_sent});
}

void receive_migrants(const ReceiveMigrants& op, ThreadGroup&) {
  const uint32_t number = op.in.number.get();
  const MessageWord* const in = op.in.buffer();
  const Migrants arrived = read_migrant_count<HostWords>(op, in, number);
  for (int g = 0; g < arrived.groups; ++g) read_migrant<HostWords>(op, in, number, g);
  count_migrants(op, arrived);
}

void clear_slot_of_atom(const ClearSlotOfAtom& op, ThreadGroup& threads) {
  if (must_be_redone(*op.faults, *op.step)) return;
  const int slots = std::min(*op.slot_count, op.slot_capacity);
  threads.parallel_for(slots, kAtomGrain, [&](int begin, int end, int) {
    for (int s = begin; s < end; ++s)
      if (op.atom[s] >= 0) op.slot_of_atom[op.atom[s]] = -1;
  });
}

// ---- Proxies -------------------------------------------------------------------------------

// Number of atoms in the message before those of each patch; the last value is the number of all.
std::vector<int> atoms_before(const PatchExchange& exchange, const PlacedPatch* patches) {
  std::vector<int> before{0};
  for (int k = 0; k < exchange.count; ++k)
    before.push_back(before.back() + patches[exchange.patches[k]].atoms);
  return before;
}

void send_proxies(const SendProxies& op, ThreadGroup& threads) {
  const uint32_t number = op.out.number.get();
  MessageWord* const out = op.out.buffer();
  const std::vector<int> before = atoms_before(op.exchange, op.patches);
  const int room = op.exchange.atom_room;
  threads.parallel_for(op.exchange.count, kMessageGrain, [&](int first, int last, int) {
    for (int k = first; k < last; ++k) {
      const PlacedPatch& patch = op.patches[op.exchange.patches[k]];
      const int at = before[static_cast<size_t>(k)], atoms = std::clamp(room - at, 0, patch.atoms);
      write_proxy_count<HostWords>(out, number, k, atoms);
      for (int a = 0; a < atoms; ++a)
        write_proxy<HostWords>(op, out, number, at + a, patch.start + a);
    }
  });
  *op.exchange.atom_count = std::min(before.back(), room);
  if (before.back() > room) op.faults->message_overflow |= kProxyMessage;
}

void receive_counts(const ReceiveCounts& op, ThreadGroup&) {
  const uint32_t number = op.in.number.get();
  const MessageWord* const in = op.in.buffer();
  for (int k = 0; k < op.exchange.count; ++k)
    op.patches[op.exchange.patches[k]] = proxy_patch(op, k, HostWords::take(op.in, in + k, number));
}

void lay_out_proxies(const LayOutProxies& op, ThreadGroup&) {
  int slot = *op.owned_slots;
  for (int p = op.owned_count; p < op.owned_count + op.proxy_count; ++p) {
    PlacedPatch& patch = op.patches[p];
    const int end = slot + padded_slots(patch.atoms);
    if (end > op.slot_capacity) {
      op.faults->share_overflow = 1;
      patch.start = patch.atoms = 0;
      continue;
    }
    patch.start = slot;
    slot = end;
  }
  *op.all_slots = slot;
}

void receive_proxies(const ReceiveProxies& op, ThreadGroup& threads) {
  const uint32_t number = op.in.number.get();
  const MessageWord* const in = op.in.buffer();
  const std::vector<int> before = atoms_before(op.exchange, op.patches);
  threads.parallel_for(op.exchange.count, kMessageGrain, [&](int first, int last, int) {
    for (int k = first; k < last; ++k) {
      const int index = op.exchange.patches[k];
      const PlacedPatch& patch = op.patches[index];
      for (int a = 0; a < patch.atoms; ++a)
        read_proxy<HostWords>(op, in, number, before[static_cast<size_t>(k)] + a, patch.start + a,
                              patch.patch);
      for (int a = patch.atoms; a < padded_slots(patch.atoms); ++a)
        place_proxy_padding(op.slots, patch.patch, patch.start + a);
      for (int a = 0; a < padded_slots(patch.atoms); a += kClusterSize)
        op.slots.patch[(patch.start + a) / kClusterSize] = index;
    }
  });
  *op.exchange.atom_count = before.back();
}

// ---- Steps ---------------------------------------------------------------------------------

// body(index of an atom in the message)
template <class Body>
void over_atoms(const PatchExchange& exchange, ThreadGroup& threads, Body body) {
  threads.parallel_for(*exchange.atom_count, kAtomGrain, [&](int begin, int end, int) {
    for (int m = begin; m < end; ++m) body(m);
  });
}

void send_positions(const SendPositions& op, ThreadGroup& threads) {
  over_atoms(op.exchange, threads, [&op, out = op.out.buffer(), n = op.out.number.get()](int m) {
    write_position<HostWords>(op, out, n, m);
  });
}

void receive_positions(const ReceivePositions& op, ThreadGroup& threads) {
  over_atoms(op.exchange, threads, [&op, in = op.in.buffer(), n = op.in.number.get()](int m) {
    read_position<HostWords>(op, in, n, m);
  });
}

void send_values(const SendValues& op, ThreadGroup& threads) {
  over_atoms(op.exchange, threads, [&op, out = op.out.buffer(), n = op.out.number.get()](int m) {
    write_value<HostWords>(op, out, n, m);
  });
}

void receive_values(const ReceiveValues& op, ThreadGroup& threads) {
  over_atoms(op.exchange, threads, [&op, in = op.in.buffer(), n = op.in.number.get()](int m) {
    read_value<HostWords>(op, in, n, m);
  });
}

// Sums of a step that blew up may leave their range: they wrap, as on a GPU, and the faults of the
// step say that it is void.
void add_to(int64_t& sum, int64_t more) {
  sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(more));
}

void return_sums(const ReturnSums& op, ThreadGroup& threads) {
  over_atoms(op.exchange, threads, [&op, out = op.out.buffer(), n = op.out.number.get()](int m) {
    write_returned<HostWords>(op, out, n, m);
  });
}

void add_sums(const AddSums& op, ThreadGroup& threads) {
  over_atoms(op.exchange, threads, [&op, in = op.in.buffer(), n = op.in.number.get()](int m) {
    add_to(op.sums[slot_in(op.exchange.slot_of[m])], read_returned<HostWords>(op, in, n, m));
  });
}

void send_forces(const SendForces& op, ThreadGroup& threads) {
  over_atoms(op.exchange, threads, [&op, out = op.out.buffer(), n = op.out.number.get()](int m) {
    write_force<HostWords>(op, out, n, m);
  });
}

void receive_forces(const ReceiveForces& op, ThreadGroup& threads) {
  over_atoms(op.exchange, threads, [&op, in = op.in.buffer(), n = op.in.number.get()](int m) {
    const ForceParts force = read_force<HostWords>(op, in, n, m);
    const int slot = slot_in(op.exchange.slot_of[m]);
    for (int d = 0; d < 3; ++d) add_to(op.slots.force[d][slot], force.along[d]);
  });
}

}  // namespace

void add_atom_exchange_kernels(HostKernels& table) {
  table.add<FindFarMigrants, find_far_migrants>();
  table.add<SendMigrants, send_migrants>();
  table.add<ReceiveMigrants, receive_migrants>();
  table.add<ClearSlotOfAtom, clear_slot_of_atom>();
  table.add<SendProxies, send_proxies>();
  table.add<ReceiveCounts, receive_counts>();
  table.add<LayOutProxies, lay_out_proxies>();
  table.add<ReceiveProxies, receive_proxies>();
  table.add<SendPositions, send_positions>();
  table.add<ReceivePositions, receive_positions>();
  table.add<SendValues, send_values>();
  table.add<ReceiveValues, receive_values>();
  table.add<ReturnSums, return_sums>();
  table.add<AddSums, add_sums>();
  table.add<SendForces, send_forces>();
  table.add<ReceiveForces, receive_forces>();
}

}  // namespace quiltmd
