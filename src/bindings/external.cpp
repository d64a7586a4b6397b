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
#include <optional>
#include <tuple>
#include <utility>

#include "bindings/convert.h"
#include "math/fixed.h"

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

// Results as most forces return them, (energy, forces) of a float and an array, are taken as they are. False for
// all others, and where something may be wrong.
class PlainResults {
 public:
  explicit PlainResults(const PythonForce& force)
      : array_type_(nb::module_::import_("numpy").attr("ndarray")),
        may_be_plain_(!force.uses_box),
        least_net_(force.outside ? std::numeric_limits<double>::max() : 1e-9),
        net_share_(force.outside ? 0 : 1e-3) {}

  bool take(const nb::object& given, const ExternalInput& input, ExternalOutput& out) const {
    if (!may_be_plain_ || !nb::isinstance<nb::tuple>(given) || nb::len(given) != 2) return false;
    const nb::object energy = given[0], forces = given[1];
    nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu> array;
    // Subclasses of arrays, such as masked ones, mean something else.
    if (!PyFloat_Check(energy.ptr()) || !forces.type().is(array_type_) ||
        !nb::try_cast(forces, array, false) || array.shape(0) != input.positions.size())
      return false;
    out.energy = PyFloat_AsDouble(energy.ptr());
    out.forces.resize(input.positions.size());
    std::memcpy(out.forces.data(), array.data(), out.forces.size() * sizeof(Vec3d));
    return std::abs(out.energy) <= kLargestPlainEnergy && add_virial(input, out);
  }

 private:
  static constexpr double kLargestPlainEnergy = 1e9;  // kJ/mol

  bool add_virial(const ExternalInput& input, ExternalOutput& out) const {
    Vec3d net{};
    double sum = 0;
    for (size_t k = 0; k < out.forces.size(); ++k) {
      const Vec3d f = out.forces[k];
      for (const double component : {f.x, f.y, f.z}) {
        if (!(std::abs(component) <= kLargestForce)) return false;
        sum += std::abs(component);
      }
      net = net + f;
      out.virial.add_product(input.positions[k], f);
    }
    const double largest = std::max({std::abs(net.x), std::abs(net.y), std::abs(net.z)});
    return largest <= net_share_ * sum + least_net_;
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

  ExternalOutput compute(const ExternalInput& input) override {
    const nb::gil_scoped_acquire acquire;
    const nb::object given = call(force_.compute, input);
    ExternalOutput out{};
    return plain_->take(given, input, out) ? out : checked(input, given);
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
  static nb::object call(const nb::object& function, const ExternalInput& input) {
    return function(input.step, to_array(std::vector<Vec3d>(input.positions)),
                    input.box ? to_array(*input.box) : nb::none());
  }

  // As Python converts it, or says what is wrong.
  ExternalOutput checked(const ExternalInput& input, const nb::object& given) const {
    const nb::object valid =
        force_.check(input.step, to_array(std::vector<Vec3d>(input.positions)), given);
    const auto [energy, forces, virial] =
        nb::cast<std::tuple<double, Points, std::array<double, Symmetric::kParts>>>(valid);
    ExternalOutput out{points_from(forces), energy, {}};
    for (int v = 0; v < Symmetric::kParts; ++v) out.virial[v] = virial[static_cast<size_t>(v)];
    return out;
  }

  PythonForce force_;
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
