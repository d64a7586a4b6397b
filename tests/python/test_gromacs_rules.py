# SPDX-License-Identifier: Apache-2.0
"""GROMACS topologies by grompp's own rules, against energies worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from quiltmd.inputs import describe, topology_format

ARGON = """[ defaults ]
1 2 yes 0.5 0.8333
[ atomtypes ]
AR 18 39.948 0.0 A 0.34 0.99
[ moleculetype ]
AR 1
[ atoms ]
1 AR 1 AR AR 1 0.0 39.948
[ system ]
x
[ molecules ]
AR 1
"""
BANNERS = {
    "stars": "*******************\n* The original ports were written by ...\n*******************\n",
    "prose": "This force field was made\nfor argon, in 1964.\n",
    "prose that continues": "  Written by hand, \\\n and by others. \\\n\n",
    "after a macro": "#define _FF_ARGON\n* argon *\n",
}


@pytest.mark.parametrize("banner", BANNERS)
@pytest.mark.parametrize("included", [True, False])
def test_text_before_the_first_directive_is_a_comment(
    banner: str, included: bool, tmp_path: Path
) -> None:
    path = tmp_path / "argon.top"
    path.write_text(BANNERS[banner] + ARGON)
    if included:
        path = tmp_path / "topol.top"
        path.write_text('#include "argon.top"\n')
    reader = topology_format(path)
    assert reader is not None
    assert "GROMACS" in reader.name
    system = describe(path).system
    assert system.lj_a[0, 0] == pytest.approx(4 * 0.99 * 0.34**12)
