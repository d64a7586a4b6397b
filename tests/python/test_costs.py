# SPDX-License-Identifier: Apache-2.0
"""A run on a GPU says what its features cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from model_waters import model_water

import quiltmd
from quiltmd import System
from quiltmd.running import introduction, runner
from quiltmd.running.config import Config, build_config
from quiltmd.running.costs import costs
from quiltmd.running.setting_fields import setting_fields

RULE, TABLE = {"lorentz_berthelot": 1.0}, {"lorentz_berthelot": 0.0}


def config(files: tuple[Any, Any], out: Path, **sections: Any) -> Config:
    system = {"topology": files[0], "coordinates": files[1]}
    return build_config({"system": system, "run": {"steps": 0}, "output": {"dir": out}, **sections})


def names(section: str, key: str) -> list[str]:
    """The choices that a setting has."""
    return list(getattr(setting_fields(section, Config)[key].annotation, "__args__"))  # noqa: B009


def test_costs(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    system, _ = quiltmd.load(*alanine)
    assert costs(config(alanine, tmp_path), system, RULE) == []
    plain = ["Lennard-Jones parameters by pairs of types 11 %"]
    assert costs(config(alanine, tmp_path), system, TABLE) == plain
    for switching in names("nonbonded", "switching"):
        pairs = {"switching": switching}
        if switching != "none":
            pairs |= {"switch_distance": 0.8}
            found = costs(config(alanine, tmp_path, nonbonded=pairs), system, RULE)
            assert len(found) == 1
            assert found[0].startswith(f"switching = {switching} ")
        (both,) = costs(config(alanine, tmp_path, nonbonded=pairs), system, TABLE)
        assert both.endswith("%")
    shares = {"cell-rescaling": 7, "berendsen": 7, "monte-carlo": 10}  # at every 40th step
    assert set(shares) == set(names("barostat", "kind"))
    for kind, share in shares.items():
        section = {"kind": kind, "every": 40}
        settings = {"integrator": {"ensemble": "npt", "seed": 1}, "barostat": section}
        (found,) = costs(config(alanine, tmp_path, **settings), system, RULE)
        assert found == f"barostat every 40 steps {share} %"
    sites = System.from_openmm(model_water("tip4pew", (3, 3, 3))[0])
    assert "virtual sites" in costs(config(alanine, tmp_path), sites, RULE)[0]


@pytest.mark.parametrize("gpu", [True, False])
def test_a_run_says_them(
    gpu: bool,
    alanine: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(introduction, "is_gpu", lambda device: gpu)
    pairs = {"switching": "charmm", "switch_distance": 0.8}
    runner.start(config(alanine, tmp_path / "out", nonbonded=pairs))
    said = "features that slow this run, with the cost measured on one H200: switching = charmm 8 %"
    assert (said in capsys.readouterr().err) == gpu
