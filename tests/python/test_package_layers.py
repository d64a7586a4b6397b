# SPDX-License-Identifier: Apache-2.0
"""The folders of the package import only those below them, and modules never each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "quiltmd"
# In reading order, as in python/README.md: what each folder may import besides itself, and
# errors.py, starting.py and version.py.
PROGRAMS = {
    "openmm",
    "amber",
    "gromacs",
    "charmm",
    "namd",
    "lammps",
}  # a folder for each foreign program
_READERS = {"description", "reading", "outputs", "inputs", *PROGRAMS}
SEES = {
    "description": set[str](),
    "engine": {"description"},
    "workers": {"description", "engine"},
    "outputs": {"description", "engine"},
    "reading": {"description"},
    "external": {"description", "engine", "outputs", "reading"},
    **{program: {"description", "reading", "outputs"} for program in PROGRAMS},
    "inputs": _READERS,
    "prepare": _READERS,
    "pages": set[str](),
    "analysis": {"engine", "pages"},
    "running": {"engine", "workers", "external", "pages", "analysis"} | _READERS,
    "exchange": {"engine", "workers", "running"} | _READERS,
    "prediction": {"description", "engine", "outputs", "running"},
    "commands": {"engine", "workers", "pages", "analysis"}
    | _READERS
    | {"prepare", "running", "exchange", "prediction"},
}
SHARED = {"errors", "starting", "version"}
# What a module imports against this order, where it is called for: `System.from_openmm`.
UPWARD = {"description.system": {"openmm.objects"}}


def imports(file: Path, *, late: bool = True) -> Iterator[str]:
    """Modules of the package that one imports, as "folder.module"; `late`: in functions, too."""
    folder = file.relative_to(PACKAGE).parent.parts
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree) if late else tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = ".".join([*folder[: len(folder) + 1 - node.level], *filter(None, [node.module])])
            names = [f"{base}.{alias.name}".strip(".") for alias in node.names]
            yield from (name if is_module(name) else base for name in names)


def is_module(name: str) -> bool:
    path = PACKAGE.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def modules() -> dict[str, set[str]]:
    """Module -> those that it imports; `__init__` counts as its folder."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = set(imports(file)) - UPWARD.get(name, set())
    return found


def test_folders_import_those_below_them() -> None:
    table = modules()
    assert len(table) > 40
    for name, seen in table.items():
        folder = name.split(".")[0]
        if folder in SEES:
            allowed = {folder, *SEES[folder], *SHARED}
            assert {other.split(".")[0] for other in seen} <= allowed, name


def test_imports_upward_are_made_late() -> None:
    for name, upward in UPWARD.items():
        file = PACKAGE.joinpath(*name.split(".")).with_suffix(".py")
        assert upward <= set(imports(file)) - set(imports(file, late=False)), name


def test_no_module_imports_itself_by_a_detour() -> None:
    table = {name: set(seen) for name, seen in modules().items() if name not in ("__init__",)}
    while leaves := {name for name, seen in table.items() if not seen & table.keys()}:
        for name in leaves:
            del table[name]
    assert not table, f"modules that import each other: {sorted(table)}"


def test_every_module_is_named_in_the_readme() -> None:
    readme = (PACKAGE.parent / "README.md").read_text()
    for folder in set(SEES) - {"commands"}:  # a module for each command
        modules = {file.name for file in (PACKAGE / folder).glob("*.py")} - {"__init__.py"}
        assert {name for name in modules if f"`{name}`" not in readme} == set(), folder
