// SPDX-License-Identifier: Apache-2.0
// Messages that a device writes and reads itself: what comes out is what went in, where it belongs.
#include <random>

#include "computes/long_range/pme/exchange_operations.h"
#include "decomposition/exchange_operations.h"
#include "schedule/operations.h"
#include "suites.h"

namespace quiltmd::test {
namespace {

// A message from a device to itself.
class Loop {
 public:
  Loop(Device& device, int64_t words)
      : words_(device, static_cast<size_t>(2 * words)),
        before_(device, std::vector<uint32_t>{41}),
        waiting_(device, std::vector<Waiting>{{0, nullptr}}) {
    device.fill(words_.data(), 0, words_.bytes(), Stream::kMain);
  }
  Outlet out() const { return {words_.data(), stride(), number()}; }
  Inlet in() const { return {words_.data(), stride(), number(), waiting_.data(), 1}; }
  // Which of the two buffers has words of this message.
  std::vector<int> used() const {
    std::vector<int> count(2);
    const auto words = words_.download();
    for (size_t w = 0; w < words.size(); ++w) count[w >= words.size() / 2] += words[w].number == 44;
    return count;
  }
  // Of the message that is there.
  void flip(int value, uint32_t bits) {
    auto words = words_.download();
    words[static_cast<size_t>(value / 3)].value[value % 3] ^= bits;
    words_.upload(words);
  }

