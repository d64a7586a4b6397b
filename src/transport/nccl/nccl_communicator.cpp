// SPDX-License-Identifier: Apache-2.0
// NCCL knows nothing of ranks that have died: its kernels wait for them until the communicator is aborted,
// and who aborts it waits until all graphs with its kernels are gone. So a thread of its own does that.
#include "transport/nccl/nccl_communicator.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "math/error.h"

namespace quiltmd {
namespace {

constexpr nccl::Result kInProgress = 7;  // ncclInProgress
constexpr auto kLook = std::chrono::milliseconds(200);
constexpr auto kPatience =
    std::chrono::seconds(5);  // with a call that is under way, before an abort

using Failure = std::function<std::string()>;

// Work of a thread that may outlive the thread which waits for it.
struct Errand {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::exception_ptr error;
};

// Throws what the work throws, and Error when a rank fails meanwhile; then the work goes on.
void do_unless_failed(std::function<void()> work, const Failure& failure) {
  const auto errand = std::make_shared<Errand>();
  std::thread([errand, work = std::move(work)] {
    std::exception_ptr error;
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(errand->mutex);
    errand->error = error;
    errand->is_done = true;
    errand->changed.notify_all();
  }).detach();
  std::unique_lock lock(errand->mutex);
  while (!errand->changed.wait_for(lock, kLook, [&] { return errand->is_done; }))
    if (const std::string failed = failure(); !failed.empty()) throw Error(failed);
  if (errand->error) std::rethrow_exception(errand->error);
}

class Ranks final : public NcclCommunicator, public std::enable_shared_from_this<Ranks> {
 public:
  Ranks(const nccl::Library& library, nccl::Comm comm, Failure failure_of_ranks)
      : library_(library),
        comm_(comm),
        failure_of_ranks_(std::move(failure_of_ranks)),
        watcher_([this] { watch(); }) {}
  ~Ranks() override {
    abort();
    watcher_.join();
  }

  void exchange(const std::vector<Parcel>& sends, const std::vector<Parcel>& receives,
                void* stream) override {
    call([&](const nccl::Library& library, nccl::Comm comm) {
      library.check(library.group_start(), "begin a group");
      for (const Parcel& p : sends)
        library.check(library.send(p.memory, p.bytes, nccl::kBytes, p.peer, comm, stream),
                      "send a message");
      for (const Parcel& p : receives)
        library.check(library.receive(p.memory, p.bytes, nccl::kBytes, p.peer, comm, stream),
                      "receive a message");
      library.check(library.group_end(), "exchange messages");
    });
  }

  void call(const Work& work) override {
    const std::lock_guard lock(calling_);
    if (is_aborted())
      throw Error("messages between GPUs were stopped, because another rank failed");
    work(library_, comm_);
  }
  void call_together(const Work& work) override {
    do_unless_failed([held = shared_from_this(), work] { held->call(work); }, failure_of_ranks_);
  }

  void abort() noexcept override {
    const std::lock_guard lock(ending_);
    is_aborted_ = true;
    ended_.notify_all();
  }

  std::string failure() const override {
    const std::lock_guard lock(ending_);
    return failure_;
  }
  void on_failure(std::function<void()> act) override {
    watch_.set(std::move(act), !failure().empty());
  }

 private:
  bool is_aborted() const {
    const std::lock_guard lock(ending_);
    return is_aborted_;
  }

  // Looks for errors of messages under way, until it is to abort.
  void watch() {
    std::unique_lock lock(ending_);
    while (!ended_.wait_for(lock, kLook, [this] { return is_aborted_; })) {
      nccl::Result error = 0;
      library_.comm_get_async_error(comm_, &error);
      if (error == 0 || error == kInProgress) continue;
      failure_ = std::string("NCCL reports: ") + library_.get_error_string(error);
      is_aborted_ = true;
      lock.unlock();
      watch_.tell();
      lock.lock();
    }
    lock.unlock();
    std::unique_lock calling(calling_, std::defer_lock);
    [[maybe_unused]] const bool is_idle = calling.try_lock_for(kPatience);
    library_.comm_abort(comm_);
  }

  const nccl::Library& library_;
  const nccl::Comm comm_;
  const Failure failure_of_ranks_;
  std::timed_mutex calling_;
  mutable std::mutex ending_;  // of what follows
  std::condition_variable ended_;
  bool is_aborted_ = false;
  std::string failure_;
  FailureWatch watch_;
  std::thread watcher_;
};

}  // namespace

CommunicatorId make_communicator_id(const nccl::Library& library) {
  nccl::Id id{};
  library.check(library.get_unique_id(&id), "make ready for others");
  const auto* const bytes = reinterpret_cast<const std::byte*>(id.bytes);
  return {bytes, bytes + sizeof id.bytes};
}

std::shared_ptr<NcclCommunicator> make_nccl_communicator(const nccl::Library& library,
                                                         const CommunicatorId& bytes, int rank,
                                                         int ranks, Device& device,
                                                         std::function<std::string()> failure) {
  nccl::Id id{};
  if (bytes.size() != sizeof id.bytes)
    throw Error("NCCL received no valid identifier of the ranks' communicator");
  std::memcpy(id.bytes, bytes.data(), sizeof id.bytes);
  const auto comm = std::make_shared<nccl::Comm>(nullptr);
  do_unless_failed(
      [&library, &device, id, rank, ranks, comm] {
        device.enqueue("join ranks", Stream::kMain, [&](void*) {
          library.check(library.comm_init_rank(comm.get(), ranks, id, rank), "join the ranks");
        });
      },
      failure);
  return std::make_shared<Ranks>(library, *comm, std::move(failure));
}

}  // namespace quiltmd
