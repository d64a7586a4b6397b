// SPDX-License-Identifier: Apache-2.0
// Programs of expressions from outside: names of operations and variables, and checks.
#pragma once

#include <string>

#include "system/expression.h"

namespace quiltmd {

// By name. Throws Error if there is none.
int32_t expression_operation(const std::string& name);
VariableKind variable_kind(const std::string& name);

// Throws Error where arrays differ in size, or a program reads or writes a register that it must not.
void check(const ExpressionForce& force);
void check(const PairExpression& pair, size_t atoms);

}  // namespace quiltmd
