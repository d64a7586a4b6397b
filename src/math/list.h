// SPDX-License-Identifier: Apache-2.0
// A list of types to fold over at compile time.
#pragma once

#include <tuple>
#include <type_traits>

namespace quiltmd {

template <class... Types>
struct List {
  static constexpr int kSize = sizeof...(Types);

  template <int k>
  using At = std::tuple_element_t<static_cast<size_t>(k), std::tuple<Types...>>;

  // Position of a type that is in the list.
  template <class Type>
  static constexpr int index_of() {
    static_assert((std::is_same_v<Type, Types> || ...), "the type is not in the list");
    int k = 0;
    (void)((std::is_same_v<Type, Types> || (++k, false)) || ...);
    return k;
  }

  // Call function.operator()<Type>(position) for each type, in order.
  template <class Function>
  static constexpr void for_each(Function&& function) {
    int k = 0;
    (function.template operator()<Types>(k++), ...);
  }
};

}  // namespace quiltmd
