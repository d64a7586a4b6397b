// SPDX-License-Identifier: Apache-2.0
// Operations by which all ranks come to know the same: sums over all of them, and what went wrong in
// the steps so far.
#pragma once

#include "decomposition/faults.h"
#include "device/message.h"

namespace quiltmd {

struct SendSums {
  static constexpr const char* kName = "send_sums";
  const int64_t* sums;
  int count;
  Outlet out;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, extent(sums, count));
    QMD_USES(kWrite, out);
  }
};

// sums += those of another rank.
struct ReceiveSums {
  static constexpr const char* kName = "receive_sums";
  int64_t* sums;
  int count;
  Inlet in;

  void memory(MemoryUses& uses) const {
    QMD_USES(kReadWrite, extent(sums, count));
    QMD_USES(kRead, in);
  }
};

// Data on which ranks agree before lists are rebuilt or a run ends: the worst fault of any rank, and the
// number of bonded terms that they have placed.
struct Agreement {
  Faults faults;
  int64_t terms;
  uint32_t overdue;  // Waiting::overdue of some rank
  uint32_t unused;
};
// Its values, and their check.
inline constexpr int kAgreementValues = sizeof(Agreement) / sizeof(uint32_t);
inline constexpr int kAgreementWords = (kAgreementValues + 1 + 2) / 3;

// Write down what this rank found.
struct NoteAgreement {
  static constexpr const char* kName = "note_agreement";
  const Faults* faults;
  const int32_t* placed_terms;  // by form
  int forms;
  const Waiting* waiting;
  Agreement* agreement;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, faults, extent(placed_terms, forms), extent(waiting, 1));
    QMD_USES(kWrite, agreement);
  }
};

struct SendAgreement {
  static constexpr const char* kName = "send_agreement";
  const Agreement* agreement;
  Outlet out;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, agreement);
    QMD_USES(kWrite, out);
  }
};

// Merge what another rank found into `agreement`, and its faults into those of this rank.
struct MergeAgreement {
  static constexpr const char* kName = "merge_agreement";
  Agreement* agreement;
  Faults* faults;
  Inlet in;

  void memory(MemoryUses& uses) const {
    QMD_USES(kReadWrite, agreement, faults);
    QMD_USES(kRead, in);
  }
};

// At the end of a recording: its messages are no longer to come.
inline constexpr int kMaxEdges = 32;
struct CountMessages {
  static constexpr const char* kName = "count_messages";
  uint32_t* numbers;         // by edge
  uint32_t more[kMaxEdges];  // messages of each

  void memory(MemoryUses& uses) const { QMD_USES(kReadWrite, numbers); }
};

// ---- The parts of these that are the same on every kind of device ----------------------------

template <class Words>
QMD_HD void write_sum(const SendSums& op, MessageWord* out, uint32_t number, int k) {
  const auto bits = static_cast<uint64_t>(op.sums[k]);
  Words::put(out + k, number, static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32), 0);
}

template <class Words>
QMD_HD void read_sum(const ReceiveSums& op, const MessageWord* in, uint32_t number, int k) {
  const MessageWord word = Words::take(op.in, in + k, number);
  const uint64_t bits = static_cast<uint64_t>(word.value[1]) << 32 | word.value[0];
  op.sums[k] = static_cast<int64_t>(static_cast<uint64_t>(op.sums[k]) + bits);
}

// An agreement as the values of words.
union AgreementValues {
  Agreement agreement;
  uint32_t value[3 * kAgreementWords];

  QMD_HD uint32_t check() const {
    uint32_t all = ~0u;
    for (int k = 0; k < kAgreementValues; ++k) all ^= value[k];
    return all;
  }
};

QMD_HD void note_own(const NoteAgreement& op) {
  Agreement own{*op.faults, 0, op.waiting->overdue, 0};
  for (int k = 0; k < op.forms; ++k) own.terms += op.placed_terms[k];
  *op.agreement = own;
}

template <class Words>
QMD_HD void write_agreement(const SendAgreement& op) {
  AgreementValues all{};
  all.agreement = *op.agreement;
  all.value[kAgreementValues] = all.check();
  for (int w = 0; w < kAgreementWords; ++w)
    Words::put(op.out.buffer() + w, op.out.number.get(), all.value[3 * w], all.value[3 * w + 1],
               all.value[3 * w + 2]);
}

template <class Words>
QMD_HD void read_agreement(const MergeAgreement& op) {
  AgreementValues all{};
  const uint32_t number = op.in.number.get();
  for (int w = 0; w < kAgreementWords; ++w) {
    const MessageWord word = Words::take(op.in, op.in.buffer() + w, number);
    for (int k = 0; k < 3; ++k) all.value[3 * w + k] = word.value[k];
  }
  if (all.value[kAgreementValues] != all.check()) {
    all = {};
    all.agreement.faults.damaged = op.in.name;
  }
  Agreement& to = *op.agreement;
  merge_faults(to.faults, all.agreement.faults);
  to.terms += all.agreement.terms;
  // The least that is not 0, whatever the order in which ranks are merged.
  if (all.agreement.overdue && (!to.overdue || all.agreement.overdue < to.overdue))
    to.overdue = all.agreement.overdue;
  merge_faults(*op.faults, all.agreement.faults);
}

}  // namespace quiltmd
