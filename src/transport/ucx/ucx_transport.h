// SPDX-License-Identifier: Apache-2.0
// Ranks in processes of their own, whose messages UCX carries: by InfiniBand or RoCE between hosts, by
// shared memory on one, by TCP where there is nothing else.
//
// Sockets stay: by them ranks tell each other their addresses, that they live, and what has failed. So
// names of failures and limits of time are those of the transport by sockets, and UCX need not find out
// who has died. A rank that leaves says by sockets how many messages it has sent to each of the others, and
// stays until they have come. Nobody who sends waits: what UCX has not sent at once a helper drives on while the rank
// computes; a rank that waits does so itself.
#pragma once

#include <memory>
#include <string>

#include "transport/transport.h"

namespace quiltmd {

// The end of `rank`, one of `ranks`, with its end of the transport by sockets. `library` is the path of
// UCX's; empty: where the system finds it. Throws Error where UCX cannot be used.
std::unique_ptr<Transport> make_ucx_transport(int rank, int ranks,
                                              std::unique_ptr<Transport> sockets,
                                              const std::string& library);

}  // namespace quiltmd
