// SPDX-License-Identifier: Apache-2.0
#include "integrators/axes.h"

#include <string>

namespace quiltmd {
namespace {

// Numbers by axis, "pressure_x" and so on.
void read_axes(const Parameters& parameters, const std::string& name, double (&values)[3]) {
  const char* const axes[] = {"_x", "_y", "_z"};
  for (int d = 0; d < 3; ++d) values[d] = parameters.number(name + axes[d]);
}

}  // namespace

void read_sets(const Parameters& parameters, int (&sets)[3]) {
  const char* const names[] = {"set_x", "set_y", "set_z"};
  for (int d = 0; d < 3; ++d) {
    sets[d] = parameters.integer(names[d]);
    if (sets[d] < 0 || sets[d] > d || sets[sets[d]] != sets[d])
      throw Error(parameters.kind +
                  ": set_x, set_y and set_z must each name their own axis or an earlier one");
  }
}

Barostat barostat_of_axes(const Parameters& parameters) {
  Barostat barostat;
  barostat.stage.every = parameters.integer("every");
  barostat.stage.strain_message =
      "the barostat would change the box by more than 2 % at once because the pressure is far "
      "from its reference: equilibrate at constant volume first, or use a longer time constant";
  if (barostat.stage.every < 1) throw Error(parameters.kind + ": 'every' must be 1 or more steps");
  read_axes(parameters, "pressure", barostat.bath.pressure);
  read_axes(parameters, "compressibility", barostat.bath.mobility);
  for (const double compressibility : barostat.bath.mobility)
    if (!(compressibility >= 0))
      throw Error(parameters.kind + ": the compressibility must not be negative");
  barostat.bath.surface_tension = parameters.number("surface_tension");
  return barostat;
}

}  // namespace quiltmd
