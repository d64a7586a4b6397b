// SPDX-License-Identifier: Apache-2.0
// The Python module quiltmd._core: conversions and calls, no logic.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <exception>

#include "bindings/build_facts.h"
#include "bindings/convert.h"
#include "bindings/planner.h"
#include "bindings/prediction.h"
#include "computes/expressions/program_source.h"
#include "computes/nonbonded/pair_parameters.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/run_time_compiler.h"
#include "device/remote/server.h"
#include "math/error.h"
#include "runtime/box_error.h"
#include "runtime/deadline.h"
#include "runtime/devices.h"
#include "runtime/evaluate_reference.h"
#include "schedule/executor.h"
#include "schedule/message_events.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quiltmd {
namespace {

nb::dict describe_build() {
  const BuildFacts facts = build_facts();
  nb::dict out;
  out["compiler"] = facts.compiler;
  out["cuda"] = facts.cuda;
  out["commit"] = facts.commit;
  return out;
}

nb::dict describe_device(const DeviceDescription& d) {
  nb::dict out;
  out["kind"] = d.kind;
  out["name"] = d.name;
  out["architecture"] = d.architecture;
  out["memory"] = d.memory;
  out["processors"] = d.processors;
  return out;
}

nb::dict describe_gpu(const CudaDeviceReport& d) {
  nb::dict out;
  out["kind"] = "cuda";
  out["ordinal"] = d.ordinal;
  out["name"] = d.name;
  out["architecture"] = d.architecture;
  out["memory"] = d.memory;
  out["free_memory"] = d.free_memory;
  out["processors"] = d.multiprocessors;
  out["bus"] = d.bus;
  nb::list reaches, links;
  for (const GpuLink& link : d.links) {
    nb::dict row;
    row["ordinal"] = link.to;
    row["access"] = link.access;
    row["atomics"] = link.atomics;
    row["kind"] = link.kind;
    links.append(row);
    if (link.access) reaches.append(link.to);
  }
  out["reaches"] = reaches;
  out["links"] = links;
  out["usable"] = d.problem.empty();
  out["reason"] = d.problem;
  out["bandwidth"] = d.bandwidth;
  out["healthy"] = d.healthy;
  return out;
}

// The processor, then the GPUs.
nb::list describe_devices(bool self_test) {
  nb::list out;
  out.append(describe_device(describe_cpu()));
  for (const auto& gpu : cuda_devices(self_test ? SelfTest::kRun : SelfTest::kSkip))
    out.append(describe_gpu(gpu));
  return out;
}

void set_state(Engine& engine, int64_t step, std::optional<Matrix> box, const Points& positions,
               const Points& velocities, int64_t list_step, std::optional<Points> list_positions,
               std::optional<std::array<int, 3>> patches,
               const std::map<std::string, double>& variables) {
  const nb::gil_scoped_release release;  // the caller holds the arrays, which are copied meanwhile
  HostState state{step,     points_from(positions), points_from(velocities), list_step, {}, {},
                  variables};
  if (patches) state.patches = Int3{(*patches)[0], (*patches)[1], (*patches)[2]};
  if (list_positions) state.list_positions = points_from(*list_positions);
  engine.set_state(box ? std::optional(box_from(*box)) : std::nullopt, state);
}

void place_atoms(Engine& engine, const Points& positions) {
  const nb::gil_scoped_release release;
  engine.place_atoms(points_from(positions));
}

void set_conditions(Engine& engine, const std::map<std::string, double>& values,
                    std::optional<Matrix> box) {
  const auto changed = box ? std::optional(box_from(*box)) : std::nullopt;
  nb::gil_scoped_release release;
  engine.set_conditions(values, changed);
}

// Axes as rows of restraint, points, least, spacing and whether it is periodic; hills as rows of centres (two),
// widths (two) and height.
template <int kColumns>
using Rows = nb::ndarray<const double, nb::shape<-1, kColumns>, nb::c_contig, nb::device::cpu>;
void add_hills(Engine& engine, const Rows<5>& axes, const Rows<5>& hills) {
  std::vector<BiasAxis> of;
  for (size_t a = 0; a < axes.shape(0); ++a) {
    const double* const row = axes.data() + 5 * a;
    of.push_back(
        {static_cast<int32_t>(row[0]), static_cast<int32_t>(row[1]), row[2], row[3], row[4] != 0});
  }
  std::vector<BiasHill> added;
  for (size_t h = 0; h < hills.shape(0); ++h) {
    const double* const row = hills.data() + 5 * h;
    added.push_back({{row[0], row[1]}, {row[2], row[3]}, row[4]});
  }
  nb::gil_scoped_release release;
  engine.add_hills(of, added);
}

// Result of a function that does not need Python while it runs.
template <class Function>
auto released(const Function& function) {
  nb::gil_scoped_release release;
  return function();
}

// An array of the points that a method gives.
template <auto kMethod, class Self>
nb::object points_of(Self& self) {
  return to_array(released([&] { return (self.*kMethod)(); }));
}

// A sum of forces that a method gives.
template <auto kMethod, class Self>
nb::tuple sum_of(Self& self) {
  const auto sum = released([&] { return (self.*kMethod)(); });
  return nb::make_tuple(sum[0], sum[1], sum[2]);
}

std::unique_ptr<Frame> capture(Engine& engine, bool energies, bool positions, bool state) {
  return engine.capture({energies, positions, state});
}

std::unique_ptr<Frame> run_and_capture(Engine& engine, int64_t steps, bool energies, bool positions,
                                       bool state) {
  return engine.run_and_capture(steps, {energies, positions, state});
}

nb::object box_of(const Frame& frame) { return frame.box() ? to_array(*frame.box()) : nb::none(); }

nb::dict frame_state(const Frame& frame) {
  HostState state = released([&] { return frame.state(); });
  nb::dict out;
  out["step"] = state.step;
  out["box"] = box_of(frame);
  out["positions"] = to_array(std::move(state.positions));
  out["velocities"] = to_array(std::move(state.velocities));
  out["list_step"] = state.list_step;
  out["list_positions"] = to_array(std::move(state.list_positions));
  out["patches"] = nb::make_tuple(state.patches->x, state.patches->y, state.patches->z);
  out["variables"] = state.variables;
  return out;
}

nb::dict frame_tensors(const Frame& frame) {
  const Tensors found = released([&] { return frame.tensors(); });
  nb::dict out;
  out["virial"] = to_array(found.virial);
  out["kinetic"] = to_array(found.kinetic);
  out["collective"] = owned_array<double>(released([&] { return frame.collective(); }));
  if (auto alchemical = released([&] { return frame.alchemical(); })) {
    const auto& slopes = alchemical->slopes.of;
    out["state_energies"] = owned_array<double>(std::move(alchemical->states));
    out["dhdl"] = owned_array<double>(std::vector<double>(slopes, slopes + kLambdas));
  }
  return out;
}

// `watch` is called with (iterations, potential, largest force) and returns whether to stop. What it
// raises is raised once the engine is at rest.
nb::dict minimize(Engine& engine, double tolerance, int max_iterations, const nb::object& watch) {
  std::exception_ptr raised;
  auto asks_to_stop = [&](const Minimum& now) {
    if (watch.is_none()) return false;
    const nb::gil_scoped_acquire acquire;
    try {
      return nb::cast<bool>(watch(now.iterations, now.energy, now.largest_force));
    } catch (...) {
      raised = std::current_exception();
      return true;
    }
  };
  const Minimum minimum =
      released([&] { return engine.minimize(tolerance, max_iterations, asks_to_stop); });
  if (raised) std::rethrow_exception(raised);
  nb::dict out;
  out["potential"] = minimum.energy;
  out["largest_force"] = minimum.largest_force;
  out["iterations"] = minimum.iterations;
  out["converged"] = minimum.converged;
  return out;
}

nb::dict describe(const Engine& engine) {
  nb::dict out;
  for (const auto& [name, number] : released([&] { return engine.numbers(); }))
    out[name.c_str()] = number;
  nb::list devices;
  for (const auto& d : engine.devices()) devices.append(describe_device(d));
  out["devices"] = devices;
  out["mesh"] = engine.mesh();
  out["route"] = engine.route();
  out["why_not_faster"] = engine.why_not_faster();
  return out;
}

nb::list profile(Engine& engine) {
  nb::list out;
  for (const auto& task : released([&] { return engine.profile(); })) {
    nb::dict row;
    row["rank"] = task.rank;
    row["name"] = task.name;
    row["calls"] = task.calls;
    row["seconds"] = task.seconds;
    out.append(row);
  }
  return out;
}

nb::list stop_profile(Engine& engine) {
  nb::list out;
  for (const auto& [rank, span, steps] : released([&] { return engine.stop_profile(); })) {
    nb::dict row;
    row["rank"] = rank;
    row["stream"] = static_cast<int>(span.stream);
    row["name"] = span.name;
    row["begin"] = span.begin;
    row["end"] = span.end;
    row["part"] = span.part;
    row["steps"] = steps;
    out.append(row);
  }
  return out;
}

nb::list profiled_messages(const Engine& engine) {
  nb::list out;
  for (const MessageTimes& message : engine.profiled_messages()) {
    nb::dict row;
    row["name"] = message.name;
    row["from"] = message.from;
    row["to"] = message.to;
    row["carrier"] = message.carrier == Carrier::kHost ? "host" : "kernels";
    row["from_stream"] = static_cast<int>(message.from_stream);
    row["to_stream"] = static_cast<int>(message.to_stream);
    row["bytes"] = message.bytes;
    row["sent"] = message.sent;
    row["arrived"] = message.arrived;
    row["used"] = message.used;
    out.append(row);
  }
  return out;
}

nb::list ends(const std::vector<MessageEnd>& messages) {
  nb::list out;
  for (const MessageEnd& end : messages)
    out.append(nb::make_tuple(edge_name(static_cast<int>(end.edge)), end.peer, end.bytes()));
  return out;
}

nb::list step_tasks(const Engine& engine) {
  nb::list out;
  for (const Schedule* schedule : released([&] { return engine.step_forces(); })) {
    nb::list tasks;
    for (const Task& task : schedule->tasks()) {
      nb::dict row;
      row["name"] = task.name;
      row["priority"] = static_cast<int>(task.priority);
      row["stream"] = static_cast<int>(task.stream);
      row["after"] = nb::cast(task.after);
      row["awaits"] = ends(task.awaits);
      row["sends"] = ends(task.sends);
      tasks.append(row);
    }
    out.append(tasks);
  }
  return out;
}

nb::list loads(Engine& engine) {
  nb::list out;
  for (const Engine::RankLoad& load : released([&] { return engine.loads(); })) {
    nb::dict row;
    row["patches"] = load.patches;
    row["proxies"] = load.proxies;
    row["computes"] = load.computes;
    row["interior_computes"] = load.interior_computes;
    row["atoms"] = load.atoms;
    row["list_entries"] = load.list_entries;
    row["device_bytes"] = load.device_bytes;
    out.append(row);
  }
  return out;
}

nb::dict describe_form(const TermForm& form) {
  nb::list parameters, energies;
  for (const TermParameter& one : form.parameters)
    parameters.append(nb::make_tuple(one.name, one.unit));
  for (const char* name : form.energies) energies.append(name);
  nb::dict out;
  out["name"] = form.name;
  out["noun"] = form.noun;
  out["atoms"] = form.atoms;
  out["atom_array"] = form.atom_array;
  out["parameter_array"] = form.parameter_array;
  out["shared_array"] = form.shared_array;
  out["parameters"] = parameters;
  out["energies"] = energies;
  return out;
}

// The forms of bonded terms that inputs give, each with the names of its arrays in System and of its
// energies.
nb::list term_forms() {
  nb::list out;
  TermForms::for_each([&out]<class Form>(int) {
    if (!Form::kForm.atom_array) return;
    out.append(describe_form(Form::kForm));
    out[out.size() - 1]["part"] = kTermParts[static_cast<int>(Form::kPart)];
    out[out.size() - 1]["holds_atoms"] = kHoldsAtoms<Form>;
    out[out.size() - 1]["may_change"] = kMayChange<Form>;
  });
  return out;
}

nb::dict reference(const nb::dict& arrays, const nb::dict& nonbonded,
                   std::optional<Matrix> box_rows, const Points& positions) {
  const System system = system_from(arrays);
  const NonbondedSettings settings = nonbonded_from(nonbonded);
  const auto box = box_rows ? std::optional(box_from(*box_rows)) : std::nullopt;
  const auto points = points_from(positions);
  const ReferenceResult found =
      released([&] { return evaluate_reference(system, settings, box, points); });
  nb::dict result;
  result["energies"] = found.energies;
  result["forces"] = to_array(found.forces);
  result["virial"] = to_array(found.virial);
  return result;
}

// Sources of the kernels of custom forces, and machine code of such a source.
std::vector<std::string> gpu_sources(const nb::dict& arrays) {
  const System system = system_from(arrays);
  std::vector<std::string> sources;
  for (const ExpressionForce& force : system.expressions) sources.push_back(term_source(force));
  for (const PairExpression& force : system.pair_expressions) sources.push_back(pair_source(force));
  return sources;
}

nb::bytes compile_source(const std::string& source, const std::string& capability) {
  const std::string code = released([&] { return compile_for_gpus(source, capability); });
  return nb::bytes(code.data(), code.size());
}

// Error becomes quiltmd.QuiltError, LostError quiltmd.LostError, PeerFailed quiltmd.errors.PeerError,
// SimulationError quiltmd.SimulationError(step, message), BoxError quiltmd.BoxError(step, message).
void translate(const std::exception_ptr& p, void*) {
  const auto raise = [](const char* name, nb::object argument, const char* message) {
    const nb::object type = nb::module_::import_("quiltmd.errors").attr(name);
    nb::object error = argument.is_none() ? type(message) : type(argument, message);
    PyErr_SetObject(type.ptr(), error.ptr());
  };
  try {
    std::rethrow_exception(p);
  } catch (const BoxError& e) {
    raise("BoxError", nb::cast(e.step), e.what());
  } catch (const SimulationError& e) {
    raise("SimulationError", nb::cast(e.step), e.what());
  } catch (const LostError& e) {
    raise("LostError", nb::none(), e.what());
  } catch (const PeerFailed& e) {
    raise("PeerError", nb::none(), e.what());
  } catch (const Error& e) {
    raise("QuiltError", nb::none(), e.what());
  }
}

}  // namespace
}  // namespace quiltmd

