// SPDX-License-Identifier: Apache-2.0
#include "runtime/link_finder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "math/error.h"
#include "schedule/operations.h"
#include "transport/nccl/nccl_communicator.h"
#include "transport/nccl/nccl_windows.h"

namespace quiltmd {
namespace {

std::vector<std::string> gather_texts(Executor& executor, const std::string& own) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(own.data());
  std::vector<std::string> all;
  for (const Payload& payload : executor.gather({bytes, bytes + own.size()}))
    all.emplace_back(reinterpret_cast<const char*>(payload.data()), payload.size());
  return all;
}

std::string pair_of(size_t a, size_t b) {
  return "ranks " + std::to_string(std::min(a, b)) + " and " + std::to_string(std::max(a, b));
}

// The first that is not empty, or nothing.
std::string first_of(const std::vector<std::string>& reasons) {
  for (const std::string& reason : reasons)
    if (!reason.empty()) return reason;
  return "";
}

class LinkFinder {
 public:
  LinkFinder(Executor& executor, int rank, Device& device, const LinkSettings& settings)
      : executor_(executor),
        rank_(static_cast<size_t>(rank)),
        device_(device),
        settings_(settings),
        identities_(gather_texts(executor, device.describe().identity)) {}

  Links find() {
    device_.take_pages_from(nullptr);
    Links links = links_by(Carrier::kHost, static_cast<int>(ranks()));
    if (settings_.route != MessageRoute::kNccl) find_reached_by_handles(links);
    const std::string not_peer = std::exchange(links.why_not_faster, {});
    if (not_peer.empty() && settings_.route != MessageRoute::kNccl) return links;
    if (settings_.route == MessageRoute::kPeer)
      throw Error("transport 'peer' cannot be used: " + not_peer);
    const std::string not_nccl = join(links);
    if (not_nccl.empty()) return links;
    if (settings_.route == MessageRoute::kNccl)
      throw Error("transport 'nccl' cannot be used: " + not_nccl);
    links = links_by(Carrier::kHost, static_cast<int>(ranks()));
    links.why_not_faster =
        "the host carries all messages, which is slow: " + not_peer + "; " + not_nccl;
    return links;
  }

 private:
  size_t ranks() const { return identities_.size(); }

  // Reason that excludes a pair from the start; empty: none.
  std::string unfit(size_t a, size_t b) const {
    if (settings_.machines[a] != settings_.machines[b]) return pair_of(a, b) + " are on two hosts";
    if (settings_.route == MessageRoute::kAuto && identities_[a] == identities_[b])
      return pair_of(a, b) + " share a GPU";
    return "";
  }

  void find_reached_by_handles(Links& links) {
    std::vector<std::string> unfit_peers(ranks());
    for (size_t peer = 0; peer < ranks(); ++peer)
      if (peer != rank_) unfit_peers[peer] = unfit(rank_, peer);
    links.shared = std::make_shared<SharedByHandles>(device_);
    find_reached(links, std::move(unfit_peers));
  }

  // Has kernels write to all ranks by windows, if they reach them all so.
  void try_windows(Links& links, const nccl::Library& library,
                   std::shared_ptr<NcclCommunicator> communicator) {
    device_.take_pages_from(make_nccl_pages(library));
    Links by_windows = links_by(Carrier::kHost, static_cast<int>(ranks()));
    by_windows.shared = make_nccl_windows(std::move(communicator));
    find_reached(by_windows, std::vector<std::string>(ranks()));
    if (by_windows.why_not_faster.empty())
      links = std::move(by_windows);
    else
      device_.take_pages_from(nullptr);
  }

  // Finds whom kernels reach, in both directions; why_not_faster says why if not all. `own`: why not, by
  // rank, as far as that is known.
  void find_reached(Links& links, std::vector<std::string> own) {
    SharedMemory& shared = *links.shared;
    const Buffer<MessageWord> inbox(device_, filling_pages<MessageWord>(ranks()));
    device_.fill(inbox.data(), 0, inbox.bytes(), Stream::kMain);
    MemoryHandle handle;
    std::string not_shared;
    shared.agree_on({{inbox.data(), inbox.bytes()}});
    try {
      handle = shared.share(inbox.data());
    } catch (const Error& error) {
      not_shared = error.what();
    }
    device_.synchronize();
    const std::vector<Payload> handles = executor_.gather(handle);
    std::vector<void*> opened;
    Payload has_written(ranks(), std::byte{0});
    for (size_t peer = 0; peer < ranks(); ++peer) {
      if (peer == rank_) continue;
      if (own[peer].empty()) own[peer] = not_shared;
      if (!own[peer].empty() || handles[peer].empty()) continue;
      try {
        void* const memory = shared.open(static_cast<int>(peer), handles[peer]);
        if (!memory) {
          own[peer] = "no link joins the GPUs of " + pair_of(rank_, peer);
          continue;
        }
        opened.push_back(memory);
        write_to(static_cast<MessageWord*>(memory), peer);
        has_written[peer] = std::byte{1};
      } catch (const LostError&) {
        throw;
      } catch (const Error& error) {
        own[peer] = error.what();
      }
    }
    device_.synchronize();
    const std::vector<Payload> have_written = executor_.gather(std::move(has_written));
    const std::vector<MessageWord> words = inbox.download();
    for (void* const memory : opened) shared.close(memory);
    shared.agree_on({});
    for (size_t peer = 0; peer < ranks(); ++peer)
      if (peer != rank_ && have_written[peer][rank_] == std::byte{1} && !is_of(words[peer], peer))
        own[peer] = "what rank " + std::to_string(peer) + " wrote into the memory of rank " +
                    std::to_string(rank_) + " is not there";
    decide(links, own);
  }

