// SPDX-License-Identifier: Apache-2.0
// Lennard-Jones whose dispersion goes on beyond the cutoff, on a mesh (LJ-PME; Essmann et al., J. Chem.
// Phys. 103, 8577 (1995), section 5; Wennberg et al., J. Chem. Theory Comput. 9, 3527 (2013)).
//
// The mesh has -c_i c_j (1 - g(alpha r))/r^6 of all pairs of atoms, c = sqrt(C6) of an atom with its like, so
// that pairs that have an energy of their own get it back: energy = c_i c_j Q(r^2), force/r = c_i c_j P(r^2),
// polynomials in t = 2 r^2/cutoff^2 - 1 as for charges (coulomb.h). Excluded pairs have this part alone. What
// the table or the combination rule says holds within the cutoff, the geometric rule beyond. Energies are
// shifted to zero at the cutoff, as in OpenMM and GROMACS.

struct LennardJonesOnMesh : LennardJones {
  static constexpr int kNumbers = 4;
  static constexpr int kProduct = 2;  // which of them is c_i c_j

  static constexpr bool ends_as(Switching kind) { return kind == Switching::kMesh; }
  static const char* problem(const Given& ab, const NonbondedSettings&) {
    return ab[1] < 0 ? "the C6 coefficient is negative, which Lennard-Jones PME has no grid for"
                     : nullptr;
  }

  static std::array<double, kNumbers> numbers(const Given& ab, const NonbondedSettings&) {
    return {12 * ab[0], 6 * ab[1], 0, 0};
  }
  // From the tables of two types, each with itself.
  static double mesh_product(const Given& one, const Given& other) {
    return std::sqrt(one[1]) * std::sqrt(other[1]);
  }

  template <bool kEnergy, class N, class P>
  static QMD_FORM Interaction<N> formula(const Numbers<N, kNumbers>& n, const Distance<N>& r,
                                         const P& p) {
    return LennardJones::formula<kEnergy, N>(Numbers<N, 2>{{n.v[0], n.v[1]}}, r, p);
  }
};

// Both ways to parameters, with c_i c_j.
struct OnMeshByTable : ByTable<LennardJonesOnMesh> {
  template <class N>
  static QMD_FORM typename N::Value product(const Site<N>& i, typename N::Value first,
                                            typename N::Value, const auto& p, const float* table) {
    return N::template look_up<kNumbers>(i, first, p, table).v[kProduct];
  }
};

struct OnMeshByRule : ByRule<LennardJonesOnMesh> {
  template <class N>
  struct Site : ByRuleSite<N, N::kFolded> {
    typename N::Value coefficient;  // 8 c
  };
  template <class N>
  static QMD_FORM Site<N> site(Float2 own, const float* table, int types) {
    return {ByRule::site<N>(own, table, types), N::of(64 * own.y * cube(own.x))};
  }

  template <class N>
  static QMD_FORM typename N::Value product(const Site<N>& i, typename N::Value half_sigma,
                                            typename N::Value two_root_eps, const auto&,
                                            const float*) {
    return i.coefficient * (two_root_eps * cube(half_sigma));
  }
};

template <class N, class P>
QMD_FORM typename N::Value force_off_mesh(typename N::Value product, typename N::Value t,
                                          const P& p) {
  return product * horner<N, kDispersionDegree>(p.on_mesh.force, t);
}
template <class N, class Mask, class P>
QMD_FORM typename N::Value energy_off_mesh(typename N::Value product, typename N::Value t,
                                           const Mask& interacts, const P& p) {
  return product * (horner<N, kDispersionDegree>(p.on_mesh.energy, t) -
                    N::if_or_zero(interacts, N::of(p.on_mesh.at_cutoff)));
}
