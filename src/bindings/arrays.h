// SPDX-License-Identifier: Apache-2.0
// Values and arrays of the dictionaries that Python gives, by name.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "math/error.h"

namespace quiltmd {

namespace nb = nanobind;

template <class T>
T value(const nb::dict& values, const char* name) {
  if (!values.contains(name))
    throw Error(std::string("the settings for the core have no '") + name + "': add it");
  return nb::cast<T>(values[name]);
}

template <class T>
using Array = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

template <class T>
Array<T> array(const nb::dict& arrays, const char* name) {
  if (!arrays.contains(name))
    throw Error(std::string("the system for the core has no array '") + name + "': add it");
  return nb::cast<Array<T>>(arrays[name]);
}

template <class T>
std::vector<T> flat(const nb::dict& arrays, const char* name) {
  const Array<T> a = array<T>(arrays, name);
  return {a.data(), a.data() + a.size()};
}

// Rows of N values.
template <class T, size_t N>
std::vector<std::array<T, N>> rows(const nb::dict& arrays, const char* name) {
  const Array<T> a = array<T>(arrays, name);
  if (a.size() % N)
    throw Error(std::string("array '") + name + "' has " + std::to_string(a.size()) +
                " values: give rows of " + std::to_string(N));
  std::vector<std::array<T, N>> result(a.size() / N);
  if (a.size()) std::memcpy(result.data(), a.data(), a.size() * sizeof(T));
  return result;
}

inline void check_atoms(std::span<const int32_t> listed, size_t atoms, const char* what) {
  for (const int32_t a : listed)
    if (a < 0 || static_cast<size_t>(a) >= atoms)
      throw Error(std::string(what) + " names atom " + std::to_string(a) + ", but there are " +
                  std::to_string(atoms) + " atoms, numbered from 0: correct the number");
}

inline void check_atoms(const std::vector<std::array<int32_t, 2>>& pairs, size_t atoms,
                        const char* what) {
  for (const auto& pair : pairs) check_atoms(pair, atoms, what);
}

}  // namespace quiltmd
