// SPDX-License-Identifier: Apache-2.0
// Ranks in processes of their own, joined by stream sockets: TCP between hosts, Unix sockets on one.
//
// The rank itself reads, between tasks and while it waits: a thread for it would have to be woken for
// each message, and then wake the rank. Nobody who sends waits: what a socket does not take is flushed by
// a helper, or by the rank while it waits. The helper also tells the others every second that this
// process lives: who has not been heard of for a while has stopped, even where the network keeps the
// connection open. Only time in which this process itself ran counts: a job whose processes are all
// suspended goes on when they are. A rank that leaves in order says farewell, so that the end of its
// connections is no failure to those that wait for others. Bytes go as they are in memory; all hosts have the same byte order,
// which the handshake of the processes makes sure of.
#pragma once

#include <memory>
#include <vector>

#include "transport/transport.h"

namespace quiltmd {

// The end of `rank`. `sockets`, by rank, are connected and belong to the transport from here on; the
// one at `rank` itself is not looked at. A process that is silent for `patience` seconds has failed.
std::unique_ptr<Transport> make_stream_transport(int rank, std::vector<int> sockets,
                                                 double patience);

}  // namespace quiltmd
