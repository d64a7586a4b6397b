// SPDX-License-Identifier: Apache-2.0
// Forces from outside that are functions in Python. They are called by rank 0, in the thread that called the
// engine; Python's lock is held for the call alone.
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <tuple>
#include <utility>

#include "bindings/convert.h"
#include "math/error.h"

namespace nb = nanobind;

namespace quiltmd {
namespace {

// DLPack, without a copy: valid during a call.
nb::object gpu_array(double* data, std::initializer_list<size_t> shape, int ordinal) {
  using Array = nb::ndarray<nb::array_api, double, nb::device::cuda>;
  const Array array(data, shape, {}, {}, nb::dtype<double>(), nb::device::cuda::value, ordinal);
  return nb::cast(array, nb::rv_policy::reference);
}

class PythonProvider : public Provider {
 public:
  // `launch`: None where it works on the host alone.
  PythonProvider(nb::object compute, nb::object update, nb::object launch, nb::object fail)
      : compute_(std::move(compute)),
        update_(std::move(update)),
        launch_(std::move(launch)),
        fail_(std::move(fail)),
        can_launch_(!launch_.is_none()) {}
  PythonProvider(const PythonProvider&) = delete;
  ~PythonProvider() override {
    const nb::gil_scoped_acquire acquire;
    compute_.reset();
    update_.reset();
    launch_.reset();
    fail_.reset();
  }

  // Python has checked what it gives.
  ExternalOutput compute(const ExternalInput& input) override {
    const nb::gil_scoped_acquire acquire;
    const nb::object given = call(compute_, input);
    const auto [energy, forces, virial] =
        nb::cast<std::tuple<double, Points, std::array<double, Symmetric::kParts>>>(given);
    ExternalOutput out{points_from(forces), energy, {}};
    if (out.forces.size() != input.positions.size())
      throw Error(
          "an external force returned forces of a wrong number of atoms: return one row for each "
          "atom that it was given");
    for (int v = 0; v < Symmetric::kParts; ++v) out.virial[v] = virial[static_cast<size_t>(v)];
    return out;
  }

  void update(const ExternalInput& input) override {
    const nb::gil_scoped_acquire acquire;
    call(update_, input);
  }

  bool can_launch() const override { return can_launch_; }

  void launch(const ExternalLaunch& on) override {
    const nb::gil_scoped_acquire acquire;
    const auto atoms = static_cast<size_t>(on.atoms);
    launch_(on.step, gpu_array(on.positions, {atoms, 3}, on.ordinal),
            gpu_array(on.forces, {atoms, 3}, on.ordinal), gpu_array(on.energy, {1}, on.ordinal),
            reinterpret_cast<uintptr_t>(on.stream));
  }

  void fail(int64_t step, const std::string& what) const override {
    const nb::gil_scoped_acquire acquire;
    fail_(step, what);
  }

 private:
  static nb::object call(const nb::object& function, const ExternalInput& input) {
    return function(input.step, to_array(std::vector<Vec3d>(input.positions)),
                    input.box ? to_array(*input.box) : nb::none());
  }

  nb::object compute_, update_, launch_, fail_;
  bool can_launch_;
};

}  // namespace

std::vector<ExternalForce> external_from(const nb::list& forces) {
  std::vector<ExternalForce> found;
  for (const nb::handle one : forces) {
    const auto d = nb::cast<nb::dict>(one);
    found.push_back(
        {nb::cast<std::string>(d["name"]), nb::cast<std::vector<int32_t>>(d["atoms"]),
         nb::cast<int>(d["update_every"]), nb::cast<bool>(d["uses_gpu"]),
         std::make_shared<PythonProvider>(d["compute"], d["update"], d["launch"], d["fail"])});
  }
  return found;
}

}  // namespace quiltmd
