// SPDX-License-Identifier: Apache-2.0
#include "bindings/convert.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "bindings/arrays.h"
#include "computes/bonded/forms/forms.h"
#include "schedule/grid_shares.h"

namespace quiltmd {
namespace {

// The terms of one form, if there are any.
void add_terms(System& s, const nb::dict& d, const TermForm& form) {
  if (!form.atom_array) return;
  Terms terms{
      &form, flat<int32_t>(d, form.atom_array), flat<double>(d, form.parameter_array), {}, 0};
  const auto count = terms.atoms.size() / static_cast<size_t>(form.atoms);
  if (terms.atoms.size() != count * static_cast<size_t>(form.atoms) ||
      terms.parameters.size() != count * form.parameters.size())
    throw Error(std::string("the arrays '") + form.atom_array + "' and '" + form.parameter_array +
                "' describe different numbers of terms: give each term " +
                std::to_string(form.atoms) + " atoms and " +
                std::to_string(form.parameters.size()) + " parameters");
  check_atoms(terms.atoms, s.masses.size(), form.noun);
  if (form.shared_array) {
    const Array<double> shared = array<double>(d, form.shared_array);
    terms.shared.assign(shared.data(), shared.data() + shared.size());
    terms.shared_rows = static_cast<int>(shared.shape(0));
  }
  if (count > 0) s.terms.push_back(std::move(terms));
}

// Reads each site and its parents, weights (origin, x and y by parent), and offsets.
void read_sites(const nb::dict& d, System& s) {
  constexpr size_t kParents = kMaxSiteParents;
  const auto atoms = rows<int32_t, 1 + kParents>(d, "sites");
  const auto weights = rows<double, 3 * kParents>(d, "site_weights");
  const auto offsets = rows<double, 4>(d, "site_offsets");
  if (weights.size() != atoms.size() || offsets.size() != atoms.size())
    throw Error(
        "the arrays 'sites', 'site_weights' and 'site_offsets' have different numbers of rows: "
        "give each a row for every virtual site");
  for (size_t k = 0; k < atoms.size(); ++k) {
    Site site{};
    site.atom = atoms[k][0];
    for (size_t p = 0; p < kParents && atoms[k][1 + p] >= 0; ++p) {
      site.parent[p] = atoms[k][1 + p];
      site.origin[p] = weights[k][p];
      site.x[p] = weights[k][kParents + p];
      site.y[p] = weights[k][2 * kParents + p];
      ++site.parents;
    }
    site.local = {offsets[k][0], offsets[k][1], offsets[k][2]};
    site.cross = offsets[k][3];
    s.sites.push_back(site);
  }
}

// Another form than Lennard-Jones has its tables in one array (parameters, types, types).
void read_pair_form(const nb::dict& d, System& s) {
  if (d.contains("pair_form")) {
    s.pair_form = value<std::string>(d, "pair_form");
    const Array<double> tables = array<double>(d, "pair_tables");
    if (tables.ndim() != 3)
      throw Error("array 'pair_tables' has " + std::to_string(tables.ndim()) +
                  " dimensions: give it the shape (parameters, atom types, atom types)");
    const size_t size = tables.shape(1) * tables.shape(2);
    for (size_t k = 0; k < tables.shape(0); ++k)
      s.pair_tables.emplace_back(tables.data() + k * size, tables.data() + (k + 1) * size);
    s.pair_type_count = static_cast<int>(tables.shape(1));
    return;
  }
  s.pair_tables = {flat<double>(d, "lj_a"), flat<double>(d, "lj_b")};
  const auto pairs = static_cast<double>(s.pair_tables[0].size());
  s.pair_type_count = static_cast<int>(std::lround(std::sqrt(pairs)));
}

}  // namespace

System system_from(const nb::dict& d) {
  System s;
  s.masses = flat<double>(d, "masses");
  s.charges = flat<double>(d, "charges");
  s.pair_types = flat<int32_t>(d, "lj_types");
  read_pair_form(d, s);
  TermForms::for_each([&]<class Form>(int) { add_terms(s, d, Form::kForm); });
  s.exclusions = rows<int32_t, 2>(d, "exclusions");
  s.constraints = rows<int32_t, 2>(d, "constraints");
  s.constraint_lengths = flat<double>(d, "constraint_lengths");
  read_sites(d, s);
  s.molecules = flat<int32_t>(d, "molecules");
  if (s.molecules.size() != s.masses.size())
    throw Error("array 'molecules' has " + std::to_string(s.molecules.size()) + " values for " +
                std::to_string(s.masses.size()) + " atoms: give one for every atom");
  read_parts(d, s);
  check_atoms(s.exclusions, s.masses.size(), "an exclusion");
  check_atoms(s.constraints, s.masses.size(), "a constraint");
  return s;
}

static Int3 grid_from(const nb::dict& d, const char* name) {
  const auto points = value<std::array<int, 3>>(d, name);
  return {points[0], points[1], points[2]};
}

static void read_dispersion_mesh(const nb::dict& d, NonbondedSettings& s) {
  const auto kind = value<std::string>(d, "lennard_jones");
  if (kind == "cutoff") return;
  if (kind != "pme")
    throw Error("unknown Lennard-Jones method '" + kind + "': choose cutoff or pme");
  if (s.switching != Switching::kNone)
    throw Error(
        "Lennard-Jones PME cannot be combined with a switching function: choose switching = none, "
        "or lennard_jones = cutoff");
  s.switching = Switching::kMesh;
  s.dispersion_alpha = value<double>(d, "lj_pme_alpha");
  s.dispersion_grid = grid_from(d, "lj_pme_grid");
}

static void read_switching(const nb::dict& d, NonbondedSettings& s) {
  const auto kind = value<std::string>(d, "switching");
  const std::pair<const char*, Switching> kinds[] = {{"none", Switching::kNone},
                                                     {"potential", Switching::kPotential},
                                                     {"charmm", Switching::kCharmm},
                                                     {"charmm-force", Switching::kCharmmForce},
                                                     {"gromacs-force", Switching::kGromacsForce}};
  const auto* found = std::find_if(std::begin(kinds), std::end(kinds),
                                   [&](const auto& one) { return one.first == kind; });
  if (found == std::end(kinds))
    throw Error("unknown switching function '" + kind +
                "': choose none, potential, charmm, charmm-force or gromacs-force");
  s.switching = found->second;
  if (s.switching == Switching::kNone) return;
  s.switch_distance = value<double>(d, "switch_distance");
}

NonbondedSettings nonbonded_from(const nb::dict& d) {
  NonbondedSettings s;
  s.cutoff = value<double>(d, "cutoff");
  const auto method = value<std::string>(d, "method");
  if (method == "pme")
    s.electrostatics = Electrostatics::kPme;
  else if (method == "fmm")
    s.electrostatics = Electrostatics::kFmm;
  else if (method == "reaction-field")
    s.electrostatics = Electrostatics::kReactionField;
  else if (method == "cutoff" || method == "no-cutoff")
    s.electrostatics = Electrostatics::kCutoff;
  else
    throw Error("unknown nonbonded method '" + method +
                "': choose pme, fmm, reaction-field, cutoff or no-cutoff");
  if (method == "no-cutoff") {
    s.cutoff = std::numeric_limits<double>::infinity();
    s.dispersion_correction = false;
    return s;
  }
  s.dispersion_correction = value<bool>(d, "dispersion_correction");
  s.potential_shift = value<bool>(d, "potential_shift");
  read_switching(d, s);
  read_dispersion_mesh(d, s);
  if (s.has_reaction_field()) {
    const auto dielectric = value<double>(d, "dielectric");
    s.dielectric = dielectric > 0 ? dielectric : std::numeric_limits<double>::infinity();
    s.reaction_field_on_exclusions = value<bool>(d, "reaction_field_on_exclusions");
  }
  if (!s.has_ewald_split()) return s;
  s.order = value<int>(d, "pme_order");
  s.window_spacing = value<double>(d, "pme_window");
  s.alpha = value<double>(d, "pme_alpha");
  s.bandwidth = value<double>(d, "pme_bandwidth");
  if (const auto charges = value<double>(d, "coulomb_cutoff"); charges < s.cutoff)
    s.shorter_coulomb_cutoff = charges;
  s.grid = grid_from(d, "pme_grid");
  s.open_spacing = value<double>(d, "open_spacing");
  const auto b = value<std::array<double, 6>>(d, "stencil_box");
  s.stencil_box = {b[0], b[1], b[2], b[3], b[4], b[5]};
  return s;
}

namespace {

// A part of the dynamics by its kind and numbers.
Parameters parameters_from(const nb::dict& d) {
  Parameters parameters{value<std::string>(d, "kind"), {}};
  for (const auto [key, item] : d) {
    const auto name = nb::cast<std::string>(key);
    if (nb::isinstance<nb::int_>(item))
      parameters.values[name] = nb::cast<int64_t>(item);
    else if (nb::isinstance<nb::float_>(item))
      parameters.values[name] = nb::cast<double>(item);
  }
  return parameters;
}

}  // namespace

IntegratorSettings integrator_from(const nb::dict& d) {
  const auto part = [&](const char* name) {
    const bool has = d.contains(name) && !d[name].is_none();
    return has ? std::optional(parameters_from(nb::cast<nb::dict>(d[name]))) : std::nullopt;
  };
  IntegratorSettings settings{parameters_from(d), part("thermostat"), part("barostat")};
  if (d.contains("bath_of_atom")) settings.bath_of_atom = flat<uint8_t>(d, "bath_of_atom");
  return settings;
}

ListSettings lists_from(const nb::dict& d) {
  const auto patch_reach = value<std::array<int, 3>>(d, "patch_reach");
  const auto grain = value<std::string>(d, "grain");
  if (grain != "patch" && grain != "pair")
    throw Error("there is no grain '" + grain + "': choose patch or pair");
  return {value<int>(d, "list_life"),
          value<double>(d, "list_buffer"),
          {patch_reach[0], patch_reach[1], patch_reach[2]},
          grain == "pair" ? Grain::kPair : Grain::kPatch};
}

RunSettings run_from(const nb::dict& d) {
  RunSettings run;
  run.ranks = value<int>(d, "ranks");
  run.threads = value<int>(d, "threads");
  run.device = value<std::string>(d, "device");
  run.balance = value<bool>(d, "balance");
  run.mesh = mesh_sharing_named(value<std::string>(d, "mesh"));
  run.route = message_route_named(value<std::string>(d, "transport"));
  if (d.contains("external")) run.external = external_from(nb::cast<nb::list>(d["external"]));
  if (d.contains("rank")) {
    run.own = OwnRank{value<int>(d, "rank"), value<std::vector<int>>(d, "sockets"),
                      value<double>(d, "patience"),
                      LinkSettings{run.route, value<std::vector<int>>(d, "machines"),
                                   value<std::string>(d, "nccl")}};
    if (d.contains("ucx")) run.own->ucx = value<std::string>(d, "ucx");
    run.of_node = value<int>(d, "of_node");
  }
  return run;
}

Box box_from(const Matrix& m) {
  const double* r = m.data();
  if (std::abs(r[1]) > 1e-9 || std::abs(r[2]) > 1e-9 || std::abs(r[5]) > 1e-9 || !(r[0] > 0) ||
      !(r[4] > 0) || !(r[8] > 0))
    throw Error(
        "the box vectors are not lower triangular with a positive diagonal: rotate the system so "
        "that a lies along x and b in the xy plane");
  return {r[0], r[3], r[4], r[6], r[7], r[8]};
}

std::vector<Vec3d> points_from(const Points& points) {
  std::vector<Vec3d> result(points.shape(0));
  if (!result.empty()) std::memcpy(result.data(), points.data(), result.size() * sizeof(Vec3d));
  return result;
}

nb::object to_array(std::vector<Vec3d> points) { return owned_array<double>(std::move(points), 3); }

nb::object to_array(const Box& b) {
  return owned_array<double>(std::vector{b.ax, 0.0, 0.0, b.bx, b.by, 0.0, b.cx, b.cy, b.cz}, 3);
}

nb::object to_array(const Symmetric& t) {
  return owned_array<double>(std::vector{t[0], t[3], t[4], t[3], t[1], t[5], t[4], t[5], t[2]}, 3);
}

}  // namespace quiltmd
