// SPDX-License-Identifier: Apache-2.0
// Forces from outside that are functions in Python. They are called by rank 0, in the thread that called the
// engine; Python's lock is held for the call alone.
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "bindings/convert.h"
#include "computes/external/operations.h"
#include "computes/external/plain_forces.h"
#include "math/fixed.h"
#include "math/symmetric.h"

namespace nb = nanobind;

namespace quiltmd {
namespace {

// DLPack, without a copy: valid during a call.
nb::object gpu_array(double* data, std::initializer_list<size_t> shape, int ordinal) {
  using Array = nb::ndarray<nb::array_api, double, nb::device::cuda>;
  const Array array(data, shape, {}, {}, nb::dtype<double>(), nb::device::cuda::value, ordinal);
  return nb::cast(array, nb::rv_policy::reference);
}

// What Python says of a force: functions of ExternalCalls (engine/external_calls.py), and their settings.
struct PythonForce {
  nb::object compute, check, update, fail;
  nb::object launch;  // None where it works on the host alone
  bool uses_box, outside;
};

// An (n, 3) array that Python may keep: `owner` keeps its memory.
nb::object array_of(const Vec3d* positions, size_t count, std::shared_ptr<const void> owner) {
  using Owner = std::shared_ptr<const void>;
  const nb::capsule kept(new Owner(std::move(owner)),
                         [](void* p) noexcept { delete static_cast<Owner*>(p); });
  auto* const first = const_cast<Vec3d*>(positions);  // it is Python's
  return nb::cast(nb::ndarray<nb::numpy, double>(first, {count, 3}, kept));
}

// Arrays of copies. Memory that Python has let go of is used again: new pages of a large array would cost more
// than all else around a call.
class PositionArrays {
 public:
  nb::object copy_of(std::span<const Vec3d> positions) {
    if (!memory_ || memory_.use_count() > 1)
      memory_ = std::make_shared<std::vector<Vec3d>>(positions.size());
    std::copy(positions.begin(), positions.end(), memory_->begin());
    return array_of(memory_->data(), memory_->size(), memory_);
  }

 private:
  std::shared_ptr<std::vector<Vec3d>> memory_;
};

void add_virial(std::span<const Vec3d> positions, const double* forces, const ExternalOutput& out) {
  if (!out.virial) return;
  Symmetric virial{};
  for (const Vec3d& x : positions) {
    virial.add_product(x, {forces[0], forces[1], forces[2]});
    forces += 3;
  }
  for (int v = 0; v < Symmetric::kParts; ++v) out.virial[v] += to_fixed(virial[v], kEnergyScale);
}

// Results as most forces return them, (energy, forces) of a float and an array, are taken as they are. False for
// all others, and where something may be wrong.
class PlainResults {
 public:
  explicit PlainResults(const PythonForce& force)
      : array_type_(nb::module_::import_("numpy").attr("ndarray")),
        may_be_plain_(!force.uses_box),
        least_net_(force.outside ? std::numeric_limits<double>::max() : 1e-9),
        net_share_(force.outside ? 0 : 1e-3) {}

  bool take(const nb::object& given, const ExternalInput& input, const ExternalOutput& out) const {
    if (!may_be_plain_ || !nb::isinstance<nb::tuple>(given) || nb::len(given) != 2) return false;
    const nb::object energy = given[0], forces = given[1];
    nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu> array;
    // Subclasses of arrays, such as masked ones, mean something else.
    if (!PyFloat_Check(energy.ptr()) || !forces.type().is(array_type_) ||
        !nb::try_cast(forces, array, false) || array.shape(0) != input.positions.size())
      return false;
    const double value = PyFloat_AsDouble(energy.ptr());
    if (!(std::abs(value) <= kLargestPlainEnergy) ||
        !is_plain(take_in_parts({array.data(), array.size()}, out)))
      return false;
    *out.energy = to_fixed(value, kEnergyScale);
    add_virial(input.positions, array.data(), out);
    return true;
  }

 private:
  static constexpr double kLargestPlainEnergy = 1e9;  // kJ/mol

