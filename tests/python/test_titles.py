# SPDX-License-Identifier: Apache-2.0
"""Titles of Amber's coordinates, which may look like the beginning of another format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import quiltmd

TITLES = [
    "*****",
    "* leap",
    "",
    "TITLE",
    "POSITION",
    "HEADER",
    "ATOM",
    "MODEL        1",
    "REMARK made up",
    "data_peptide",
    "<State>",
    "PSF",
    "CDF",
    "# title",
    "[ system ]",
    "22",
]


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_any_title(title: str, end: str, openmmtools_data: Path, tmp_path: Path) -> None:
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    files = folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"
    expected = quiltmd.load(*files, box=())[1].positions
    lines = files[1].read_text().splitlines()
    path = tmp_path / "peptide.rst7"
    path.write_text(end.join([title, *lines[1:], ""]), newline="")
    found = quiltmd.load(files[0], path, box=())[1].positions
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-9)


def test_packaged_file(openmmtools_data: Path) -> None:
    """Of OpenMM's tools, with stars for a title."""
    folder = openmmtools_data / "cb7-viologen" / "leap"
    _, state = quiltmd.load(folder / "receptor.prmtop", folder / "receptor.inpcrd", box=())
    assert len(state.positions) == 126
