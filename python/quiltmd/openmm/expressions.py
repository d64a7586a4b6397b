# SPDX-License-Identifier: Apache-2.0
"""Whether energy expressions of OpenMM are equal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from ..description.expression_values import Array, evaluate
from ..description.expressions import Expression, ExpressionError

# Points at which expressions are compared, logarithms of variables there, relative difference.
_COMPARED, _RANGE, _CLOSE = 20_000, (math.log(0.01), math.log(5)), 1e-9


def are_equal(
    first: str, second: str, functions: Mapping[str, Callable[..., Array]] | None = None
) -> bool:
    """Whether two expressions have the same value wherever one is looked for.

    Parameters
    ----------
    first, second:
        Their texts.
    functions:
        Functions that they may call besides OpenMM's own.
    """
    try:
        nodes = [Expression(text).root for text in (first, second)]
        names = sorted(nodes[0].names() | nodes[1].names())
        rng = np.random.default_rng(len(names))
        values = {name: np.exp(rng.uniform(*_RANGE, _COMPARED)) for name in names}
        one, other = (np.broadcast_to(v, _COMPARED) for v in evaluate(nodes, values, functions))
    except ExpressionError:
        return False
    close = np.abs(one - other) <= _CLOSE * (np.abs(one) + np.abs(other))
    return bool(close.all())
