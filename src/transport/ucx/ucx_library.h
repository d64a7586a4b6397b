// SPDX-License-Identifier: Apache-2.0
// UCX, opened when it is first needed: nothing is linked, and a build needs neither library nor header.
// The declarations are those of its public C interface (ucp.h), which has kept them since version 1.11;
// of structures whose later members are not used, room takes the place of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace quiltmd::ucx {

using Status = signed char;  // ucs_status_t
constexpr Status kOk = 0, kInProgress = 1, kBusy = -15, kLastError = -100;

using Context = void*;    // ucp_context_h
using Worker = void*;     // ucp_worker_h
using Endpoint = void*;   // ucp_ep_h
using Address = void;     // ucp_address_t
using StatusPtr = void*;  // nothing: done; a small negative number: a Status; else a request

constexpr uint64_t bit(int n) { return uint64_t{1} << n; }

struct Params {  // ucp_params_t
  static constexpr uint64_t kFeatures = bit(0), kWakeup = bit(4), kActiveMessages = bit(6);
  uint64_t field_mask = 0, features = 0;
  std::byte room[128] = {};
};

struct WorkerParams {  // ucp_worker_params_t
  static constexpr uint64_t kThreadMode = bit(0);
  static constexpr int kSerialized = 1;
  uint64_t field_mask = 0;
  int thread_mode = 0;
  std::byte room[256] = {};
};

struct EndpointParams {  // ucp_ep_params_t
  static constexpr uint64_t kAddress = bit(0);
  uint64_t field_mask = 0;
  const Address* address = nullptr;
  std::byte room[128] = {};
};

struct ReceiveParam {  // ucp_am_recv_param_t
  static constexpr uint64_t kRendezvous = bit(17);
  uint64_t attributes;
  Endpoint reply;
};

struct HandlerParam {  // ucp_am_handler_param_t
  static constexpr uint64_t kId = bit(0), kFlags = bit(1), kCall = bit(2), kArgument = bit(3);
  static constexpr uint32_t kWhole = bit(0);  // a message comes in one call
  uint64_t field_mask = 0;
  unsigned id = 0;
  uint32_t flags = 0;
  Status (*call)(void* argument, const void* header, size_t header_length, void* data,
                 size_t length, const ReceiveParam* param) = nullptr;
  void* argument = nullptr;
};

struct RequestParam {  // ucp_request_param_t
  static constexpr uint32_t kCallback = bit(1), kUserData = bit(2), kFlags = bit(4),
                            kMemory = bit(6);
  static constexpr uint32_t kEager = bit(1);  // sent without asking the receiver first
  uint32_t mask = 0, flags = 0;
  void* request = nullptr;
  union {
    void (*sent)(void* request, Status status, void* user_data) = nullptr;
    void (*received)(void* request, Status status, size_t length, void* user_data);
  };
  uint64_t datatype = 0;
  void* user_data = nullptr;
  void* reply_buffer = nullptr;
  int memory_type = 0;  // of the host
  std::byte room[64] = {};
};

struct Library {
  void (*get_version)(unsigned* major, unsigned* minor, unsigned* release);
  const char* (*status_string)(Status status);
  Status (*init)(unsigned major, unsigned minor, const Params* params, const void* config,
                 Context* context);
  void (*cleanup)(Context context);
  Status (*worker_create)(Context context, const WorkerParams* params, Worker* worker);
  void (*worker_destroy)(Worker worker);
  Status (*worker_get_address)(Worker worker, Address** address, size_t* length);
  void (*worker_release_address)(Worker worker, Address* address);
  Status (*worker_get_efd)(Worker worker, int* descriptor);
  Status (*worker_arm)(Worker worker);
  Status (*worker_signal)(Worker worker);
  unsigned (*worker_progress)(Worker worker);
  Status (*set_handler)(Worker worker, const HandlerParam* param);
  Status (*endpoint_create)(Worker worker, const EndpointParams* params, Endpoint* endpoint);
  StatusPtr (*send)(Endpoint endpoint, unsigned id, const void* header, size_t header_length,
                    const void* buffer, size_t count, const RequestParam* param);
  StatusPtr (*receive_data)(Worker worker, void* descriptor, void* buffer, size_t count,
                            const RequestParam* param);
  void (*request_free)(void* request);

  // Throws Error, with what was being done.
  void check(Status status, const char* what) const;
  // Of what a call has given: whether it is under way.
  static Status status_of(StatusPtr given);
};

// The library at this path, or by its usual name where there is none; it stays loaded. Throws Error where
// it cannot be used.
const Library& load_library(const std::string& path);

}  // namespace quiltmd::ucx
