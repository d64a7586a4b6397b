// SPDX-License-Identifier: Apache-2.0
// A vector of three numbers, and the plain tuples that cross the device interface.
#pragma once

#include <cmath>

#include "math/macros.h"

namespace quiltmd {

template <class T>
struct Vec3 {
  T x, y, z;

  bool operator==(const Vec3&) const = default;
  QMD_HD T& operator[](int i) { return i == 0 ? x : (i == 1 ? y : z); }
  QMD_HD const T& operator[](int i) const { return i == 0 ? x : (i == 1 ? y : z); }
};

template <class T>
QMD_HD Vec3<T> operator+(Vec3<T> a, Vec3<T> b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
QMD_HD Vec3<T> operator-(Vec3<T> a, Vec3<T> b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
QMD_HD Vec3<T> operator-(Vec3<T> a) {
  return {-a.x, -a.y, -a.z};
}
template <class T>
QMD_HD Vec3<T> operator*(T s, Vec3<T> a) {
  return {s * a.x, s * a.y, s * a.z};
}
template <class T>
QMD_HD Vec3<T>& operator+=(Vec3<T>& a, Vec3<T> b) {
  a = a + b;
  return a;
}
template <class T>
QMD_HD Vec3<T>& operator-=(Vec3<T>& a, Vec3<T> b) {
  a = a - b;
  return a;
}
template <class T>
QMD_HD T dot(Vec3<T> a, Vec3<T> b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
QMD_HD Vec3<T> cross(Vec3<T> a, Vec3<T> b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
template <class T>
QMD_HD T norm(Vec3<T> a) {
  return std::sqrt(dot(a, a));
}

using Vec3d = Vec3<double>;
using Vec3f = Vec3<float>;
using Int3 = Vec3<int>;

struct alignas(8) Float2 {
  float x, y;
};
struct alignas(16) Float4 {
  float x, y, z, w;
};

}  // namespace quiltmd