  // The word of a peer has a place in the inbox of each.
  void write_to(MessageWord* inbox, size_t peer) {
    const Buffer<int64_t> value(device_, std::vector{pattern(rank_, peer)});
    const Buffer<uint32_t> before(device_, std::vector<uint32_t>{0});
    device_.launch(SendSums{value.data(), 1, {inbox + rank_, 0, {before.data(), 1}}});
    device_.synchronize();
  }
  bool is_of(const MessageWord& word, size_t peer) const {
    int64_t value = 0;
    std::memcpy(&value, word.value, sizeof value);
    return word.number == 1 && value == pattern(peer, rank_);
  }
  static int64_t pattern(size_t from, size_t to) {
    return 0x5175696c74000000 + static_cast<int64_t>(from * 4096 + to);
  }

  // Decides from the findings of all ranks. A reason at either end holds for both.
  void decide(Links& links, const std::vector<std::string>& own) {
    std::vector<std::vector<std::string>> found(ranks());  // by rank, by its peer
    for (size_t peer = 0; peer < ranks(); ++peer) {
      const auto of_all = gather_texts(executor_, own[peer]);
      for (size_t r = 0; r < ranks(); ++r) found[r].push_back(of_all[r]);
    }
    for (size_t peer = 0; peer < ranks(); ++peer)
      if (found[rank_][peer].empty() && found[peer][rank_].empty())
        links.carriers[peer] = Carrier::kKernels;
    for (const auto& of_rank : found)
      if (links.why_not_faster.empty()) links.why_not_faster = first_of(of_rank);
  }

  // Connects the ranks that kernels do not reach, by NCCL; returns why that is impossible, or nothing.
  std::string join(Links& links) {
    for (size_t a = 0; a < ranks(); ++a)
      for (size_t b = a + 1; b < ranks(); ++b)
        if (!identities_[a].empty() && identities_[a] == identities_[b])
          return pair_of(a, b) + " share a GPU, which NCCL does not allow";
    const nccl::Library* library = nullptr;
    CommunicatorId id;
    const auto agreed = [&](const auto& body) {
      std::string problem;
      try {
        body();
      } catch (const LostError&) {
        throw;
      } catch (const Error& error) {
        problem = "rank " + std::to_string(rank_) + ": " + error.what();
      }
      return first_of(gather_texts(executor_, problem));
    };
    std::string problem = agreed([&] {
      library = &nccl::load_library(settings_.nccl);
      if (rank_ == 0) id = make_communicator_id(*library);
    });
    if (!problem.empty()) return problem;
    id = executor_.gather(std::move(id)).front();
    std::shared_ptr<NcclCommunicator> communicator;
    problem = agreed([&] {
      communicator =
          make_nccl_communicator(*library, id, static_cast<int>(rank_), static_cast<int>(ranks()),
                                 device_, [&executor = executor_] { return executor.failure(); });
    });
    if (!problem.empty()) return problem;
    links.communicator = communicator;
    for (Carrier& carrier : links.carriers)
      if (carrier == Carrier::kHost) carrier = Carrier::kCommunicator;
    const auto have_windows = gather_texts(executor_, library->has_windows() ? "" : "none");
    if (first_of(have_windows).empty()) try_windows(links, *library, std::move(communicator));
    return "";
  }

  Executor& executor_;
  const size_t rank_;
  Device& device_;
  const LinkSettings& settings_;
  const std::vector<std::string> identities_;  // by rank
};

}  // namespace

Links find_links(Executor& executor, int rank, Device& device, const LinkSettings& settings) {
  // If launches have ended when they return, nothing can be gained.
  const bool is_auto = settings.route == MessageRoute::kAuto;
  if (settings.route == MessageRoute::kStaged || (is_auto && device.capabilities().runs_at_once)) {
    device.take_pages_from(nullptr);
    return {};
  }
  return LinkFinder(executor, rank, device, settings).find();
}

}  // namespace quiltmd
