# SPDX-License-Identifier: Apache-2.0
"""Quilt: molecular dynamics as a patchwork of message-driven computes.

    import quiltmd

    system, state = quiltmd.load("dhfr.prmtop", "dhfr.inpcrd", constraints="h-bonds")
    simulation = quiltmd.Simulation(
        system, state, integrator=quiltmd.LangevinMiddle(temperature=300, timestep=0.002)
    )
    simulation.minimize()
    simulation.draw_velocities(300)
    simulation.run(1000, reporters=[quiltmd.LogReporter("log.csv", every=100)])

A `System` describes what is simulated and a `State` its positions and velocities; `Nonbonded` and
an integrator describe how.  All four are immutable.  A `Simulation` runs them.

Units everywhere: nm, ps, amu, kJ/mol, elementary charge, kelvin.
"""

import ast
from importlib import import_module
from importlib.util import find_spec
from re import findall


def _modules_of_names() -> dict[str, str]:
    """Modules of the public names, from `__init__.pyi`, which type checkers read as well."""
    with open(f"{__file__}i", encoding="utf-8") as file:
        stub = ast.parse(file.read())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom) and node.module]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_MODULES = _modules_of_names()
__all__ = sorted(name for name in _MODULES if not name.startswith("_"))


def __getattr__(name: str) -> object:
    """A name of the package or one of its modules, imported when it is first used.

    So the command `quiltmd` answers to signals before NumPy, SciPy and the core are loaded.
    """
    if name in _MODULES:
        found = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    elif find_spec(f"{__name__}.{name}") is not None:
        found = import_module(f".{name}", __name__)
    else:
        message = f"module {__name__!r} has no attribute {name!r}{_alike(name)}"
        raise AttributeError(message, name=name)  # so Python proposes no name by its letters
    globals()[name] = found
    return found


def _alike(name: str) -> str:
    """The names with most words of this one, as those of other programs may be: DCDReporter."""
    words = _words(name)
    shared = {own: len(words & _words(own)) for own in __all__}
    most = max(shared.values())
    alike = [own for own in __all__ if most and shared[own] == most]
    return f"; there is {', '.join(alike)}" if alike else ""


def _words(name: str) -> set[str]:
    return set(findall("[A-Z][a-z]+", name))


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
