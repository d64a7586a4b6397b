# SPDX-License-Identifier: Apache-2.0
"""Files with the names that settings had before load as those with the names of now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quiltmd import QuiltError
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.running import stages
from quiltmd.running.config import Config, build_config, build_config_of, merge, read_config
from quiltmd.running.identity import changed_settings
from quiltmd.running.older_names import RENAMED
from quiltmd.running.setting_fields import setting_fields

HEAD = """
[system]
topology = "a.prmtop"
coordinates = "a.rst7"

[output]
dir = "out"
"""
OLDER = (
    HEAD
    + """
[run]
steps = 100
away = "x"

[nonbonded]
method = "reaction-field"
field_of_excluded = false

[integrator]
ensemble = "nve"
restraint_annealing = [[0, 1], [1, 0]]
restraint_annealing_every = 50

[[restraint]]
kind = "distance"
select = ["index 0", "index 1"]
upper = 0.3
k = 1000
"""
)
NOW = (
    OLDER.replace("away", "patch_reach")
    .replace("field_of_excluded", "reaction_field_on_exclusions")
    .replace("restraint_annealing = [[0, 1], [1, 0]]\nrestraint_annealing_every = 50", "")
    + "[restraints]\nannealing = [[0, 1], [1, 0]]\nannealing_every = 50\n"
)


def read(folder: Path, text: str) -> dict[str, Any]:
    path = folder / "run.toml"
    path.write_text(text)
    return read_config(path)


def test_every_name_of_now_exists() -> None:
    for older, (section, key) in RENAMED.items():
        assert key in setting_fields(section, ExchangeConfig)
        assert older[1] not in setting_fields(older[0], ExchangeConfig)


def test_a_file_with_older_names_is_the_same_run(tmp_path: Path) -> None:
    older, now = (build_config(read(tmp_path, text)) for text in (OLDER, NOW))
    assert older == now
    assert older.restraints.annealing == ((0, 1), (1, 0))
    assert older.run.patch_reach == "x"
    assert not older.nonbonded.reaction_field_on_exclusions
    assert build_config(read(tmp_path, older.as_toml(tmp_path))) == now


def test_stages_have_older_names_too(tmp_path: Path) -> None:
    text = NOW + '[[stage]]\nname = "free"\nintegrator = { restraint_annealing = [[0, 0.5]] }\n'
    (stage,) = stages.stages_of(read(tmp_path, text))
    assert stage.config.restraints.annealing == ((0, 0.5),)


def test_exchange_has_an_older_name(tmp_path: Path) -> None:
    text = HEAD + '[run]\nsteps = 100\n[exchange]\nkind = "rest2"\ntemperatures = [300, 310]\n'
    settings = read(tmp_path, text + "every = 10\nfull_rows = true\n")
    assert build_config_of(ExchangeConfig, settings, "").exchange.all_energies


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ('patch_reach = "2"', r"run\.toml: leave out away of \[run\]: it is now patch_reach of"),
        ("nonsense = 1", r"nonsense"),
    ],
)
def test_a_setting_has_one_name(tmp_path: Path, added: str, message: str) -> None:
    with pytest.raises(QuiltError, match=message):
        build_config(read(tmp_path, OLDER.replace('away = "x"', f'away = "x"\n{added}')))


def test_options_and_settings_in_python_have_the_names_of_now() -> None:
    run = {"system": {"topology": "a", "coordinates": "b"}, "output": {"dir": "c"}}
    with pytest.raises(QuiltError, match="away is not a known key"):
        build_config(merge({**run, "run": {"steps": 1, "away": "2"}}, {}))


def test_checkpoints_keep_settings_by_older_names(tmp_path: Path) -> None:
    """Whose runs had no kind of integrator, and went on with the one of their thermostat."""
    now = build_config(read(tmp_path, NOW)).physics(4.0 * np.eye(3))
    older = {".".join(place): ".".join(name) for name, place in RENAMED.items()}
    before = {older.get(key, key): value for key, value in now.items() if key != "integrator.kind"}
    assert {"run.away", "integrator.restraint_annealing"} <= before.keys()
    assert changed_settings({"physics": before}, {"physics": now}) == []
    before["run.away"] = "2"
    assert changed_settings({"physics": before}, {"physics": now}) == [
        "run.patch_reach (was 2, is x)"
    ]


def test_settings_that_older_checkpoints_lack_had_their_defaults() -> None:
    """Also in sections that may be missing, and in each of several of a name."""
    given = {
        "system": {"topology": "a", "coordinates": "b"},
        "output": {"dir": "c"},
        "run": {"steps": 1},
        "alchemy": {"atoms": "all"},
        "restraint": [{"kind": "position", "select": "all", "k": 3.0}],
    }
    now = build_config(given).physics(4.0 * np.eye(3))
    before = {key: value for key, value in now.items() if key != "alchemy.soft_core"}
    before["restraint.1"] = {name: now["restraint.1"][name] for name in ("kind", "select", "k")}
    assert len(before["restraint.1"]) < len(now["restraint.1"])
    assert changed_settings({"physics": before}, {"physics": now}) == []
    other = now | {"alchemy.soft_core": "amber"}
    assert changed_settings({"physics": before}, {"physics": other}) == [
        "alchemy.soft_core (was beutler, is amber)"
    ]
    without = {key: value for key, value in now.items() if not key.startswith("alchemy.")}
    assert "alchemy.soft_core (was None, is beutler)" in changed_settings(
        {"physics": without}, {"physics": now}
    )


@pytest.mark.parametrize(
    ("integrator", "thermostat", "kind"),
    [
        ({}, {}, "langevin-middle"),
        ({"ensemble": "nve"}, {}, "velocity-verlet"),
        ({"ensemble": "npt"}, {}, "langevin-middle"),
        ({}, {"kind": "nose-hoover"}, "velocity-verlet"),
        ({"kind": "velocity-verlet"}, {"kind": "andersen"}, "velocity-verlet"),
        ({"kind": "langevin-middle"}, {"kind": "langevin"}, "langevin-middle"),
    ],
)
def test_the_kind_of_integrator_follows_and_is_stated(
    tmp_path: Path, integrator: Any, thermostat: Any, kind: str
) -> None:
    settings = read(tmp_path, HEAD + "[run]\nsteps = 1\n")
    config = build_config({**settings, "integrator": integrator, "thermostat": thermostat})
    assert config.integrator.kind == config.make_integrator().kind == kind
    assert f'kind = "{kind}"' in config.as_toml(tmp_path)
    assert build_config(read(tmp_path, config.as_toml(tmp_path))) == config


@pytest.mark.parametrize(
    ("integrator", "thermostat", "message"),
    [
        ({"kind": "velocity-verlet"}, {}, "'velocity-verlet' keeps no temperature"),
        ({"kind": "langevin-middle"}, {"kind": "andersen"}, "leave out the thermostat 'andersen'"),
        ({"kind": "langevin-middle", "ensemble": "nve"}, {}, "which the ensemble nve does not"),
        ({"kind": "leapfrog"}, {}, "kind"),
        ({"ensemble": "nve", "friction": 1}, {}, "the ensemble nve has no friction"),
        ({"friction": 1}, {"kind": "andersen"}, "the thermostat 'andersen' has no friction"),
    ],
)
def test_a_kind_of_integrator_that_does_not_fit_is_refused(
    tmp_path: Path, integrator: Any, thermostat: Any, message: str
) -> None:
    settings = read(tmp_path, HEAD + "[run]\nsteps = 1\n")
    with pytest.raises(QuiltError, match=message):
        build_config({**settings, "integrator": integrator, "thermostat": thermostat})


def test_no_section_lists_what_an_integrator_has() -> None:
    """[integrator] has what its classes declare."""
    assert {"friction", "timestep", "long_range_every", "kind"} <= setting_fields(
        "integrator", Config
    ).keys()
