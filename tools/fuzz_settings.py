# SPDX-License-Identifier: Apache-2.0
"""Checks random combinations of settings: python tools/fuzz_settings.py [SECONDS] [FIRST].

Each number, from FIRST on, stands for one combination of system, box, forces, integrator,
thermostat, barostat, restraints and ranks (tests/python/random_settings.py), which must be refused
or pass all checks (tests/python/settings_checks.py).  What fails is printed with its number, and
repeated by SECONDS = 0 and FIRST = that number.  The status is that of a test.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

from settings_checks import BrokenError, check


def main(seconds: float = 60.0, first: int = 1000) -> int:
    """Returns how many combinations failed, at most 100."""
    end = time.monotonic() + seconds
    outcomes: Counter[str] = Counter()
    seed = first
    with tempfile.TemporaryDirectory() as folder:
        while True:
            try:
                outcome = check(seed, Path(folder))
            except BrokenError as error:
                outcome = "failed"
                print(f"{seed}: {error}", flush=True)
            outcomes[outcome.partition(":")[0]] += 1
            seed += 1
            if time.monotonic() >= end:
                break
    counts = ", ".join(f"{count} {what}" for what, count in outcomes.items())
    print(f"numbers {first} to {seed - 1}: {counts}")
    return min(outcomes["failed"], 100)


if __name__ == "__main__":
    sys.exit(main(*(float(sys.argv[1]),) if len(sys.argv) > 1 else (), *map(int, sys.argv[2:3])))
