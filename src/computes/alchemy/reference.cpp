// SPDX-License-Identifier: Apache-2.0
// Alchemical atoms in double precision: every atom against every other, the Ewald split itself.
#include <cmath>
#include <set>

#include "computes/alchemy/physics.h"
#include "computes/long_range/ewald_split.h"
#include "computes/reference.h"
#include "math/units.h"

namespace quiltmd {
namespace {

// Values of a pair: energies, and the force divided by r.
struct PairValue {
  double lennard_jones = 0, coulomb = 0, force = 0;
};

template <class Form>
class AlchemicalPhysics {
 public:
  AlchemicalPhysics(const System& ghosts, const NonbondedSettings& settings, const Lambdas& lambdas)
      : system_(ghosts),
        core_(soft_core(*ghosts.alchemy, settings)),
        split_(ewald_split(settings)),
        shift_(coulomb_shift(ghosts, settings)),
        lambda_(lambdas.of[kLambdaVdw]),
        charges_(charges_at(ghosts, lambdas)),
        full_charges_{charges_at(ghosts, {}), charges_at(ghosts, {{1}})},
        types_{pair_types_at(ghosts, 0), pair_types_at(ghosts, 1)},
        presence_(static_cast<size_t>(ghosts.atom_count()), Presence::kBoth) {
    const std::vector<Presence> presence = presence_of(ghosts);
    for (size_t k = 0; k < presence.size(); ++k)
      presence_[static_cast<size_t>(ghosts.alchemy->atoms[k])] = presence[k];
    for (const auto& [i, j] : alchemical_exclusions(ghosts)) excluded_.insert({i, j});
  }

  PairValue operator()(int32_t i, int32_t j, double r2) const {
    const double product =
        kCoulomb * charges_[static_cast<size_t>(i)] * charges_[static_cast<size_t>(j)];
    if (excluded_.contains({std::min(i, j), std::max(i, j)}))
      return {0, -product * split_->potential(r2), -product * split_->force(r2)};
    if (r2 >= core_.cutoff2) return {};
    TwoEnds ends{};
    for (size_t e = 0; e < 2; ++e) {
      const size_t entry = static_cast<size_t>(types_[e][static_cast<size_t>(i)]) *
                               static_cast<size_t>(system_.pair_type_count) +
                           static_cast<size_t>(types_[e][static_cast<size_t>(j)]);
      ends.a[e] = system_.pair_tables[0][entry];
      ends.b[e] = system_.pair_tables[1][entry];
    }
    const SoftValue soft = soft_lennard_jones<Form>(core_, ends, lambda_, r2);
    PairValue value{soft.energy, 0, soft.force};
    if (product == 0) return value;
    const SmoothValue smooth{split_->potential(r2) + shift_, split_->force(r2)};
    const SoftValue direct = direct_of(i, j, ends, smooth, r2);
    value.coulomb = product * direct.energy;
    value.force += product * direct.force;
    return value;
  }

 private:
  SoftValue direct_of(int32_t i, int32_t j, const TwoEnds& ends, const SmoothValue& smooth,
                      double r2) const {
    const Presence first = presence_[static_cast<size_t>(i)];
    const Presence one = first == Presence::kBoth ? presence_[static_cast<size_t>(j)] : first;
    if (one == Presence::kBoth) return hard_coulomb(smooth, r2);
    const bool appears = one == Presence::kAppears;
    const auto m = static_cast<size_t>(i), n = static_cast<size_t>(j);
    const double own[] = {kCoulomb * full_charges_[0][m], kCoulomb * full_charges_[1][m]};
    const double other[] = {full_charges_[0][n], full_charges_[1][n]};
    const SoftCharges charges = soft_charges(core_, ends, ChargeProduct::of(own, other), appears);
    return soft_coulomb<Form>(charges, appears ? 1 - lambda_ : lambda_, smooth, r2);
  }

  const System& system_;
  SoftCore core_;
  std::unique_ptr<EwaldSplit> split_;
  double shift_, lambda_;
  std::vector<double> charges_, full_charges_[2];
  std::vector<int32_t> types_[2];
  std::vector<Presence> presence_;
  std::set<std::array<int32_t, 2>> excluded_;
};

template <class Form>
void add_pairs(const ReferenceInput& in, Evaluation& out) {
  const Alchemy& alchemy = *in.system.alchemy;
  const std::vector<Vec3d>& positions = in.positions;
  const AlchemicalPhysics<Form> physics(in.system, in.nonbonded, alchemy.start);
  std::vector<char> done(positions.size(), 0);
  for (const int32_t i : alchemy.atoms) {
    const auto m = static_cast<size_t>(i);
    done[m] = 1;
    for (size_t n = 0; n < positions.size(); ++n) {
      if (done[n]) continue;
      const Vec3d way = in.box.nearest_image(positions[m] - positions[n]);
      const PairValue value = physics(i, static_cast<int32_t>(n), dot(way, way));
      out.energy[kPairForm] += value.lennard_jones;
      out.energy[kCoulombDirect] += value.coulomb;
      const Vec3d force = value.force * way;
      out.forces[m] += force;
      out.forces[n] -= force;
      Symmetric virial{};
      virial.add_product(force, way);
      out.add_virial(virial);
    }
  }
}

}  // namespace

void reference_alchemy(const ReferenceInput& in, Evaluation& out) {
  SoftForms::with(soft_form_named(in.system.alchemy->soft_core),
                  [&]<class Form>(Form) { add_pairs<Form>(in, out); });
}

}  // namespace quiltmd
