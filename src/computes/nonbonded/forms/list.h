// SPDX-License-Identifier: Apache-2.0
// Every pair form, in order of preference among those of the same name. A new one is a file and a
// line in each of these two places.
#include "computes/nonbonded/forms/basics.h"
#include "computes/nonbonded/forms/buckingham.h"
#include "computes/nonbonded/forms/by_rule.h"
#include "computes/nonbonded/forms/coulomb.h"
#include "computes/nonbonded/forms/lennard_jones.h"
#include "computes/nonbonded/forms/lennard_jones_on_mesh.h"
#include "computes/nonbonded/forms/lennard_jones_switched.h"
#include "computes/nonbonded/forms/mie.h"
#include "computes/nonbonded/forms/morse.h"
#include "computes/nonbonded/forms/tabulated.h"

using PairForms =
    PairFormList<ByRule<LennardJones>, ByTable<LennardJones>, ByTable<Buckingham>,
                 ByRule<PotentialSwitched>, ByTable<PotentialSwitched>, ByRule<CharmmSwitched>,
                 ByTable<CharmmSwitched>, ByRule<CharmmForceSwitched>, ByTable<CharmmForceSwitched>,
                 ByRule<GromacsForceSwitched>, ByTable<GromacsForceSwitched>, ByTable<Morse>,
                 ByTable<Mie>, ByTable<Tabulated>, OnMeshByRule, OnMeshByTable>;
