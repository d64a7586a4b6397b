// SPDX-License-Identifier: Apache-2.0
// Settings that barostats share: numbers by axis, and which axes are scaled together.
#pragma once

#include "integrators/step_plan.h"

namespace quiltmd {

// "set_x" and so on: by axis, the first one of its set.
void read_sets(const Parameters& parameters, int (&sets)[3]);

// `every`, reference pressures, surface tension, and compressibilities as mobilities; its stages are to
// come. Throws Error that names the barostat.
Barostat barostat_of_axes(const Parameters& parameters);

}  // namespace quiltmd
