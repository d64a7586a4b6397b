// SPDX-License-Identifier: Apache-2.0
// Libraries that are opened when they are first needed: nothing is linked, and a build needs neither library
// nor header.
#pragma once

#include <map>
#include <mutex>
#include <string>

namespace quiltmd {

class OpenedLibrary {
 public:
  // It stays loaded. Throws Error where the file cannot be opened. `title` and `advice`, on how to install it,
  // are for errors.
  OpenedLibrary(const char* title, const std::string& file, const char* advice);

  // Throws Error if there is none of this name.
  template <class Function>
  void find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(address_of(name));
  }
  // Throws Error: why the library cannot be used.
  [[noreturn]] void refuse(const std::string& problem) const;

 private:
  void* address_of(const char* name) const;

  const char *title_, *advice_;
  void* library_;
};

// What `open(file)` gives, once for each file.
template <class Functions>
const Functions& opened_once(const std::string& file, Functions (*open)(const std::string&)) {
  static std::mutex mutex;
  static std::map<std::string, Functions> libraries;
  const std::lock_guard lock(mutex);
  const auto found = libraries.find(file);
  return found == libraries.end() ? libraries.emplace(file, open(file)).first->second
                                  : found->second;
}

}  // namespace quiltmd
