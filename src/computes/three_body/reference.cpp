// SPDX-License-Identifier: Apache-2.0
// Three-body potentials in double precision: the neighbours of an atom are found among all atoms. The energy of a
// centre is the form's own, which tests compare with that of LAMMPS.
#include "computes/three_body/reference.h"

#include "computes/three_body/forms.h"

namespace quiltmd {
namespace {

std::vector<Neighbour> neighbours_of(const ReferenceInput& in, size_t centre, double cutoff,
                                     std::vector<size_t>& atoms) {
  std::vector<Neighbour> found;
  atoms.clear();
  for (size_t j = 0; j < in.positions.size(); ++j) {
    if (j == centre) continue;
    const Vec3d d = in.box.nearest_image(in.positions[j] - in.positions[centre]);
    const double r = norm(d);
    if (r >= cutoff) continue;
    found.push_back({{d, r, in.system.three_body->type_of_atom[j], j > centre}});
    atoms.push_back(j);
  }
  return found;
}

template <class Form>
void add_centres(const ReferenceInput& in, Evaluation& out) {
  const ThreeBodyPotential& potential = *in.system.three_body;
  const std::vector<typename Form::Row> rows = rows_of<Form>(potential);
  const double cutoff = longest_cutoff<Form>(rows);
  std::vector<size_t> atoms;
  for (size_t i = 0; i < in.positions.size(); ++i) {
    std::vector<Neighbour> near = neighbours_of(in, i, cutoff, atoms);
    const auto* const own =
        rows.data() + ptrdiff_t{potential.type_of_atom[i]} * potential.types * potential.types;
    out.energy[kManyBody] += Form::add({own, potential.types}, near);
    Symmetric virial{};
    for (size_t n = 0; n < near.size(); ++n) {
      out.forces[atoms[n]] += near[n].force;
      out.forces[i] -= near[n].force;
      virial.add_product(near[n].force, near[n].d);
    }
    out.add_virial(virial);
  }
}

}  // namespace

void reference_three_body(const ReferenceInput& in, Evaluation& out) {
  with_form(*in.system.three_body, [&]<class Form>() { add_centres<Form>(in, out); });
}

}  // namespace quiltmd
