// SPDX-License-Identifier: Apache-2.0
// What ranks send each other, as kernels see it: arrays of 16-byte words, three values and the number
// of the message. A word is stored and loaded whole, so who finds the number of the message that it
// awaits has the values, too: there are no flags to raise behind the data and no fences, which cost
// more than the data. The price is a quarter of the bandwidth.
//
// Where kernels reach the memory of the receiver's device they write there, and the receiver's kernels
// wait for each word. Elsewhere they write into memory of their own, and the host carries it.
//
// Two buffers take turns, by the number of the message: a sender is never more than one message of a
// kind ahead of the receiver, because before the next but one it awaits something that the receiver
// sends after it has read the first.
#pragma once

#include <cstdint>

#include "device/memory_use.h"
#include "math/macros.h"

namespace quiltmd {

struct alignas(16) MessageWord {
  uint32_t value[3];
  uint32_t number;
};

// Messages of an edge are numbered from 1 on, alike at both ends: those `before` are counted in device
// memory, so that a recorded message has another number each time it is replayed.
struct MessageNumber {
  const uint32_t* before;
  uint32_t more;
  QMD_HD uint32_t get() const { return *before + more; }
};

// Destination of a message.
struct Outlet {
  MessageWord* words;
  int64_t stride;  // from one buffer to the other
  MessageNumber number;

  QMD_HD MessageWord* buffer() const { return words + (number.get() & 1u) * stride; }
  void memory(MemoryUses& uses, Access) const {
    QMD_USES(kWrite, words);
    QMD_USES(kRead, extent(number.before, 1));
  }
};

// State that ends all waiting of a rank's kernels.
struct Waiting {
  static constexpr uint32_t kStopped = ~0u;
  uint32_t overdue;  // name of an inlet whose words did not come in time, or kStopped; 0: wait on
  const uint32_t* stopped;  // in memory of the host; not 0: another rank has failed. Null: none can
};

// Source from which a message is read.
struct Inlet {
  const MessageWord* words;
  int64_t stride;
  MessageNumber number;
  Waiting* waiting;
  uint32_t name;

  QMD_HD const MessageWord* buffer() const { return words + (number.get() & 1u) * stride; }
  void memory(MemoryUses& uses, Access) const {
    QMD_USES(kRead, words, extent(number.before, 1));
    QMD_USES(kAdd, extent(waiting, 1));
  }
};

// The third value of a word whose first two say where others are or how many: read with a flipped bit,
// they would lead anywhere.
QMD_HD uint32_t check_of(uint32_t a, uint32_t b) { return ~(a ^ b); }
QMD_HD bool is_damaged(const MessageWord& word) {
  return word.value[2] != check_of(word.value[0], word.value[1]);
}

// ---- Marks ---------------------------------------------------------------------------------

// Kernels write large data that are needed whole directly into the arrays of other ranks. A *mark* is a
// message of one word, which says that all data are there: the last block of a kernel to end sends a mark to
// each rank concerned. These ranks are on one host, with one device each:
inline constexpr int kMaxMarks = 7;

struct MarksSent {
  int count;
  Outlet to[kMaxMarks];
  uint32_t* blocks;  // ended blocks; zero between kernels

  void memory(MemoryUses& uses, Access) const {
    QMD_USES(kWrite, to);
    QMD_USES(kReadWrite, extent(blocks, 1));
  }
};

struct MarksAwaited {
  int count;
  Inlet from[kMaxMarks];

  void memory(MemoryUses& uses, Access) const { QMD_USES(kRead, from); }
};

// Access of CPU kernels to words: messages have arrived before a kernel reads them.
struct HostWords {
  static void put(MessageWord* to, uint32_t number, uint32_t a, uint32_t b, uint32_t c) {
    *to = {{a, b, c}, number};
  }
  static MessageWord take(const Inlet&, const MessageWord* from, uint32_t) { return *from; }
};

// 32 bits of a number, as they are.
template <class T>
QMD_HD uint32_t bits_of(T value) {
  static_assert(sizeof(T) == sizeof(uint32_t));
  union {
    T value;
    uint32_t bits;
  } both{value};
  return both.bits;
}
QMD_HD float float_of(uint32_t bits) {
  union {
    uint32_t bits;
    float value;
  } both{bits};
  return both.value;
}
template <class T>
QMD_HD uint64_t long_bits_of(T value) {
  static_assert(sizeof(T) == sizeof(uint64_t));
  union {
    T value;
    uint64_t bits;
  } both{value};
  return both.bits;
}
QMD_HD double double_of(uint32_t low, uint32_t high) {
  union {
    uint64_t bits;
    double value;
  } both{static_cast<uint64_t>(high) << 32 | low};
  return both.value;
}

}  // namespace quiltmd
