// SPDX-License-Identifier: Apache-2.0
// Which device memory an operation uses, and how. Every operation says so itself, beside its fields:
//
//   void memory(MemoryUses& uses) const {
//     QMD_USES(kRead, atoms, slots.position);
//     QMD_USES(kAdd, slots.force);
//     QMD_USES(kNone, slots);
//   }
//
// Kernels need none of this. A device that forwards launches relocates the pointers that are named
// here, one that duplicates maps them to two memories, and `null` finds accesses that no order of
// the streams separates. Every pointer field is to be named, those that are not followed with kNone;
// `null` compares the names with the pointers that it finds in the parameters.
//
// The list is made anew for each launch that asks for it, which no device that computes does. A table
// of offsets for each type would be faster, but could not know that an optional pointer is null.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace quiltmd {

// kAdd: atomic additions of integers, or other updates whose order does not matter among themselves.
// kDisjoint: reads and writes elements that no operation beside it touches. The check for hazards, which
// knows whole arrays, does not report it.
enum class Access { kNone, kRead, kWrite, kReadWrite, kAdd, kDisjoint };

inline constexpr size_t kToTheEnd = std::numeric_limits<size_t>::max();

struct MemoryUse {
  std::string name;     // of the field, such as "slots.force[0]"
  size_t offset;        // of the pointer in the operation's parameters
  const void* pointer;  // to the memory; null if the operation needs none
  size_t bytes;         // from there; kToTheEnd: whatever was allocated
  Access access;
  size_t alignment = 1;  // of its elements
};

// A pointer field of which only `count` elements are used. Its name is that of the pointer.
template <class T>
struct Extent {
  T* const& pointer;
  int64_t count;
};
template <class T>
Extent<T> extent(T* const& pointer, int64_t count) {
  return {pointer, count};
}

class MemoryUses {
 public:
  // The uses of the operation whose parameters are at `parameters`.
  explicit MemoryUses(const void* parameters)
      : parameters_(static_cast<const std::byte*>(parameters)) {}

  // Use QMD_USES. `names`: what was written for `fields`, each of them a pointer, an extent, an array,
  // or a struct with memory(MemoryUses&, Access) of its own, which names all its pointers.
  template <class... Fields>
  void note(Access access, std::string_view names, const Fields&... fields) {
    (note_field(access, next_name(names), fields), ...);
  }

  // Bytes [begin, begin + bytes) of what a pointer field points to.
  template <class T>
  void note_part(Access access, const std::string& name, T* const& field, size_t begin,
                 size_t bytes) {
    add(access, name, static_cast<const void*>(&field),
        field ? reinterpret_cast<const std::byte*>(field) + begin : nullptr, bytes, alignof(T));
  }

  const std::vector<MemoryUse>& all() const { return all_; }

 private:
  template <class Field>
  void note_field(Access access, const std::string& name, const Field& field) {
    if constexpr (std::is_pointer_v<Field>) {
      add(access, name, static_cast<const void*>(&field), field, kToTheEnd, alignment_of(field));
    } else if constexpr (std::is_array_v<Field>) {
      int index = 0;
      for (const auto& element : field)
        note_field(access, name + "[" + std::to_string(index++) + "]", element);
    } else {
      const std::string outer = std::exchange(prefix_, prefix_ + name + ".");
      field.memory(*this, access);
      prefix_ = outer;
    }
  }
  template <class T>
  void note_field(Access access, const std::string& name, const Extent<T>& part) {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / sizeof(T);
    const auto count = static_cast<size_t>(std::clamp<int64_t>(part.count, 0, kMost));
    std::string_view of = name;
    if (constexpr std::string_view kExtent = "extent("; of.starts_with(kExtent))
      of.remove_prefix(kExtent.size());
    add(access, next_name(of), static_cast<const void*>(&part.pointer), part.pointer,
        count * sizeof(T), alignof(T));
  }

  template <class T>
  static constexpr size_t alignment_of(const T* /*pointer*/) {
    if constexpr (std::is_void_v<T>)
      return 1;
    else
      return alignof(T);
  }

  void add(Access access, const std::string& name, const void* field, const void* pointer,
           size_t bytes, size_t alignment) {
    const auto offset = static_cast<const std::byte*>(field) - parameters_;
    all_.push_back(
        {prefix_ + name, static_cast<size_t>(offset), pointer, bytes, access, alignment});
  }

  // Takes the first of names separated by commas outside brackets.
  static std::string next_name(std::string_view& names);

  const std::byte* parameters_;
  std::string prefix_;
  std::vector<MemoryUse> all_;
};

}  // namespace quiltmd

// Note in `uses` that the fields named are used in this way.
#define QMD_USES(access, ...) uses.note(::quiltmd::Access::access, #__VA_ARGS__, __VA_ARGS__)