 private:
  int64_t stride() const { return static_cast<int64_t>(words_.size() / 2); }
  MessageNumber number() const { return {before_.data(), 3}; }
  Buffer<MessageWord> words_;
  Buffer<uint32_t> before_;
  Buffer<Waiting> waiting_;
};

template <class T>
std::vector<T> random_values(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& v : values) v = static_cast<T>(random() / 4);
  return values;
}

// Runs of every length modulo three, of planes that do not follow one another.
void grids_arrive(Device& device) {
  const std::vector<int32_t> planes{5, 0, 2};
  const Buffer<int32_t> planes_d(device, planes);
  for (const int length : {1, 2, 3, 400, 1001, 7000}) {
    const int64_t plane_size = length + 11, begin = 4;
    const auto size = static_cast<size_t>(6 * plane_size);
    const auto from = random_values<uint32_t>(size, 1), to = random_values<uint32_t>(size, 2);
    const Buffer<uint32_t> from_d(device, from), copied(device, to), added(device, to);
    const GridPart part{planes_d.data(), 3, plane_size, begin, length};
    const Loop loop(device, part.words());
    device.launch(SendGrid{part, from_d.data(), loop.out()});
    device.launch(ReceiveGrid{part, copied.data(), loop.in()});
    device.launch(AddGrid{part, added.data(), loop.in()});
    std::vector<uint32_t> copy = to, sum = to;
    for (const int32_t plane : planes)
      for (int i = 0; i < length; ++i) {
        const auto at = static_cast<size_t>(plane * plane_size + begin + i);
        copy[at] = from[at];
        sum[at] += from[at];
      }
    CHECK(same_bits(copied.download(), copy));
    CHECK(same_bits(added.download(), sum));
    CHECK((loop.used() == std::vector<int>{static_cast<int>(part.words()), 0}));
  }
}

// Slots with values of their own, and an exchange of some of them in no order.
struct ExchangedSlots {
  static constexpr size_t kSlots = 5000;
  ExchangedSlots(Device& device, uint64_t seed)
      : local(device, random_floats(seed)),
        low(device, random_floats(seed + 1)),
        force(device, random_values<int64_t>(3 * kSlots, seed + 2)) {}
  static std::vector<Float4> random_floats(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<Float4> values(kSlots);
    for (Float4& v : values) v = {uniform(random), uniform(random), uniform(random), 3};
    return values;
  }
  Slots view() const {
    Slots s{};
    s.local = local.data();
    s.low = low.data();
    for (size_t d = 0; d < 3; ++d) s.force[d] = force.data() + d * kSlots;
    return s;
  }
  Buffer<Float4> local, low;
  Buffer<int64_t> force;
};

// Atom m of the message is in slot 7 m of the sender (modulo the slots) and 11 m + 3 of the receiver;
// every third sends its rest.
struct ExchangedAtoms {
  static constexpr int kAtoms = 2100, kRoom = 2500;
  static size_t sent(size_t m) { return 7 * m % ExchangedSlots::kSlots; }
  static size_t got(size_t m) { return (11 * m + 3) % ExchangedSlots::kSlots; }
  explicit ExchangedAtoms(Device& device)
      : count(device, std::vector<int32_t>{kAtoms}),
        sender(device, slots(&sent)),
        receiver(device, slots(&got)) {}
  static std::vector<uint32_t> slots(size_t (*slot)(size_t)) {
    std::vector<uint32_t> all(kRoom);
    for (size_t m = 0; m < kAtoms; ++m)
      all[m] = static_cast<uint32_t>(slot(m)) | (m % 3 == 0 ? kSendsLow : 0);
    return all;
  }
  PatchExchange side(const Buffer<uint32_t>& slots) const {
    return {nullptr, 0, slots.data(), count.data(), kRoom};
  }
  Buffer<int32_t> count;
  Buffer<uint32_t> sender, receiver;
};

void positions_arrive(Device& device) {
  const ExchangedSlots from(device, 1), to(device, 5);
  const ExchangedAtoms atoms(device);
  const Loop loop(device, atoms.side(atoms.sender).step_words());
  const auto local = from.local.download(), low = from.low.download();
  auto new_local = to.local.download(), new_low = to.low.download();
  device.launch(SendPositions{atoms.side(atoms.sender), from.view(), loop.out()});
  device.launch(ReceivePositions{atoms.side(atoms.receiver), to.view(), loop.in()});
  for (size_t m = 0; m < ExchangedAtoms::kAtoms; ++m) {
    const Float4 site = local[ExchangedAtoms::sent(m)], rest = low[ExchangedAtoms::sent(m)];
    new_local[ExchangedAtoms::got(m)] = {site.x, site.y, site.z, 3};
    if (m % 3 == 0) new_low[ExchangedAtoms::got(m)] = {rest.x, rest.y, rest.z, 0};
  }
  CHECK(same_bits(to.local.download(), new_local));
  CHECK(same_bits(to.low.download(), new_low));
}

void forces_are_added(Device& device) {
  const ExchangedSlots from(device, 1), to(device, 5);
  const ExchangedAtoms atoms(device);
  const Loop loop(device, atoms.side(atoms.sender).step_words());
  auto sent = from.force.download(), sums = to.force.download();
  device.launch(SendForces{atoms.side(atoms.sender), from.view(), loop.out()});
  device.launch(ReceiveForces{atoms.side(atoms.receiver), to.view(), loop.in()});
  for (size_t m = 0; m < ExchangedAtoms::kAtoms; ++m)
    for (size_t d = 0; d < 3; ++d) {
      int64_t& force = sent[d * ExchangedSlots::kSlots + ExchangedAtoms::sent(m)];
      int64_t& sum = sums[d * ExchangedSlots::kSlots + ExchangedAtoms::got(m)];
      sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(force));
      force = 0;
    }
  CHECK(same_bits(to.force.download(), sums));
  CHECK(same_bits(from.force.download(), sent));
}

// Sums of proxies, of which nothing is left there.
void sums_are_returned(Device& device) {
  const auto there = random_values<int64_t>(ExchangedSlots::kSlots, 1),
             here = random_values<int64_t>(ExchangedSlots::kSlots, 2);
  const Buffer<int64_t> from(device, there), to(device, here);
  const ExchangedAtoms atoms(device);
  const Loop loop(device, atoms.side(atoms.sender).step_words());
  device.launch(ReturnSums{atoms.side(atoms.sender), from.data(), loop.out()});
  device.launch(AddSums{atoms.side(atoms.receiver), to.data(), loop.in()});
  auto left = there, sums = here;
  for (size_t m = 0; m < ExchangedAtoms::kAtoms; ++m) {
    int64_t& sum = sums[ExchangedAtoms::got(m)];
    sum = static_cast<int64_t>(static_cast<uint64_t>(sum) +
                               static_cast<uint64_t>(there[ExchangedAtoms::sent(m)]));
    left[ExchangedAtoms::sent(m)] = 0;
  }
  CHECK(same_bits(to.download(), sums));
  CHECK(same_bits(from.download(), left));
}

