// SPDX-License-Identifier: Apache-2.0
// The Python classes quiltmd._core.Network and StepSimulator.
#pragma once

#include <nanobind/nanobind.h>

namespace quiltmd {

void add_prediction(nanobind::module_& module);

}  // namespace quiltmd
