// SPDX-License-Identifier: Apache-2.0
// The one place where kinds of devices are chosen by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "computes/force_family.h"
#include "computes/nonbonded_settings.h"
#include "device/device.h"

namespace quiltmd {

// "cpu" (with `threads` threads), "cuda" or "cuda:N", "null", or "socket:N": a device served at the other
// end of that socket, which is taken over. Throws Error for an unknown name or a device that cannot be
// used.
std::unique_ptr<Device> make_device(const std::string& name, int threads);

// The devices that a name means, one for each of these ranks: "cpu" and "null" are one of a kind
// for each, "cuda" is GPUs 0, 1, ..., and "cuda:0,2" names them, one and the same as often as one
// likes ("cuda:0,0"). Throws Error for an unknown name, or a list of another length than `ranks`.
std::vector<std::string> devices_of_ranks(const std::string& name, int ranks);

// These devices, each with `threads` threads. Throws Error, too, where not all GPUs have the same
// compute capability: their results would depend on which GPU has which patches.
std::vector<std::unique_ptr<Device>> make_devices(const std::string& name, int ranks, int threads);
void check_one_architecture(const std::vector<DeviceDescription>& devices);

// Throws Error where a device of this name cannot do such a simulation, whether there is one or not.
void check_device_can(const std::string& name, const System& system,
                      const NonbondedSettings& nonbonded,
                      const std::vector<Family>& families = force_families());

// Route of messages between ranks: kernels of all ranks write into each other's memory (kPeer), NCCL sends
// from GPU to GPU (kNccl, between processes), or the host carries all messages (kStaged); a rank whose host
// waits for one message cannot have kernels wait for another. kAuto: without the host if the devices can, but
// not if ranks share a GPU, whose kernels may not run at the same time.
enum class MessageRoute { kAuto, kPeer, kNccl, kStaged };
// The route for a name given by the user: "auto", "peer", "nccl", "staged", or between processes "unix",
// "tcp", "ucx". Throws Error for another name.
MessageRoute message_route_named(const std::string& name);

// Whether kernels of ranks of this process exchange messages by this route. Throws Error where kPeer is impossible.
bool kernels_exchange(MessageRoute route, const std::vector<std::unique_ptr<Device>>& devices);

// The processor as a device.
DeviceDescription describe_cpu();

}  // namespace quiltmd
