# SPDX-License-Identifier: Apache-2.0
"""What the compiler says of a form of bonded terms that lacks something: which form, and what."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
FORM = """
#include "computes/bonded/forms/forms.h"
namespace quiltmd {{
struct NewForm : BondForm {{ {change} }};
using Some = FormList<AngleForm, NewForm>;
Some some;
}}
"""


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ('static constexpr const char* kEnergies[] = {"one", "other"};', "kEnergies"),
        ("static constexpr int kAtoms = 3;", "kAtoms"),
        ("private: using BondForm::kPrepared;", "kPrepared"),
        ("private: using BondForm::prepare;", "prepare(given, p)"),
        ("private: using BondForm::evaluate;", "evaluate<Real>(b, p)"),
        ("", None),
    ],
)
def test_the_compiler_names_form_and_member(
    change: str, missing: str | None, cxx: str, tmp_path: Path
) -> None:
    source = tmp_path / "form.cpp"
    source.write_text(FORM.format(change=change))
    command = [cxx, "-std=c++20", "-fsyntax-only", "-I", str(SOURCES), str(source)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode == 0) == (missing is None), result.stderr
    if missing is not None:
        assert "NewForm" in result.stderr
        (first, *_) = [line for line in result.stderr.splitlines() if "error" in line]
        assert "the form needs" in first
        assert missing in first


@pytest.fixture(scope="module")
def cxx() -> str:
    """The compiler of the build."""
    cache = (SOURCES.parent / "build" / "core" / "CMakeCache.txt").read_text()
    found = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.MULTILINE)
    assert found
    return found[1]
