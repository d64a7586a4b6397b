// SPDX-License-Identifier: Apache-2.0
#include "bindings/planner.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include "bindings/convert.h"
#include "math/error.h"
#include "runtime/planner.h"
#include "schedule/grid_shares.h"
#include "schedule/message_events.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quiltmd {
namespace {

nb::dict plan(const Planner& planner, int ranks, const std::string& mesh, int of_node,
              const std::array<int, 3>& torus) {
  const auto sharing = mesh_sharing_named(mesh);
  if (!sharing)
    throw Error(
        "a plan needs a way to share PME other than 'auto': choose distributed, pencils or "
        "replicated");
  StepForecast found;
  {
    nb::gil_scoped_release release;
    found = planner.plan({ranks, of_node, {torus[0], torus[1], torus[2]}}, *sharing);
  }
  std::vector<double> rows;
  for (const PlannedRank& r : found.ranks)
    for (const double value :
         {double(r.patches), double(r.proxies), double(r.computes), double(r.interior_computes),
          r.atoms, r.proxy_atoms, r.interior_pairs, r.boundary_pairs, r.interior_coulomb,
          r.boundary_coulomb, r.transforms.planes, r.transforms.lines, double(r.transforms.row),
          r.transforms.upper_points})
      rows.push_back(value);
  std::vector<int64_t> messages;
  for (const PlannedMessage& m : found.messages)
    for (const int64_t value : {int64_t(m.edge), int64_t(m.from), int64_t(m.to),
                                m.words * int64_t(sizeof(MessageWord)), int64_t(m.round)})
      messages.push_back(value);
  nb::list names;
  for (int edge = 0; edge <= static_cast<int>(Edge::kSums); ++edge) names.append(edge_name(edge));
  nb::dict out;
  out["ranks"] = owned_array<double>(std::move(rows), 14);
  out["owners"] = owned_array<int>(std::move(found.owners), 1);
  out["messages"] = owned_array<int64_t>(std::move(messages), 5);
  out["edges"] = names;
  return out;
}

nb::dict describe(const Planner& planner) {
  const Setup& setup = planner.setup();
  nb::dict out;
  out["atoms"] = planner.atoms();
  out["patches"] = setup.grid.size();
  out["cells"] = nb::make_tuple(setup.grid.cells.x, setup.grid.cells.y, setup.grid.cells.z);
  out["patch_reach"] =
      nb::make_tuple(setup.grid.patch_reach.x, setup.grid.patch_reach.y, setup.grid.patch_reach.z);
  out["list_life"] = setup.lists.life;
  out["list_buffer"] = setup.lists.buffer;
  out["volume"] = setup.grid.box.volume();
  if (setup.fmm) {
    out["stencil_points"] = setup.fmm->fit.points.size();
    const FmmLevels& levels = setup.fmm->levels;
    out["upper_points"] = levels.begin(levels.count);  // of levels that have the stencil
  }
  return out;
}

}  // namespace

void add_planner(nb::module_& module) {
  nb::class_<Planner>(module, "Planner")
      .def(
          "__init__",
          [](Planner* self, const nb::dict& system, const nb::dict& nonbonded,
             const nb::dict& integrator, const nb::dict& run, const Matrix& box,
             const Points& positions, const std::array<int, 3>& tile) {
            new (self) Planner(system_from(system), nonbonded_from(nonbonded),
                               integrator_from(integrator), lists_from(run), box_from(box),
                               points_from(positions), {tile[0], tile[1], tile[2]});
          },
          "system"_a, "nonbonded"_a, "integrator"_a, "run"_a, "box"_a, "positions"_a, "tile"_a)
      .def("plan", &plan, "ranks"_a, "mesh"_a, "of_node"_a, "torus"_a)
      .def("describe", &describe);
}

}  // namespace quiltmd
