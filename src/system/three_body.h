// SPDX-License-Identifier: Apache-2.0
// A potential of pairs and triplets of neighbours: its form (computes/three_body/forms.h), and for each triplet of
// types (of the atom in the centre, of a neighbour, of another neighbour) the parameters of the form. Pairs have the
// parameters of the triplet in which both neighbours are of the same type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quiltmd {

struct ThreeBodyPotential {
  std::string form;
  std::vector<int32_t> type_of_atom;
  int types = 0;
  std::vector<double> parameters;  // (types, types, types, parameters of the form)
};

}  // namespace quiltmd
