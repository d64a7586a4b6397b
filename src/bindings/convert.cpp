// SPDX-License-Identifier: Apache-2.0
#include "bindings/convert.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "computes/bonded/forms/forms.h"
#include "computes/expressions/programs.h"
#include "math/error.h"
#include "schedule/grid_shares.h"

namespace quiltmd {
namespace {

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

void check_atoms(std::span<const int32_t> listed, size_t atoms, const char* what) {
  for (const int32_t a : listed)
    if (a < 0 || static_cast<size_t>(a) >= atoms)
      throw Error(std::string(what) + " names atom " + std::to_string(a) + ", but there are " +
                  std::to_string(atoms) + " atoms, numbered from 0: correct the number");
}

void check_atoms(const std::vector<std::array<int32_t, 2>>& pairs, size_t atoms, const char* what) {
  for (const auto& pair : pairs) check_atoms(pair, atoms, what);
}

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

// Rows of born_atoms: radius, offset radius, scaled radius, alpha, beta, gamma, type of neck.
void read_solvent(const nb::dict& d, System& s) {
  if (!d.contains("solvent")) return;
  const nb::dict given = nb::cast<nb::dict>(d["solvent"]);
  ImplicitSolvent& solvent = s.solvent.emplace();
  solvent.function = value<bool>(given, "tanh") ? BornFunction::kTanh : BornFunction::kInverse;
  solvent.dielectric = value<double>(given, "dielectric");
  solvent.kappa = value<double>(given, "kappa");
  solvent.surface = value<double>(given, "surface");
  for (const auto& row : rows<double, 7>(given, "atoms"))
    solvent.atoms.push_back(
        {row[0], row[1], row[2], row[3], row[4], row[5], static_cast<int32_t>(row[6])});
  if (solvent.atoms.size() != s.masses.size())
    throw Error("the implicit solvent has parameters of " + std::to_string(solvent.atoms.size()) +
                " atoms, and the system has " + std::to_string(s.masses.size()) +
                ": give a row for every atom");
  solvent.neck_distance = flat<double>(given, "neck_distance");
  solvent.neck_height = flat<double>(given, "neck_height");
  solvent.neck_types =
      static_cast<int>(std::lround(std::sqrt(static_cast<double>(solvent.neck_height.size()))));
}

// Terms of a form that change: their numbers, and their parameters at lambda 1.
void add_changed_terms(System& s, const nb::dict& alchemy, const TermForm& form) {
  const nb::dict all = nb::cast<nb::dict>(alchemy["changed_terms"]);
  if (!all.contains(form.name)) return;
  const nb::dict given = nb::cast<nb::dict>(all[form.name]);
  ChangedTerms changed{&form, flat<int32_t>(given, "terms"), flat<double>(given, "parameters")};
  const Terms* terms = s.terms_of(form);
  for (const int32_t term : changed.terms)
    if (!terms || term < 0 || term >= terms->count())
      throw Error(std::string(form.noun) + " with the number " + std::to_string(term) +
                  " changes, but does not exist");
  if (changed.parameters.size() != changed.terms.size() * form.parameters.size())
    throw Error(std::string(form.noun) + " that changes needs " +
                std::to_string(form.parameters.size()) + " parameters at lambda 1");
  if (!changed.terms.empty()) s.alchemy->changed_terms.push_back(std::move(changed));
}

// Alchemical atoms and terms, the constants of the soft core, rows of lambdas.
void read_alchemy(const nb::dict& d, System& s) {
  if (!d.contains("alchemy")) return;
  const nb::dict given = nb::cast<nb::dict>(d["alchemy"]);
  Alchemy& alchemy = s.alchemy.emplace();
  alchemy.atoms = flat<int32_t>(given, "atoms");
  check_atoms(alchemy.atoms, s.masses.size(), "the alchemical atoms");
  auto& [first, last] = alchemy.ends;
  for (const int32_t atom : alchemy.atoms) {
    first.charges.push_back(s.charges[static_cast<size_t>(atom)]);
    first.pair_types.push_back(s.pair_types[static_cast<size_t>(atom)]);
  }
  last = {flat<double>(given, "last_charges"), flat<int32_t>(given, "last_types")};
  if (last.charges.size() != alchemy.atoms.size() || last.pair_types.size() != alchemy.atoms.size())
    throw Error("each alchemical atom needs a charge and a type at lambda 1");
  for (const int32_t type : last.pair_types)
    if (type < kNoPairType || type >= s.pair_type_count)
      throw Error("an alchemical atom has the type " + std::to_string(type) +
                  " at lambda 1, which does not exist");
  TermForms::for_each([&]<class Form>(int) { add_changed_terms(s, given, Form::kForm); });
  alchemy.soft_core = value<std::string>(given, "soft_core");
  alchemy.alpha = value<double>(given, "alpha");
  alchemy.alpha_coulomb = value<double>(given, "alpha_coulomb");
  alchemy.least_sigma = value<double>(given, "least_sigma");
  const auto lambdas = [](const std::array<double, kLambdas>& row) {
    return Lambdas{{row[kLambdaCoulomb], row[kLambdaVdw], row[kLambdaBonded]}};
  };
  alchemy.start = lambdas(value<std::array<double, kLambdas>>(given, "start"));
  for (const auto& row : rows<double, kLambdas>(given, "states"))
    alchemy.states.push_back(lambdas(row));
}

// A group of a collective restraint: atoms, weights and the atom that images are taken from.
AtomGroup group_from(const nb::dict& d, size_t atoms) {
  AtomGroup group{flat<int32_t>(d, "atoms"), flat<double>(d, "weights"),
                  value<int32_t>(d, "origin")};
  check_atoms(group.atoms, atoms, "a collective restraint");
  check_atoms({&group.origin, 1}, atoms, "a collective restraint");
  if (group.atoms.empty() || group.weights.size() != group.atoms.size())
    throw Error("a group of a collective restraint needs atoms, and a weight for each");
  return group;
}

void read_collective(const nb::dict& d, System& s) {
  if (!d.contains("collective")) return;
  const auto part = nb::cast<nb::dict>(d["collective"]);
  for (const nb::handle item : nb::cast<nb::list>(part["restraints"])) {
    const auto given = nb::cast<nb::dict>(item);
    CollectiveRestraint restraint;
    restraint.name = value<std::string>(given, "name");
    restraint.kind = collective_kind_named(value<std::string>(given, "kind"));
    for (const nb::handle group : nb::cast<nb::list>(given["groups"]))
      restraint.groups.push_back(group_from(nb::cast<nb::dict>(group), s.masses.size()));
    for (const auto& row : rows<double, 3>(given, "reference"))
      restraint.reference.push_back({row[0], row[1], row[2]});
    restraint.contact = value<double>(given, "contact");
    restraint.exponent = value<int>(given, "exponent");
    restraint.k = value<double>(given, "k");
    restraint.width = value<double>(given, "width");
    restraint.linear = value<double>(given, "linear");
    restraint.path = rows<double, 2>(given, "path");
    check(restraint);
    s.collective.push_back(std::move(restraint));
  }
}

// Of one table for each pair of types.
void check_tables(const EmbeddedAtoms& embedded) {
  const auto pairs = static_cast<size_t>(embedded.types) * static_cast<size_t>(embedded.types);
  if (embedded.types < 1 || embedded.pairs.size() != embedded.densities.size() ||
      embedded.pairs.size() % pairs || embedded.points() < 5 ||
      embedded.embedding.size() % static_cast<size_t>(embedded.types) ||
      embedded.density_points() < 5)
    throw Error(
        "the tables of embedded atoms need five values or more for each type, or pair of types");
  for (const int32_t type : embedded.type_of_atom)
    if (type < 0 || type >= embedded.types)
      throw Error("an embedded atom has the type " + std::to_string(type) +
                  ", which does not exist");
}

void read_embedded(const nb::dict& d, System& s) {
  if (!d.contains("embedded")) return;
  const nb::dict given = nb::cast<nb::dict>(d["embedded"]);
  EmbeddedAtoms& embedded = s.embedded.emplace();
  embedded.type_of_atom = flat<int32_t>(given, "types");
  if (embedded.type_of_atom.size() != s.masses.size())
    throw Error("embedded atoms need a type for every atom");
  embedded.types = value<int>(given, "type_count");
  embedded.cutoff = value<double>(given, "cutoff");
  embedded.spacing = value<double>(given, "spacing");
  embedded.density_step = value<double>(given, "density_step");
  embedded.densities = flat<double>(given, "densities");
  embedded.pairs = flat<double>(given, "pairs");
  embedded.embedding = flat<double>(given, "embedding");
  check_tables(embedded);
}

ExpressionProgram program_from(const nb::dict& d) {
  const auto names = value<std::vector<std::string>>(d, "operations");
  const auto registers = rows<int32_t, 4>(d, "registers");
  if (names.size() != registers.size())
    throw Error("a program of a custom force needs four registers for each operation");
  ExpressionProgram program;
  for (size_t s = 0; s < names.size(); ++s) {
    const auto& [to, a, b, c] = registers[s];
    program.steps.push_back({expression_operation(names[s]), to, {a, b, c}});
  }
  program.tables = flat<double>(d, "tables");
  program.outputs = flat<int32_t>(d, "outputs");
  program.registers = value<int32_t>(d, "count");
  return program;
}

void read_custom_force(const nb::dict& given, const System& s, CustomForce& force) {
  force.description = value<std::string>(given, "description");
  force.parameters_of_all = value<std::vector<std::string>>(given, "parameters_of_all");
  force.constants = flat<double>(given, "constants");
  force.energy = value<int32_t>(given, "energy");
  force.program = program_from(nb::cast<nb::dict>(given["program"]));
  if (force.energy < -1 || force.energy >= static_cast<int32_t>(s.custom_energies.size()) ||
      force.parameters_of_all.size() > force.constants.size())
    throw Error(force.description + " has an energy or a constant that does not exist");
}

void read_expressions(const nb::dict& d, System& s) {
  if (!d.contains("custom")) return;
  const auto part = nb::cast<nb::dict>(d["custom"]);
  s.custom_energies = value<std::vector<std::string>>(part, "energies");
  for (const nb::handle item : nb::cast<nb::list>(part["forces"])) {
    const auto given = nb::cast<nb::dict>(item);
    ExpressionForce force;
    read_custom_force(given, s, force);
    force.atoms_per_term = value<int32_t>(given, "atoms_per_term");
    force.parameters_per_term = value<int32_t>(given, "parameters_per_term");
    const auto kinds = value<std::vector<std::string>>(given, "kinds");
    const auto members = rows<int32_t, 4>(given, "members");
    for (size_t v = 0; v < kinds.size(); ++v)
      force.variables.push_back({variable_kind(kinds[v]), members.at(v)});
    force.atoms = flat<int32_t>(given, "atoms");
    check_atoms(force.atoms, s.masses.size(), "a custom force");
    force.parameters = flat<double>(given, "parameters");
    check(force);
    s.expressions.push_back(std::move(force));
  }
  for (const nb::handle item : nb::cast<nb::list>(part["pairs"])) {
    const auto given = nb::cast<nb::dict>(item);
    PairExpression pair;
    read_custom_force(given, s, pair);
    pair.parameters_per_atom = value<int32_t>(given, "parameters_per_atom");
    pair.parameters = flat<double>(given, "parameters");
    pair.cutoff = value<double>(given, "cutoff");
    pair.first = flat<uint64_t>(given, "first");
    pair.second = flat<uint64_t>(given, "second");
    pair.tail_energy = value<double>(given, "tail_energy");
    pair.tail_virial = value<double>(given, "tail_virial");
    check(pair, s.masses.size());
    s.pair_expressions.push_back(std::move(pair));
  }
}

void read_three_body(const nb::dict& d, System& s) {
  if (!d.contains("three_body")) return;
  const nb::dict given = nb::cast<nb::dict>(d["three_body"]);
  ThreeBodyPotential& potential = s.three_body.emplace();
  potential.form = value<std::string>(given, "form");
  potential.type_of_atom = flat<int32_t>(given, "types");
  potential.types = value<int>(given, "type_count");
  potential.parameters = flat<double>(given, "parameters");
  if (potential.type_of_atom.size() != s.masses.size())
    throw Error("a three-body potential needs a type for every atom");
  for (const int32_t type : potential.type_of_atom)
    if (type < 0 || type >= potential.types)
      throw Error("an atom has the type " + std::to_string(type) +
                  " of a three-body potential, which does not exist");
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
  read_solvent(d, s);
  read_alchemy(d, s);
  read_collective(d, s);
  read_embedded(d, s);
  read_expressions(d, s);
  read_three_body(d, s);
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
  return {value<int>(d, "list_life"),
          value<double>(d, "list_buffer"),
          {patch_reach[0], patch_reach[1], patch_reach[2]}};
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
