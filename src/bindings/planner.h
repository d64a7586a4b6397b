// SPDX-License-Identifier: Apache-2.0
// The Python class quiltmd._core.Planner.
#pragma once

#include <nanobind/nanobind.h>

namespace quiltmd {

void add_planner(nanobind::module_& module);

}  // namespace quiltmd
