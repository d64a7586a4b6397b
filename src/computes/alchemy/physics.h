// SPDX-License-Identifier: Apache-2.0
// What the physics of alchemical atoms follows from.
#pragma once

#include <string>
#include <vector>

#include "computes/alchemy/soft_pairs.h"
#include "computes/nonbonded_settings.h"

namespace quiltmd {

// Throws Error, naming it, for what goes with no alchemical atoms.
void refuse_unsuited_to_alchemy(const System& system, const NonbondedSettings& settings,
                                bool periodic);

// Position of a soft core in SoftForms. Throws Error if there is none of this name.
int soft_form_named(const std::string& name);

SoftCore soft_core(const Alchemy& alchemy, const NonbondedSettings& settings);

// Smooth part of the split in the settings; `series` must outlive it, because it contains its address.
SmoothCoulomb smooth_coulomb_of(const NonbondedSettings& settings, std::vector<double>& series);

// Shift of the energy of unit charges within the cutoff.
double coulomb_shift(const System& system, const NonbondedSettings& settings);

// The excluded pairs of which an atom or both are alchemical, each once, i < j.
std::vector<std::array<int32_t, 2>> alchemical_exclusions(const System& system);

// Largest distance between the atoms of these exclusions, nm.
double span_of_alchemical_exclusions(const System& system);

}  // namespace quiltmd
