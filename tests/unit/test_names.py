# SPDX-License-Identifier: Apache-2.0
"""`tools/name_check.py`: types of one name in one namespace are found, and only these."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from name_check import types, violations

ROOT = Path(__file__).resolve().parents[2]


def test_every_type_of_the_core_is_defined_once() -> None:
    seen = [name for file in (ROOT / "src").rglob("*.h") for name, _ in types(file.read_text())]
    assert len(seen) > 200
    assert {"quiltmd::BondGraph", "quiltmd::Links"} <= set(seen)
    assert not list(violations(ROOT / "src"))


@pytest.mark.parametrize(
    ("one", "other", "is_refused"),
    [
        ("namespace q { struct A { int a; }; }", "namespace q { class A : public B { }; }", True),
        ("namespace q { enum class A { a }; }", "namespace q {\nunion A\n{ int a; }; }", True),
        (
            "namespace q::r { struct A final { }; }",
            "namespace q { namespace r { struct A {}; } }",
            True,
        ),
        ("struct A { };", "namespace { struct A { }; }", False),
        ("namespace q { struct A { }; }", "namespace r { struct A { }; }", False),
        ("namespace q { struct A { }; }", "namespace q { struct A; A f(); }", False),
        ("namespace q { struct A { }; }", "namespace q { void f() { struct A { } a; } }", False),
        ("namespace q { struct A { }; }", "namespace q { struct B { struct A { } a; }; }", False),
        (
            "struct A { };",
            '// struct A { };\n/* struct A { }; */ const char* a = "struct A { };";',
            False,
        ),
        ("struct A { };", "template <>\nstruct A<int> { };", False),
    ],
)
def test_which_names_are_refused(one: str, other: str, is_refused: bool, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one.h").write_text(one)
    (tmp_path / "src" / "other.cpp").write_text(other)
    found = list(violations(tmp_path / "src"))
    assert bool(found) == is_refused, found
    assert not found or "src/one.h:1" in found[0]
