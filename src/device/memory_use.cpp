// SPDX-License-Identifier: Apache-2.0
#include "device/memory_use.h"

namespace quiltmd {

std::string MemoryUses::next_name(std::string_view& names) {
  size_t end = 0;
  for (int depth = 0; end < names.size(); ++end) {
    if (names[end] == ',' && depth == 0) break;
    depth += names[end] == '(' || names[end] == '[';
    depth -= names[end] == ')' || names[end] == ']';
  }
  std::string name(names.substr(0, end));
  names.remove_prefix(end < names.size() ? end + 1 : end);
  name.erase(0, name.find_first_not_of(' '));
  return name;
}

}  // namespace quiltmd