NB_MODULE(_core, module) {
  using namespace quiltmd;
  module.doc() = "Compiled core of quiltmd: see quiltmd.engine for its use.";
  nb::register_exception_translator(translate);
  // A thread that still runs at the end of the process holds its engine: nothing worth telling.
  nb::set_leak_warnings(false);

  module.def("describe_build", &describe_build, "Compiler, CUDA and commit of this core.");

  nb::class_<Frame>(module, "Frame")
      .def_prop_ro("step", &Frame::step)
      .def_prop_ro("box", &box_of)
      .def("energies", &Frame::energies, nb::call_guard<nb::gil_scoped_release>())
      .def("heat", &Frame::heat, nb::call_guard<nb::gil_scoped_release>())
      .def("positions", &points_of<&Frame::positions, const Frame>)
      .def("tensors", &frame_tensors)
      .def("state", &frame_state);

  nb::class_<Engine>(module, "Engine")
      .def(
          "__init__",
          [](Engine* engine, const nb::dict& system, const nb::dict& nonbonded,
             const nb::dict& integrator, const nb::dict& run) {
            const System of = system_from(system);
            const NonbondedSettings forces = nonbonded_from(nonbonded);
            const IntegratorSettings dynamics = integrator_from(integrator);
            const ListSettings lists = lists_from(run);
            const RunSettings where = run_from(run);
            const nb::gil_scoped_release release;  // it may take seconds
            new (engine) Engine(of, forces, dynamics, lists, where);
          },
          "system"_a, "nonbonded"_a, "integrator"_a, "run"_a)
      .def("set_state", &set_state, "step"_a, "box"_a.none(), "positions"_a, "velocities"_a,
           "list_step"_a, "list_positions"_a.none(), "patches"_a = nb::none(),
           "variables"_a = std::map<std::string, double>())
      .def("place_atoms", &place_atoms, "positions"_a)
      .def("run", nb::overload_cast<int64_t>(&Engine::run), "steps"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("state",
           [](Engine& engine) {
             return frame_state(*released([&] { return engine.capture({.state = true}); }));
           })
      .def(
          "energies", [](Engine& engine) { return engine.capture({.energies = true})->energies(); },
          nb::call_guard<nb::gil_scoped_release>())
      .def("capture", &capture, "energies"_a = false, "positions"_a = false, "state"_a = false,
           nb::keep_alive<0, 1>(), nb::call_guard<nb::gil_scoped_release>())
      .def("run_and_capture", &run_and_capture, "steps"_a, "energies"_a = false,
           "positions"_a = false, "state"_a = false, nb::keep_alive<0, 1>(),
           nb::call_guard<nb::gil_scoped_release>())
      .def("read", &capture, "energies"_a = false, "positions"_a = false, "state"_a = false,
           nb::keep_alive<0, 1>(), nb::call_guard<nb::gil_scoped_release>())
      .def("forces", &points_of<&Engine::forces, Engine>)
      .def("force_sum", &sum_of<&Engine::force_sum, Engine>)
      .def("last_force_sum", &sum_of<&Engine::last_force_sum, const Engine>)
      .def("minimize", &minimize, "tolerance"_a, "max_iterations"_a, "watch"_a = nb::none())
      .def("add_hills", &add_hills, "axes"_a, "hills"_a)
      .def("set_conditions", &set_conditions, "values"_a, "box"_a = nb::none())
      .def("draw_velocities", &Engine::draw_velocities, "temperature"_a, "seed"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("describe", &describe)
      .def("start_profile", &Engine::start_profile, nb::call_guard<nb::gil_scoped_release>())
      .def("stop_profile", &stop_profile)
      .def("profiled_messages", &profiled_messages)
      .def("loads", &loads)
      .def("step_tasks", &step_tasks)
      .def(
          "inject_flip",
          [](Engine& engine, int rank, const std::string& operation, const std::string& field,
             int64_t launch,
             uint64_t bit) { engine.inject(rank, {operation, field, launch, bit}); },
          "rank"_a, "operation"_a, "field"_a, "launch"_a, "bit"_a)
      .def("slow_down", &Engine::slow_down, "rank"_a, "factor"_a)
      .def("profile", &profile);

  add_planner(module);
  add_prediction(module);
  module.def("reference", &reference, "system"_a, "nonbonded"_a, "box"_a.none(), "positions"_a);
  module.def("term_forms", &term_forms);
  module.def("set_run_time_compiler", &set_run_time_compiler, "path"_a);
  module.def("gpu_sources", &gpu_sources, "system"_a);
  module.def("compile_for_gpus", &compile_source, "source"_a, "capability"_a);
  module.def("tables_of_pair_forms", &tables_of_pair_forms);
  nb::class_<Device>(module, "Device")
      .def("serve", &remote::serve_device, "socket"_a, nb::call_guard<nb::gil_scoped_release>());
  module.def("make_device", &make_device, "name"_a, "threads"_a);
  module.def("poison_gpu", &poison_gpu, "ordinal"_a);
  module.def("occupy_gpu", &occupy_gpu, "ordinal"_a);
  nb::class_<Deadline>(module, "Deadline")
      .def(nb::init<double, std::string>(), "seconds"_a, "message"_a)
      .def("lift", &Deadline::lift, nb::call_guard<nb::gil_scoped_release>());
  module.def("devices", &describe_devices, "self_test"_a = false);
}
