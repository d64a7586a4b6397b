// SPDX-License-Identifier: Apache-2.0
// Parts that only some systems have: implicit solvent, alchemical atoms, collective restraints, embedded atoms,
// custom forces, three-body potentials.
#include "bindings/arrays.h"
#include "bindings/convert.h"
#include "computes/bonded/forms/forms.h"
#include "computes/expressions/programs.h"

namespace quiltmd {
namespace {

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

void read_parts(const nb::dict& d, System& s) {
  read_solvent(d, s);
  read_alchemy(d, s);
  read_collective(d, s);
  read_embedded(d, s);
  read_expressions(d, s);
  read_three_body(d, s);
}

}  // namespace quiltmd
