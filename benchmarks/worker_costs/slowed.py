# SPDX-License-Identifier: Apache-2.0
"""quiltmd whose CPU devices are slow: `python slowed.py FACTOR ARGUMENTS`.

After each task a device waits for a multiple of the processor time that it took, so that many
processes share few cores as if each had a core of its own, `FACTOR` times slower than it is.
"""

from __future__ import annotations

import sys
from typing import Any

from quiltmd.engine.core import load_core


def main() -> None:
    """Runs quiltmd with engines whose only rank here is slow."""
    core, factor = load_core(), float(sys.argv.pop(1))

    class Slowed(core.Engine):  # type: ignore[name-defined,misc]
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.slow_down(0, factor)

    core.Engine = Slowed
    from quiltmd.__main__ import main as quiltmd

    quiltmd()


if __name__ == "__main__":
    main()
