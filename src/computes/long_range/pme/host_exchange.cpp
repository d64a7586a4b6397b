// SPDX-License-Identifier: Apache-2.0
// Host kernels of the exchange of grids. Sums wrap, as they do on a GPU.
#include "computes/long_range/pme/exchange_operations.h"
#include "computes/long_range/pme/host_kernels.h"

namespace quiltmd {
namespace {

constexpr int kPlaneGrain = 1;

// body(plane, word)
template <class Body>
void over_words(const GridPart& part, ThreadGroup& threads, Body body) {
  threads.parallel_for(part.plane_count, kPlaneGrain, [&](int begin, int end, int) {
    for (int plane = begin; plane < end; ++plane)
      for (int word = 0; word < part.words_of_run(); ++word) body(plane, word);
  });
}

}  // namespace

void send_grid(const SendGrid& op, ThreadGroup& threads) {
  over_words(op.part, threads, [&op, out = op.out.buffer(), n = op.out.number.get()](int p, int w) {
    write_grid_word<HostWords>(op, out, n, p, w);
  });
}

void receive_grid(const ReceiveGrid& op, ThreadGroup& threads) {
  over_words(op.part, threads, [&op, in = op.in.buffer()](int p, int w) {
    store_grid_word(op, in[int64_t{p} * op.part.words_of_run() + w], p, w,
                    [](uint32_t& to, uint32_t v) { to = v; });
  });
}

void add_grid(const AddGrid& op, ThreadGroup& threads) {
  over_words(op.part, threads, [&op, in = op.in.buffer()](int p, int w) {
    store_grid_word(op, in[int64_t{p} * op.part.words_of_run() + w], p, w,
                    [](uint32_t& to, uint32_t v) { to += v; });
  });
}

}  // namespace quiltmd
