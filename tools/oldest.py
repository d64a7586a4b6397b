# SPDX-License-Identifier: Apache-2.0
"""Prints what tests need, as requirements for pip: of what users install the oldest versions.

Those are the lower bounds in pyproject.toml; of the tools of tests alone, whatever goes with them.
`make test-oldest` installs both.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
_ITSELF = re.compile(r"quiltmd\[(.+)\]")


def oldest(requirements: list[str]) -> Iterator[str]:
    """Each with `==` in place of `>=`."""
    for requirement in requirements:
        if requirement.count(">=") != 1:
            sys.exit(f"{requirement}: it has no single lower bound")
        yield requirement.replace(">=", "==")


def for_tests(project: Any) -> Iterator[str]:
    """What the package needs, what its extras that are tested need, and the tools of tests."""
    extras = project["optional-dependencies"]
    yield from oldest(project["dependencies"])
    for requirement in extras["test"]:
        if of_itself := _ITSELF.fullmatch(requirement):
            for extra in of_itself[1].split(","):
                yield from oldest(extras[extra])
        else:
            yield requirement


if __name__ == "__main__":
    print(*for_tests(tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]), sep="\n")
