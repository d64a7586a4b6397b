// SPDX-License-Identifier: Apache-2.0
// From Python's arrays and dictionaries to the core's plain data.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "computes/nonbonded_settings.h"
#include "runtime/engine.h"

namespace quiltmd {

using Points = nanobind::ndarray<const double, nanobind::shape<-1, 3>, nanobind::c_contig,
                                 nanobind::device::cpu>;
using Matrix = nanobind::ndarray<const double, nanobind::shape<3, 3>, nanobind::c_contig,
                                 nanobind::device::cpu>;

System system_from(const nanobind::dict& arrays);
// Fills the parts that only some systems have.
void read_parts(const nanobind::dict& arrays, System& system);
NonbondedSettings nonbonded_from(const nanobind::dict& values);
IntegratorSettings integrator_from(const nanobind::dict& values);
ListSettings lists_from(const nanobind::dict& values);
// Forces from outside, which call Python.
std::vector<ExternalForce> external_from(const nanobind::list& forces);
RunSettings run_from(const nanobind::dict& values);
Box box_from(const Matrix& rows);
std::vector<Vec3d> points_from(const Points& points);

// An array that owns the values: one-dimensional, or rows with this number of columns. `Held` is T or made of T.
template <class T, class Held = T>
nanobind::object owned_array(std::vector<Held> values, size_t columns = 0) {
  auto* kept = new std::vector<Held>(std::move(values));
  nanobind::capsule owner(kept,
                          [](void* p) noexcept { delete static_cast<std::vector<Held>*>(p); });
  size_t count = kept->size();
  if constexpr (!std::is_same_v<T, Held>) count *= sizeof(Held) / sizeof(T);
  T* const data = reinterpret_cast<T*>(kept->data());
  using Owned = nanobind::ndarray<nanobind::numpy, T>;
  if (columns == 0) return nanobind::cast(Owned(data, {count}, owner));
  return nanobind::cast(Owned(data, {count / columns, columns}, owner));
}

nanobind::object to_array(std::vector<Vec3d> points);
nanobind::object to_array(const Box& box);
nanobind::object to_array(const Symmetric& tensor);

}  // namespace quiltmd