  static ForceSums take_in_parts(std::span<const double> components, const ExternalOutput& out) {
    constexpr size_t kPart = kNumbersAtOnce;
    ForceSums sums;
    for (size_t k = 0; k < components.size(); k += kPart) {
      const size_t end = std::min(k + kPart, components.size());
      sums.add(take_forces(components.subspan(k, end - k), out.forces + k));
      out.tell(end);
    }
    return sums;
  }

  // A force that is no number is in the sum of magnitudes, but may not be the largest.
  bool is_plain(const ForceSums& sums) const {
    const Vec3d& net = sums.net;
    const double largest = std::max({std::abs(net.x), std::abs(net.y), std::abs(net.z)});
    return std::isfinite(sums.magnitude) && sums.largest <= kLargestForce &&
           largest <= net_share_ * sums.magnitude + least_net_;
  }

  nb::object array_type_;
  bool may_be_plain_;
  double least_net_, net_share_;  // of a sum of forces that is not zero
};

class PythonProvider : public Provider {
 public:
  explicit PythonProvider(PythonForce force)
      : force_(std::move(force)), plain_(force_), can_launch_(!force_.launch.is_none()) {}
  PythonProvider(const PythonProvider&) = delete;
  ~PythonProvider() override {
    const nb::gil_scoped_acquire acquire;
    force_ = {};
    plain_.reset();
  }

  void compute(const ExternalInput& input, const ExternalOutput& out) override {
    const nb::gil_scoped_acquire acquire;
    const nb::object given = call(force_.compute, input);
    if (!plain_->take(given, input, out)) take_checked(input, given, out);
  }

  void update(const ExternalInput& input) override {
    const nb::gil_scoped_acquire acquire;
    call(force_.update, input);
  }

  bool can_launch() const override { return can_launch_; }

  void launch(const ExternalLaunch& on) override {
    const nb::gil_scoped_acquire acquire;
    const auto atoms = static_cast<size_t>(on.atoms);
    force_.launch(on.step, gpu_array(on.positions, {atoms, 3}, on.ordinal),
                  gpu_array(on.forces, {atoms, 3}, on.ordinal),
                  gpu_array(on.energy, {1}, on.ordinal), reinterpret_cast<uintptr_t>(on.stream));
  }

  void fail(int64_t step, const std::string& what) const override {
    const nb::gil_scoped_acquire acquire;
    force_.fail(step, what);
  }

 private:
  nb::object call(const nb::object& function, const ExternalInput& input) {
    const std::span<const Vec3d> x = input.positions;
    return function(input.step,
                    input.owner ? array_of(x.data(), x.size(), input.owner) : positions_.copy_of(x),
                    input.box ? to_array(*input.box) : nb::none());
  }

  // As Python converts it, or says what is wrong.
  void take_checked(const ExternalInput& input, const nb::object& given,
                    const ExternalOutput& out) {
    const nb::object valid = force_.check(input.step, positions_.copy_of(input.positions), given);
    const auto [energy, forces, virial] =
        nb::cast<std::tuple<double, Points, std::array<double, Symmetric::kParts>>>(valid);
    take_forces({forces.data(), forces.size()}, out.forces);
    *out.energy = to_fixed(energy, kEnergyScale);
    for (size_t v = 0; out.virial && v < virial.size(); ++v)
      out.virial[v] += to_fixed(virial[v], kEnergyScale);
  }

  PythonForce force_;
  PositionArrays positions_;
  std::optional<PlainResults> plain_;
  bool can_launch_;
};

}  // namespace

std::vector<ExternalForce> external_from(const nb::list& forces) {
  std::vector<ExternalForce> found;
  for (const nb::handle one : forces) {
    const auto d = nb::cast<nb::dict>(one);
    found.push_back({nb::cast<std::string>(d["name"]), nb::cast<std::vector<int32_t>>(d["atoms"]),
                     nb::cast<int>(d["update_every"]), nb::cast<bool>(d["uses_gpu"]),
                     std::make_shared<PythonProvider>(PythonForce{
                         d["compute"], d["check"], d["update"], d["fail"], d["launch"],
                         nb::cast<bool>(d["uses_box"]), nb::cast<bool>(d["outside"])})});
  }
  return found;
}

}  // namespace quiltmd
