# SPDX-License-Identifier: Apache-2.0
"""Configurations: TOML and flags, defaults, round trips, and messages for every kind of mistake."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args

import numpy as np
import pytest
import tomli_w
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from quiltmd import (
    LangevinMiddle,
    Nonbonded,
    NoseHooverChain,
    QuiltError,
    VelocityRescaling,
    VelocityVerlet,
)
from quiltmd.description.barostats import BAROSTATS
from quiltmd.description.settings import settings_only_with
from quiltmd.description.thermostats import THERMOSTATS
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.running.config import Config, build_config, merge, read_config, read_resolved
from quiltmd.running.setting_fields import defaults, fields_of, setting_fields
from quiltmd.running.unused import unused_settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GUIDE = Path(__file__).parents[2] / "docs" / "user" / "configuration.md"
MINIMAL: dict[str, Any] = {
    "system": {"topology": "a.prmtop", "coordinates": "a.inpcrd"},
    "run": {"steps": 10},
    "output": {"dir": "out"},
}


def changed(section: str, **keys: Any) -> dict[str, Any]:
    return merge(MINIMAL, {(section, key): value for key, value in keys.items()})


def test_defaults() -> None:
    config = build_config(MINIMAL)
    assert config.nonbonded == Nonbonded()
    assert config.integrator.build() == LangevinMiddle()
    assert config.system.topology == Path.cwd() / "a.prmtop"


def test_nve() -> None:
    config = build_config(changed("integrator", ensemble="nve", timestep=0.001))
    assert config.integrator.build() == VelocityVerlet(timestep=0.001)


def test_velocity_rescaling() -> None:
    """Integrator and thermostat share temperature and seed; a run without the section has none."""
    settings = changed("integrator", temperature=310.0, seed=4, timestep=0.001)
    settings["thermostat"] = {"kind": "velocity-rescaling", "time_constant": 0.2, "every": 5}
    config = build_config(settings)
    assert config.integrator.build(config.thermostat) == VelocityVerlet(timestep=0.001)
    assert config.thermostat.build(config.integrator) == VelocityRescaling(
        310.0, 0.2, seed=4, every=5
    )
    assert config.physics(np.eye(3) * 4.0)["thermostat.time_constant"] == 0.2
    without = build_config(MINIMAL)
    assert without.thermostat.build(without.integrator) is None


def test_nose_hoover_chain() -> None:
    """It has no seed; the length of the chain is a setting of no other thermostat."""
    settings = changed("integrator", temperature=310.0, seed=4)
    settings["thermostat"] = {"kind": "nose-hoover", "time_constant": 0.2, "chain_length": 4}
    config = build_config(settings)
    assert config.thermostat.build(config.integrator) == NoseHooverChain(310.0, 0.2, chain_length=4)
    assert config.physics(np.eye(3) * 4.0)["thermostat.chain_length"] == 4


MESH = {"pme_alpha": 3.0, "pme_grid": (32, 32, 32)}
UNUSED: list[tuple[dict[str, Any], str]] = [
    ({"barostat": {"pressure": 1.0}}, "the ensemble nvt has no barostat: leave out pressure of"),
    ({"thermostat": {"time_constant": 1.0}}, "'langevin' has the friction of .*time_constant of"),
    (
        {"thermostat": {"kind": "berendsen", "chain_length": 3}},
        "'berendsen' has no chain_length: leave out chain_length of .* or choose nose-hoover",
    ),
    ({"thermostat": {"every": 10}}, "'langevin' has the friction of .*leave out every of"),
    ({"solvent": {"dielectric": 78.5}}, "no implicit solvent: .* dielectric of .*, or choose"),
    ({"integrator": {"annealing_every": 200}}, "nothing is annealed: leave out annealing_every"),
    (
        {"integrator": {"ensemble": "nve"}, "thermostat": {"kind": "langevin"}},
        "the ensemble nve has no thermostat",
    ),
    ({"integrator": {"ensemble": "nve", "friction": 1.0}}, "the ensemble nve has no friction"),
    (
        {"integrator": {"friction": 1.0}, "thermostat": {"kind": "velocity-rescaling"}},
        "'velocity-rescaling' has no friction",
    ),
    (
        {
            "integrator": {"ensemble": "npt"},
            "barostat": {"kind": "monte-carlo", "time_constant": 5.0},
        },
        "the barostat 'monte-carlo' has no time_constant",
    ),
    ({"integrator": {"ensemble": "npt"}, "barostat": {"annealing_every": 200}}, "is annealed"),
    (
        {"restraints": {"annealing": [[0, 1]]}},
        "no restraints: leave out annealing of",
    ),
    (
        {
            "restraints": {"annealing_every": 5},
            "restraint": [{"kind": "position", "select": "all", "k": 1.0}],
        },
        "strength of restraints stays: leave out",
    ),
    ({"nonbonded": {"method": "cutoff", "pme_order": 4}}, "cutoff has no PME: leave out pme_order"),
    ({"nonbonded": {"method": "no-cutoff", "pme_tolerance": 1e-5}}, "leave out pme_tolerance"),
    ({"nonbonded": {"method": "cutoff", "pme_tolerance": 5e-4}}, "leave out pme_tolerance of"),
    (
        {"nonbonded": {"method": "cutoff"}, "integrator": {"long_range_every": 2}},
        "no PME: leave out long_range_every",
    ),
    ({"nonbonded": MESH | {"pme_tolerance": 1e-5}}, "pme_grid replaces pme_tolerance"),
    ({"nonbonded": MESH | {"pme_tolerance": 5e-4}}, "takes its place: leave out pme_tolerance"),
    ({"nonbonded": {"dielectric": 78.3}}, "pme has no reaction field: leave out dielectric of"),
    (
        {"run": {"steps": 1, "minimize_iterations": 200}},
        "nothing is minimised: leave out minimize_",
    ),
    (
        {"output": {"dir": "x", "log_every": 0, "log_terms": False}},
        "no log: leave out log_terms of",
    ),
]


@pytest.mark.parametrize(("sections", "because"), UNUSED)
def test_settings_without_a_use_are_refused(sections: dict[str, Any], because: str) -> None:
    """At their default values too; the files of runs, which state defaults, leave them out."""
    with pytest.raises(QuiltError, match=because):
        build_config(MINIMAL | sections)


def test_settings_named_after_a_method_need_it() -> None:
    """Those of Lennard-Jones PME need PME of charges as well."""
    names = list(fields_of(Nonbonded))
    pme = settings_only_with(Nonbonded, "method", "pme")
    lj_pme = settings_only_with(Nonbonded, "lennard_jones", "pme")
    assert {name for name in names if "pme_" in name} | {"lennard_jones", "coulomb_cutoff"} == set(
        pme
    )
    assert [name for name in names if name.startswith("lj_pme_")] == list(lj_pme)
    fmm = settings_only_with(Nonbonded, "method", "fmm")
    assert [name for name in names if name.startswith("fmm_")] == list(fmm)
    assert settings_only_with(Nonbonded, "method", "cutoff") == ()


@pytest.mark.parametrize("setting", [{"temperature": 0.0}, {"annealing": [[0, 300], [10, 0]]}])
def test_a_chain_needs_a_temperature(setting: dict[str, Any]) -> None:
    with pytest.raises(QuiltError, match="'nose-hoover' needs temperatures above 0 K"):
        build_config(MINIMAL | {"integrator": setting, "thermostat": {"kind": "nose-hoover"}})


@pytest.mark.parametrize("ensemble", ["nve", "nvt", "npt"])
def test_the_resolved_copy_has_what_has_a_use(tmp_path: Path, ensemble: str) -> None:
    config = build_config(changed("integrator", ensemble=ensemble))
    (tmp_path / "config.toml").write_text(config.as_toml(tmp_path))
    found = read_config(tmp_path / "config.toml")
    assert ("barostat" in found) == (ensemble == "npt")
    assert ("friction" in found["integrator"]) == ("thermostat" in found) == (ensemble != "nve")
    assert found["solvent"] == {"model": "none"}
    assert build_config(found) == config


def test_copies_of_earlier_versions_are_read(tmp_path: Path) -> None:
    """They have the defaults of all settings."""
    everything = MINIMAL | {
        "thermostat": {"kind": "langevin", "time_constant": 1.0, "every": 10},
        "barostat": {"pressure": 1.0, "compressibility": [4.5e-5], "annealing_every": 200},
        "integrator": {"friction": 1.0, "annealing_every": 200},
    }
    (tmp_path / "config.toml").write_text(tomli_w.dumps(everything))
    (tmp_path / "minimal.toml").write_text(tomli_w.dumps(MINIMAL))
    minimal = build_config(read_config(tmp_path / "minimal.toml"))
    assert build_config(read_resolved(tmp_path / "config.toml")) == minimal
    everything["barostat"]["pressure"] = 2.0
    (tmp_path / "config.toml").write_text(tomli_w.dumps(everything))
    with pytest.raises(QuiltError, match="leave out pressure of"):
        build_config(read_resolved(tmp_path / "config.toml"))


@pytest.mark.parametrize(
    "section",
    [
        {"nonbonded": {"cutoff": True}},
        {"restraint": [{"kind": "position", "select": "all", "k": True}]},
        {"restraint": [{"kind": "position", "select": "all", "k": [1.0, True, 2.0]}]},
    ],
)
def test_truth_values_are_no_numbers(section: dict[str, Any]) -> None:
    with pytest.raises(QuiltError, match=r"must be a number"):
        build_config(changed("integrator") | section)


@pytest.mark.parametrize(("ensemble", "kind"), [("nve", VelocityVerlet), ("nvt", LangevinMiddle)])
def test_impulses_are_part_of_the_physics(ensemble: str, kind: Any) -> None:
    """They reach the integrator, and a resumed run must keep them."""
    config = build_config(changed("integrator", ensemble=ensemble, long_range_every=2))
    assert config.integrator.build() == kind(long_range_every=2)
    assert config.physics(np.eye(3) * 4.0)["integrator.long_range_every"] == 2


@pytest.mark.parametrize(("given", "patch_reach"), [(2, 2), ("2", 2), ("x", "x"), (1, 1)])
def test_how_far_computes_reach_is_part_of_the_physics(given: Any, patch_reach: Any) -> None:
    config = build_config(changed("run", patch_reach=given))
    assert config.execution().patch_reach == patch_reach
    assert config.physics(np.eye(3) * 4.0)["run.patch_reach"] == str(patch_reach)
    assert defaults(Config)["run.patch_reach"] == build_config(MINIMAL).run.patch_reach


@pytest.mark.parametrize("name", ['odd "name" \\ ü', "a\x7fb", "tab\tnewline\n"])
def test_the_resolved_copy_reads_back(tmp_path: Path, name: str) -> None:
    settings = changed("nonbonded", pme_alpha=3.0, pme_grid=[32, 36, 40], cutoff=0.8)
    settings["output"]["dir"] = str(tmp_path / name)
    config = build_config(settings)
    (tmp_path / "config.toml").write_text(config.as_toml(tmp_path))
    again = build_config(read_config(tmp_path / "config.toml"))
    assert again == config
    assert again.physics(np.eye(3) * 4.0) == config.physics(np.eye(3) * 4.0)


def test_paths_count_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('[system]\ntopology = "../x.prmtop"\n')
    settings = read_config(tmp_path / "run.toml")
    assert settings["system"]["topology"] == str(tmp_path.parent / "x.prmtop")


def test_flags_win_over_the_file() -> None:
    settings = merge(MINIMAL, {("run", "steps"): 20, ("run", "ranks"): None})
    assert build_config(settings).run.steps == 20
    assert MINIMAL["run"]["steps"] == 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (changed("nonbonded", cutof=1.0), r"\[nonbonded\] cutof .*did you mean 'cutoff'"),
        (changed("integrator", temperatur=1.0), r"\[integrator\] temperatur .*'temperature'"),
        (changed("run", cutoff=1.0), r"\[run\] cutoff .*it belongs in \[nonbonded\]"),
        (changed("outputs", dir="x"), r"\[outputs\] is not a known section.*'output'"),
        (changed("nonbonded", cutoff=-1), r"\[nonbonded\] cutoff: .*greater than 0.*-1"),
        (changed("nonbonded", cutoff="x"), r"\[nonbonded\] cutoff: must be a number, in nm.*'x'"),
        (changed("nonbonded", cutoff=float("nan")), r"\[nonbonded\] cutoff: .*finite"),
        (changed("nonbonded", pme_order=6), r"\[nonbonded\] pme_order: .*4 or 5"),
        (changed("nonbonded", pme_alpha=3.0), "pme_alpha and pme_grid belong together"),
        (changed("nonbonded", pme_alpha=3.0, pme_grid=[1, 8, 8]), "at least 8 points"),
        (changed("integrator", ensemble="nph"), r"\[integrator\] ensemble: .*'nvt' or 'npt'"),
        (changed("integrator", long_range_every=0), r"long_range_every: .*equal to 1.*0"),
        (changed("run", steps=1.5), r"\[run\] steps: .*integer"),
        (changed("run", steps=-1), r"\[run\] steps: .*0"),
        ({"system": MINIMAL["system"]}, r"section \[run\] is missing; it needs steps"),
        ({**MINIMAL, "system": {"topology": "x"}}, r"\[system\] coordinates is missing"),
        ({**MINIMAL, "run": 3}, r"\[run\]"),
        (changed("output", dir="a\0b"), r"\[output\] dir: a path has no zero bytes"),
    ],
)
def test_mistakes_get_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(QuiltError, match=message) as caught:
        build_config(settings, "run.toml")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("run.toml: ")


def test_every_mistake_is_named() -> None:
    settings = merge(MINIMAL, {("run", "stepps"): 1, ("nonbonded", "cutof"): 1})
    with pytest.raises(QuiltError, match=r"cutof.*stepps"):
        build_config(settings)


def test_bad_toml(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("[system\n")
    with pytest.raises(QuiltError, match=r"run.toml: not valid TOML.*line 1"):
        read_config(tmp_path / "run.toml")


def test_an_unknown_control_file_is_not_called_toml(tmp_path: Path) -> None:
    (tmp_path / "run.conf").write_text("source others.conf\n")
    with pytest.raises(QuiltError, match=r"not a control file of another program, and not valid"):
        read_config(tmp_path / "run.conf")


def test_too_large_a_cutoff_for_the_box() -> None:
    with pytest.raises(QuiltError, match=r"cutoff of 0.9 nm is too large.*0.85 nm"):
        Nonbonded().resolve(np.diag([3.0, 1.7, 3.0]))


@pytest.mark.parametrize(
    ("flags", "ranks"),
    [
        ({"device": "ranks:worker:cpu,worker:cpu"}, 2),
        ({"device": "ranks:ssh:a/cuda:0,ssh:a/cuda:1,ssh:b/cuda:0,ssh:b/cuda:1"}, 4),
        ({"device": "worker:cuda:0,1"}, 2),
        ({"device": "cpu"}, 3),
        ({}, 3),
    ],
)
def test_a_device_given_as_an_option_says_how_many_ranks_there_are(
    flags: dict[str, str], ranks: int
) -> None:
    """Whatever the configuration says, as that of a run that is profiled or resumed."""
    written = merge(MINIMAL, {("run", "ranks"): 3, ("run", "device"): "cpu"})
    given: dict[tuple[str, str], Any] = {("run", key): value for key, value in flags.items()}
    config = build_config(merge(written, given))
    assert config.execution().resolve().ranks == ranks


def test_a_device_and_another_number_of_ranks_given_as_options_are_refused() -> None:
    given = {("run", "device"): "ranks:worker:cpu,worker:cpu", ("run", "ranks"): 3}
    config = build_config(merge(MINIMAL, given))
    with pytest.raises(QuiltError, match="for 3 rank"):
        config.execution().resolve()


def test_the_guide_has_the_defaults() -> None:
    """Numbers, words and lists that its table gives are those of the declarations."""
    known = {place: value for place, value in defaults(Config).items() if value is not None}
    said, section = 0, ""
    for line in GUIDE.read_text().split("## Trajectories")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if heading := re.fullmatch(r"\*\*(\w+)\*\*", cells[0]):
            section = heading[1]
        keys = re.findall(r"`(\w+)`", cells[0])
        if not keys or len(cells) != 3 or f"{section}.{keys[0]}" not in known:
            continue
        texts = cells[1].split(", ") if len(keys) > 1 else [cells[1]]
        for key, text in zip(keys, texts, strict=False):
            with suppress(tomllib.TOMLDecodeError):
                assert tomllib.loads(f"value = {text}")["value"] == known[f"{section}.{key}"], key
                said += 1
    assert said > 50


def _has_whole_numbers(kind: Any) -> bool:
    return kind is int or any(map(_has_whole_numbers, get_args(kind)))


@pytest.mark.parametrize("config", [Config, ExchangeConfig])
def test_whole_numbers_have_upper_limits(config: type[BaseModel]) -> None:
    """So that none is too large for the core; frames, states and grids are checked elsewhere."""
    others = {"frame", "state", "pme_grid", "lj_pme_grid", "fmm_grid"}
    numbers = [
        (field.annotation, *field.metadata)
        for section in config.model_fields
        for key, field in setting_fields(section, config).items()
        if _has_whole_numbers(field.annotation) and key not in others
    ]
    assert len(numbers) > 10
    for kind, *limits in numbers:
        with pytest.raises(ValidationError, match="less than"):
            TypeAdapter(Annotated[(kind, *limits, None)]).validate_python(10**30)


def test_a_thermostat_with_a_setting_that_integrators_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused in [integrator], with the section that has it."""

    @dataclass(frozen=True)
    class Kicks:
        coupling: ClassVar[str] = "friction"
        friction: float = 1.0

    monkeypatch.setitem(THERMOSTATS, "kicks", Kicks)
    found = unused_settings({"thermostat": {"kind": "kicks"}}, Config)
    (of_friction,) = [one for one in found if one.keys == ("friction",)]
    assert of_friction.section == "integrator"
    assert of_friction.remedy == "give friction of [thermostat]"


@pytest.mark.parametrize("section", ["thermostat", "barostat"])
def test_no_kind_accepts_a_setting_of_another(section: str) -> None:
    """Each setting of a section is one of the kind, or refused by name; also those of new kinds."""
    kinds = {"thermostat": THERMOSTATS, "barostat": BAROSTATS}[section]
    always = {"kind", "pressure", "annealing", "annealing_every"}
    settings = set(setting_fields(section, Config)) - always
    ensemble = {"thermostat": "nvt", "barostat": "npt"}[section]
    refused = 0
    for kind, choice in kinds.items():
        for key in settings - set(fields_of(choice)):
            (value,) = {
                field.default
                for other in kinds.values()
                for field in dataclass_fields(other)
                if field.name == key
            }
            with pytest.raises(QuiltError, match=f"leave out {key} "):
                build_config(
                    changed("integrator", ensemble=ensemble) | {section: {"kind": kind, key: value}}
                )
            refused += 1
    assert refused > 0