void sums_are_exact(Device& device) {
  for (const int count : {1, 3, 100}) {
    const auto n = static_cast<size_t>(count);
    const auto from = random_values<int64_t>(n, 1);
    auto to = random_values<int64_t>(n, 2);
    const Buffer<int64_t> from_d(device, from), to_d(device, to);
    const Loop loop(device, count);
    device.launch(SendSums{from_d.data(), count, loop.out()});
    device.launch(ReceiveSums{to_d.data(), count, loop.in()});
    for (size_t k = 0; k < n; ++k) to[k] += from[k];
    CHECK(same_bits(to_d.download(), to));
  }
}

bool same(const Faults& a, const Faults& b) {  // but for padding
  return std::memcmp(&a, &b, offsetof(Faults, refused) + sizeof a.refused) == 0;
}

// The earliest steps with the lowest atoms, the largest needs, all terms; and what concerns a rebuild in the rank's faults.
void agreements_merge(Device& device) {
  const Faults here{0, 9, 4, 11, 12, 5, 30, 2, 0, 0, kPatchGridChange, 0, 1},
      there{6, 8, 4, 21, 10, 3, 20, 6, 1, kProxyMessage, 0, 0, 0};
  const Faults merged{6, 8, 4, 21, 10, 5, 30, 6, 1, kProxyMessage, kPatchGridChange, 0, 1};
  const Buffer<Faults> ours(device, std::vector{here}), theirs(device, std::vector{there});
  const Buffer<int32_t> terms(device, std::vector<int32_t>{1, 2, 3});
  const Buffer<Waiting> waiting(device, std::vector<Waiting>{{17, nullptr}});
  const Buffer<Agreement> own(device, 1), other(device, 1);
  const Loop loop(device, kAgreementWords);
  device.launch(NoteAgreement{theirs.data(), terms.data(), 2, waiting.data(), other.data()});
  device.launch(SendAgreement{other.data(), loop.out()});
  const Buffer<Waiting> none(device, std::vector<Waiting>{{0, nullptr}});
  device.launch(NoteAgreement{ours.data(), terms.data(), 3, none.data(), own.data()});
  device.launch(MergeAgreement{own.data(), ours.data(), loop.in()});
  const Agreement agreed = own.download()[0];
  CHECK(same(agreed.faults, merged));
  CHECK(agreed.terms == 9 && agreed.overdue == 17);
  CHECK(same(ours.download()[0], merged));
}

// A fault that names the inlet, whichever bit has changed, and none of the other faults.
void damaged_agreements_are_faults(Device& device) {
  const Buffer<Faults> faults(device, std::vector{Faults{}});
  const Buffer<Agreement> sent(device, std::vector{Agreement{{6, 8, 4}, 17, 0, 0}});
  for (int value = 0; value <= kAgreementValues; ++value) {
    const Buffer<Agreement> own(device, std::vector{Agreement{}});
    Loop loop(device, kAgreementWords);
    device.launch(SendAgreement{sent.data(), loop.out()});
    loop.flip(value, 1u << value);
    device.launch(MergeAgreement{own.data(), faults.data(), loop.in()});
    const Faults expected{.damaged = 1};
    CHECK(same(own.download()[0].faults, expected) && same(faults.download()[0], expected));
    CHECK(own.download()[0].terms == 0);
  }
}

}  // namespace

std::vector<Case> exchange_cases(Pair devices) {
  Device& device = devices.device;
  return {{"grids arrive", [&device] { grids_arrive(device); }},
          {"positions arrive", [&device] { positions_arrive(device); }},
          {"forces are added", [&device] { forces_are_added(device); }},
          {"sums are returned", [&device] { sums_are_returned(device); }},
          {"sums are exact", [&device] { sums_are_exact(device); }},
          {"agreements merge", [&device] { agreements_merge(device); }},
          {"damaged agreements are faults", [&device] { damaged_agreements_are_faults(device); }}};
}

}  // namespace quiltmd::test
