// SPDX-License-Identifier: Apache-2.0
// Position restraint: a spring from an atom to a place, harmonic or with a flat bottom.
#pragma once

#include <string>

#include "computes/bonded/forms/term_value.h"
#include "math/error.h"

namespace quiltmd {

// E = k/2 max(0, d - radius)^2, d^2 = wx x^2 + wy y^2 + wz z^2, (x, y, z) from the place to the
// nearest image of the atom. Radius 0 is the harmonic restraint with the constants k wx, k wy, k wz;
// weights of 0 and 1 make spheres, cylinders and layers (GROMACS Reference Manual, "Restraints").
//
// The place is a point of the cell, in fractions of the box vectors, and a distance from there that is
// always the same: so it says what follows a box that changes. With the place itself in fractions it
// scales with the box; with the centre of all places in fractions the figure that they make is kept;
// with (0, 0, 0) nothing follows.
struct PositionRestraintForm {
  static constexpr int kAtoms = 1;
  static constexpr TermPart kPart = TermPart::kRestraint;
  static constexpr bool kAnchored = true;
  static constexpr TermParameter kParameters[] = {{"a", ""},
                                                  {"b", ""},
                                                  {"c", ""},
                                                  {"x", "nm"},
                                                  {"y", "nm"},
                                                  {"z", "nm"},
                                                  {"k", "kJ/mol/nm^2"},
                                                  {"radius", "nm"},
                                                  {"weight x", ""},
                                                  {"weight y", ""},
                                                  {"weight z", ""}};
  static constexpr const char* kEnergies[] = {"restraint"};
  static constexpr TermForm kForm{"position_restraint",
                                  "a position restraint",
                                  "position_restraints",
                                  "position_restraint_parameters",
                                  kAtoms,
                                  kParameters,
                                  kEnergies};

  // The place (anchor_of), then the rest as given.
  static constexpr int kPrepared = 11;
  static void prepare(const double* given, double* p) {
    for (int i = 6; i < kPrepared; ++i)
      if (!(given[i] >= 0))
        throw Error("has the " + std::string(kParameters[i].name) + " " + std::to_string(given[i]) +
                    "; it must not be negative");
    for (int i = 0; i < kPrepared; ++i) p[i] = given[i];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    const Vec3<Real> weighted{p[8] * b[0].x, p[9] * b[0].y, p[10] * b[0].z};
    const Real distance = std::sqrt(dot(weighted, b[0])), beyond = distance - p[7];
    if (!(beyond > 0)) return {};
    return {{Real(0.5) * p[6] * beyond * beyond}, {(p[6] * beyond / distance) * weighted}};
  }
};

}  // namespace quiltmd
