// SPDX-License-Identifier: Apache-2.0
#include "bindings/prediction.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <string>

#include "bindings/convert.h"
#include "math/error.h"
#include "prediction/steps.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quiltmd {
namespace {

template <class T>
using Array = nb::ndarray<const T, nb::shape<-1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> values_of(const Array<T>& array) {
  return {array.data(), array.data() + array.size()};
}

template <class T>
std::vector<T> values_of(const nb::dict& table, const char* name) {
  return values_of(nb::cast<Array<T>>(table[name]));
}

template <class T>
nb::object to_array(std::vector<T> values) {
  return owned_array<T>(std::move(values));
}

NetworkTopology topology_from(const std::string& name) {
  if (name == "flat") return NetworkTopology::kFlat;
  if (name == "fat-tree") return NetworkTopology::kFatTree;
  if (name == "torus") return NetworkTopology::kTorus;
  if (name == "dragonfly") return NetworkTopology::kDragonfly;
  throw Error("unknown topology '" + name + "': choose flat, fat-tree, torus or dragonfly");
}

NetworkSettings network_from(const nb::dict& values) {
  const auto number = [&](const char* name) { return nb::cast<double>(values[name]); };
  const auto count = [&](const char* name) { return nb::cast<int>(values[name]); };
  const auto [x, y, z] = nb::cast<std::tuple<int, int, int>>(values["dimensions"]);
  return {topology_from(nb::cast<std::string>(values["topology"])),
          number("latency"),
          number("hop"),
          number("bandwidth"),
          number("injection"),
          count("ports"),
          count("radix"),
          number("taper"),
          {x, y, z},
          count("routers"),
          count("hosts")};
}

std::optional<Island> island_from(const std::optional<nb::dict>& values) {
  if (!values) return {};
  return Island{nb::cast<int>((*values)["size"]), nb::cast<double>((*values)["latency"]),
                nb::cast<double>((*values)["bandwidth"])};
}

TaskGraph graph_from(const nb::dict& t) {
  return {values_of<int32_t>(t, "rank"),   values_of<int32_t>(t, "priority"),
          values_of<int32_t>(t, "stream"), values_of<double>(t, "fixed"),
          values_of<double>(t, "work"),    values_of<int32_t>(t, "before"),
          values_of<int32_t>(t, "after"),  values_of<int32_t>(t, "source"),
          values_of<int32_t>(t, "user"),   values_of<double>(t, "bytes")};
}

nb::dict run(const StepSimulator& simulator, Network& network, const Array<double>& starts) {
  StepTimes found;
  {
    const auto begins = values_of(starts);
    nb::gil_scoped_release release;
    found = simulator.run(network, begins);
  }
  nb::dict out;
  out["begin"] = to_array(std::move(found.begin));
  out["end"] = to_array(std::move(found.end));
  out["cause"] = to_array(std::move(found.cause));
  out["sent"] = to_array(std::move(found.sent));
  out["arrived"] = to_array(std::move(found.arrived));
  out["rank_end"] = to_array(std::move(found.rank_end));
  return out;
}

nb::object hops(const Network& network, const Array<int64_t>& from, const Array<int64_t>& to) {
  if (from.size() != to.size())
    throw Error("there are " + std::to_string(from.size()) + " senders and " +
                std::to_string(to.size()) + " receivers: give as many of each");
  std::vector<int32_t> found(from.size());
  for (size_t i = 0; i < found.size(); ++i)
    found[i] = network.hops(static_cast<int>(from(i)), static_cast<int>(to(i)));
  return to_array(std::move(found));
}

}  // namespace

void add_prediction(nb::module_& module) {
  nb::class_<Network>(module, "Network")
      .def(
          "__init__",
          [](Network* self, const nb::dict& network, const std::optional<nb::dict>& island,
             int ranks) { new (self) Network(network_from(network), island_from(island), ranks); },
          "network"_a, "island"_a.none(), "ranks"_a)
      .def("deliver", &Network::deliver, "time"_a, "sender"_a, "receiver"_a, "bytes"_a)
      .def("hops", &hops, "senders"_a, "receivers"_a);
  nb::class_<StepSimulator>(module, "StepSimulator")
      .def(
          "__init__",
          [](StepSimulator* self, const nb::dict& graph, int ranks, bool is_serial) {
            new (self) StepSimulator(graph_from(graph), ranks,
                                     is_serial ? RankModel::kSerial : RankModel::kStreams);
          },
          "graph"_a, "ranks"_a, "is_serial"_a)
      .def("run", &run, "network"_a, "starts"_a);
}

}  // namespace quiltmd
