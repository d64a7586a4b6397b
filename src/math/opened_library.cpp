// SPDX-License-Identifier: Apache-2.0
#include "math/opened_library.h"

#include <dlfcn.h>

#include "math/error.h"

namespace quiltmd {

OpenedLibrary::OpenedLibrary(const char* title, const std::string& file, const char* advice)
    : title_(title), advice_(advice), library_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!library_) refuse(dlerror());
}

void OpenedLibrary::refuse(const std::string& problem) const {
  throw Error(std::string(title_) + " cannot be used: " + problem + "; install " + advice_);
}

void* OpenedLibrary::address_of(const char* name) const {
  void* const address = dlsym(library_, name);
  if (!address) refuse(std::string("its library has no function ") + name);
  return address;
}

}  // namespace quiltmd
