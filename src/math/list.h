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

  // Call `use` with the type (a value of it) that has this position; its result, or that of a type made
  // of nothing.
  template <class Use>
  static auto with(int position, const Use& use) {
    using Result = std::common_type_t<decltype(use(Types{}))...>;
    if constexpr (std::is_void_v<Result>) {
      int at = 0;
      ((at++ == position ? use(Types{}) : void()), ...);
    } else {
      Result result{};
      int at = 0;
      ((at++ == position ? void(result = use(Types{})) : void()), ...);
      return result;
    }
  }

  // Call function.operator()<Type>(position) for each type, in order.
  template <class Function>
  static constexpr void for_each(Function&& function) {
    int k = 0;
    (function.template operator()<Types>(k++), ...);
  }
};

}  // namespace quiltmd
