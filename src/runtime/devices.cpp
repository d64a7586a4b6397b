// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices.h"

#include <charconv>
#include <numeric>
#include <string_view>

#include "computes/long_range/fmm/levels.h"
#include "computes/long_range/pme/setup.h"
#include "device/cuda/cuda_device.h"
#include "device/host/kernels.h"
#include "device/null/null_device.h"
#include "device/remote/client.h"
#include "math/error.h"

namespace quiltmd {

namespace {

constexpr std::string_view kGpus = "cuda:", kSocket = "socket:";

// The number that text begins with, which is taken off. -1: there is none.
int take_number(std::string_view& text) {
  int number = -1;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return -1;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return number;
}

// The socket of a name such as "socket:7".
int socket_in(const std::string& name) {
  std::string_view text = name;
  text.remove_prefix(kSocket.size());
  const int number = take_number(text);
  if (number < 0 || !text.empty())
    throw Error("device '" + name + "' must name a socket by its number, such as socket:5");
  return number;
}

// The GPUs that a name such as "cuda:0,2" lists.
std::vector<int> ordinals_in(const std::string& name) {
  std::string_view text = name;
  std::vector<int> ordinals;
  for (text.remove_prefix(kGpus.size());; text.remove_prefix(1)) {
    ordinals.push_back(take_number(text));
    if (ordinals.back() < 0 || (!text.empty() && text.front() != ','))
      throw Error(
          "device '" + name +
          "' does not name GPUs by their numbers: write cuda:0, cuda:1, or cuda:0,1 for two");
    if (text.empty()) return ordinals;
  }
}

}  // namespace

std::unique_ptr<Device> make_device(const std::string& name, int threads) {
  const std::string device = devices_of_ranks(name, 1).front();
  if (device == "cpu") return std::make_unique<HostDevice>(threads, host_kernels());
  if (device == "null") return std::make_unique<NullDevice>();
  if (device.starts_with(kSocket)) return std::make_unique<RemoteDevice>(socket_in(device));
  return std::make_unique<CudaDevice>(ordinals_in(device).front());
}

std::vector<std::string> devices_of_ranks(const std::string& name, int ranks) {
  const auto count = static_cast<size_t>(ranks);
  if (name == "cpu" || name == "null") return std::vector<std::string>(count, name);
  if (name.starts_with(kSocket) && ranks == 1) return {name};
  std::vector<int> ordinals(count);
  if (name.starts_with(kGpus))
    ordinals = ordinals_in(name);
  else if (name == "cuda")
    std::iota(ordinals.begin(), ordinals.end(), 0);
  else
    throw Error("unknown device '" + name + "': choose cpu, cuda, cuda:N, cuda:N,M,... or null");
  if (ordinals.size() != count)
    throw Error("device '" + name + "' names " + std::to_string(ordinals.size()) + " GPU(s) for " +
                std::to_string(ranks) + " rank(s): name one for each rank, such as cuda:0,1 or, " +
                "for two ranks on one GPU, cuda:0,0");
  std::vector<std::string> devices;
  for (const int ordinal : ordinals)
    devices.push_back(std::string(kGpus) + std::to_string(ordinal));
  return devices;
}

std::vector<std::unique_ptr<Device>> make_devices(const std::string& name, int ranks, int threads) {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<DeviceDescription> descriptions;
  std::vector<int> gpus;
  for (const std::string& device : devices_of_ranks(name, ranks)) {
    devices.push_back(make_device(device, threads));
    descriptions.push_back(devices.back()->describe());
    if (device.starts_with(kGpus)) gpus.push_back(ordinals_in(device).front());
  }
  check_one_architecture(descriptions);
  if (gpus.size() > 1) enable_peer_access(gpus);
  return devices;
}

void check_one_architecture(const std::vector<DeviceDescription>& devices) {
  for (size_t rank = 1; rank < devices.size(); ++rank) {
    const DeviceDescription &first = devices[0], &other = devices[rank];
    if (other.architecture != first.architecture)
      throw Error("the ranks of a simulation need GPUs of one compute capability: rank 0 has " +
                  first.name + " (" + first.architecture + "), rank " + std::to_string(rank) + " " +
                  other.name + " (" + other.architecture +
                  "). `quiltmd devices` shows them all; choose some that are alike");
  }
}

void check_device_can(const std::string& name, const System& system,
                      const NonbondedSettings& nonbonded, const std::vector<Family>& families) {
  if (!name.starts_with("cuda")) return;
  for (const Family& family : families)
    if (!family.on_gpus && family.acts(system, nonbonded))
      throw Error(std::string(family.forces) +
                  " run only on device cpu: choose device cpu, or leave them out");
  if (nonbonded.has_fmm()) check_gpu_fmm(nonbonded);
  for (const MeshSettings& mesh : meshes_of(nonbonded)) check_gpu_pme_grid(mesh.points);
}

MessageRoute message_route_named(const std::string& name) {
  if (name == "auto") return MessageRoute::kAuto;
  if (name == "peer") return MessageRoute::kPeer;
  if (name == "nccl") return MessageRoute::kNccl;
  if (name == "staged" || name == "unix" || name == "tcp" || name == "ucx")
    return MessageRoute::kStaged;
  throw Error("unknown transport '" + name +
              "': choose auto, peer, nccl, staged, unix, tcp or ucx");
}

bool kernels_exchange(MessageRoute route, const std::vector<std::unique_ptr<Device>>& devices) {
  if (route == MessageRoute::kNccl)
    throw Error(
        "transport 'nccl' needs ranks in separate processes: give hosts, start them with mpirun, "
        "or choose auto, peer or staged");
  bool all = true, apart = true;
  for (const auto& a : devices)
    for (const auto& b : devices) {
      if (a == b) continue;
      const PeerAccess access = a->peer_access(*b);
      all = all && access != PeerAccess::kNone;
      apart = apart && access == PeerAccess::kOtherGpu;
    }
  if (route == MessageRoute::kPeer && !all)
    throw Error(
        "transport 'peer' needs GPUs whose kernels reach each other's memory: `quiltmd devices` "
        "shows which do; leave it out, or use 'staged'");
  return route == MessageRoute::kPeer || (route == MessageRoute::kAuto && apart);
}

DeviceDescription describe_cpu() { return HostDevice(1, host_kernels()).describe(); }

}  // namespace quiltmd
