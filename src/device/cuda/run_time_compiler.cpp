// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/run_time_compiler.h"

#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "math/error.h"
#include "math/opened_library.h"

namespace quiltmd {
namespace {

constexpr const char* kUsualName = "libnvrtc.so.13";
constexpr const char* kAdvice = "nvidia-cuda-nvrtc 13 (pip install 'quiltmd[nvrtc]')";

// Declarations of NVRTC's public C interface.
using Result = int;     // nvrtcResult; 0: success
using Program = void*;  // nvrtcProgram
struct Library {
  const char* (*error_string)(Result result);
  Result (*create)(Program* program, const char* source, const char* name, int headers,
                   const char* const* texts, const char* const* names);
  Result (*destroy)(Program* program);
  Result (*compile)(Program program, int options, const char* const* text);
  Result (*log_size)(Program program, size_t* size);
  Result (*log)(Program program, char* text);
  Result (*code_size)(Program program, size_t* size);
  Result (*code)(Program program, char* bytes);

  void check(Result result, const char* what) const {
    if (result != 0)
      throw Error(std::string("NVRTC failed to ") + what + ": " + error_string(result));
  }
};

Library open(const std::string& file) {
  const OpenedLibrary opened("NVRTC, which compiles custom forces for GPUs,", file, kAdvice);
  Library found{};
  opened.find("nvrtcGetErrorString", found.error_string);
  opened.find("nvrtcCreateProgram", found.create);
  opened.find("nvrtcDestroyProgram", found.destroy);
  opened.find("nvrtcCompileProgram", found.compile);
  opened.find("nvrtcGetProgramLogSize", found.log_size);
  opened.find("nvrtcGetProgramLog", found.log);
  opened.find("nvrtcGetCUBINSize", found.code_size);
  opened.find("nvrtcGetCUBIN", found.code);
  return found;
}

std::mutex mutex;
std::string path;

const Library& library() { return opened_once(path.empty() ? kUsualName : path, open); }

// A source in the library.
class Compilation {
 public:
  Compilation(const Library& nvrtc, const std::string& source) : nvrtc_(nvrtc) {
    std::vector<const char*> names, texts;
    for (const EmbeddedHeader& header : embedded_headers()) {
      names.push_back(header.name);
      texts.push_back(header.text);
    }
    nvrtc_.check(nvrtc_.create(&program_, source.c_str(), "custom_force.cu",
                               static_cast<int>(names.size()), texts.data(), names.data()),
                 "take a source");
  }
  ~Compilation() { nvrtc_.destroy(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  std::string code(const std::string& architecture) {
    const std::string target = "--gpu-architecture=" + architecture;
    // Single precision with divisions and roots of 2 units in the last place, as in pair forms.
    const char* const options[] = {target.c_str(),
                                   "--std=c++20",
                                   "--fmad=false",
                                   "--prec-div=false",
                                   "--prec-sqrt=false",
                                   "--ftz=true",
                                   "--device-as-default-execution-space",
                                   "--no-source-include"};
    const Result result = nvrtc_.compile(program_, std::size(options), options);
    if (result != 0)
      throw Error("NVRTC cannot compile a custom force for " + architecture + ": " +
                  nvrtc_.error_string(result) + "\n" + text(nvrtc_.log_size, nvrtc_.log));
    return text(nvrtc_.code_size, nvrtc_.code);
  }

 private:
  std::string text(Result (*size_of)(Program, size_t*), Result (*get)(Program, char*)) const {
    size_t size = 0;
    nvrtc_.check(size_of(program_, &size), "give its results");
    std::string found(size, '\0');
    nvrtc_.check(get(program_, found.data()), "give its results");
    return found;
  }

  const Library& nvrtc_;
  Program program_ = nullptr;
};

}  // namespace

void set_run_time_compiler(const std::string& given) {
  const std::lock_guard lock(mutex);
  path = given;
}

std::string compile_for_gpus(const std::string& source, const std::string& capability) {
  static std::map<std::pair<std::string, std::string>, std::string> compiled;
  const std::lock_guard lock(mutex);
  std::string& code = compiled[{source, capability}];
  if (code.empty()) {
    std::string architecture = "sm_" + capability;
    std::erase(architecture, '.');
    code = Compilation(library(), source).code(architecture);
  }
  return code;
}

}  // namespace quiltmd
