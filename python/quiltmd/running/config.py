# SPDX-License-Identifier: Apache-2.0
"""The configuration of a run: one TOML file of sections, or the same by flags.

pydantic checks types and ranges; this file adds one-line messages and the nearest known key
for a misspelt one.  Unknown keys are errors, since a misspelt setting that is
silently ignored spoils a simulation without a trace.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import tomli_w
from numpy.typing import NDArray
from pydantic import (
    PrivateAttr,
    ValidationError,
    model_validator,
)

from ..description.dynamics import resolve_dynamics
from ..description.external_force import ExternalForce
from ..description.heat_baths import BathGroup
from ..description.integrators import Integrator
from ..description.metadynamics import Metadynamics
from ..description.nonbonded import Nonbonded
from ..description.restraints import Restraint
from ..description.system import System
from ..description.thermostats import Thermostat
from ..engine.execution import PATCH_REACH_BY_NAME, Execution
from ..engine.external_factory import ExternalFactory
from ..engine.places import listed_ranks
from ..engine.worker_settings import Workers
from ..errors import QuiltError
from ..outputs.files import read_file, reading
from .alchemy_section import AlchemySection
from .annealing import Annealing, Condition, Curve, TemperaturesOfGroups
from .custom_section import CustomSection
from .dynamics_sections import (
    BarostatSection,
    BathSection,
    IntegratorSection,
    ThermostatSection,
    check_baths,
    check_integrator,
    kind_of_integrator,
)
from .external_section import ExternalSection
from .faults import describe
from .imd_section import ImdSection
from .input_hashes import files_beside
from .older_names import with_present_names
from .output_sections import TRAJECTORY, TRAJECTORY_EVERY, OutputSection, TrajectorySection
from .paths import make_absolute
from .reporter_section import ReporterSection
from .restraints_section import RestraintsSection
from .run_section import RunSection
from .second_section import SecondSection
from .section import Section
from .setting_fields import (
    as_json,
    as_spelt,
    defaults,
    kept_settings,
    setting_fields,
    settings_of,
    several_of,
    single_sections,
)
from .system_sections import SolventSection, SystemSection
from .unused import Unused, unused_settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPARTITIONED_HYDROGEN_MASS = 3.024  # amu: three times hydrogen's, as Hopkins et al. (2015) propose
SECOND = "second/"  # begins names of inputs of [alchemy.second]


class Config(Section):
    """A whole run."""

    system: SystemSection
    nonbonded: Nonbonded = Nonbonded()
    solvent: SolventSection = SolventSection()
    integrator: IntegratorSection = IntegratorSection()
    thermostat: ThermostatSection = ThermostatSection()
    barostat: BarostatSection = BarostatSection()
    restraints: RestraintsSection = RestraintsSection()
    run: RunSection
    output: OutputSection
    workers: Workers = Workers()
    trajectory: tuple[TrajectorySection, ...] = ()
    restraint: tuple[Restraint, ...] = ()
    bath: tuple[BathSection, ...] = ()
    reporter: tuple[ReporterSection, ...] = ()
    alchemy: AlchemySection | None = None
    metadynamics: Metadynamics | None = None
    custom: tuple[CustomSection, ...] = ()
    external: tuple[ExternalSection, ...] = ()
    imd: ImdSection | None = None
    _stated: frozenset[str] = PrivateAttr(default=frozenset())  # keys given in [nonbonded]

    def model_post_init(self, context: Any) -> None:
        """Notes which keys of [nonbonded], a dataclass that does not know them, were given."""
        self._stated = context or frozenset()

    @model_validator(mode="after")
    def _settle_trajectories(self) -> Config:
        """By default trajectory.dcd is written only if there is no other trajectory."""
        names = [Path(section.file).name for section in self.trajectory]
        for name in names:
            if names.count(name) > 1 or name == TRAJECTORY:
                raise ValueError(
                    f"two trajectories have the name {name}"
                    + (" (that of trajectory_every)" if name == TRAJECTORY else "")
                )
        if self.output.trajectory_every is None:
            every = 0 if self.trajectory else TRAJECTORY_EVERY
            output = self.output.model_copy()  # which does not count it as given
            object.__setattr__(output, "trajectory_every", every)
            object.__setattr__(self, "output", output)
        return self

    @model_validator(mode="after")
    def _choose_integrator(self) -> Config:
        """The default of the kind follows from ensemble and thermostat."""
        if self.integrator.kind is None:
            kind = kind_of_integrator(self.integrator.ensemble, self.thermostat.kind)
            integrator = self.integrator.model_copy()  # which does not count it as given
            object.__setattr__(integrator, "kind", kind)
            object.__setattr__(self, "integrator", integrator)
        check_integrator(self.integrator, self.thermostat)
        return self

    @model_validator(mode="after")
    def _nothing_is_ignored(self) -> Config:
        """Refuses settings without effect in this run."""
        for unused in self._unused():
            section = getattr(self, unused.section)
            stated = unused.among(getattr(section, "model_fields_set", self._stated))
            if stated:
                names = ", ".join(sorted(stated))
                of = f"leave out {names} of [{unused.section}]"
                raise ValueError(f"{unused.why}: {of}, or {unused.remedy}")
        return self

    @model_validator(mode="after")
    def _parts_go_together(self) -> Config:
        """Integrator, thermostat and barostat."""
        try:
            barostat = self.barostat.build(self.integrator)
            resolve_dynamics(self.make_integrator(), self.make_thermostat(), barostat)
        except QuiltError as error:
            raise ValueError(str(error)) from None
        check_baths(self.bath, self.integrator, barostat)
        return self

    @model_validator(mode="after")
    def _suits_the_states(self) -> Config:
        if self.alchemy is not None:
            self.alchemy.check_run(self.run.steps, self.integrator, bool(self.bath))
        return self

    @model_validator(mode="after")
    def _bath_is_warm(self) -> Config:
        thermostat = self.make_thermostat()
        groups = [kelvin for bath in self.bath for _, kelvin in bath.points()]
        coldest = min(groups or [self.integrator.coldest()])
        if thermostat is not None and thermostat.warm and coldest <= 0:
            raise ValueError(f"the thermostat '{thermostat.kind}' needs temperatures above 0 K")
        return self

    def make_groups(self) -> tuple[BathGroup, ...]:
        """Groups of atoms that have heat baths of their own."""
        return tuple(bath.build() for bath in self.bath)

    def make_integrator(self) -> Integrator:
        """The integrator, with the heat baths that it has."""
        return self.integrator.build(self.make_groups())

    def make_thermostat(self) -> Thermostat | None:
        """The thermostat, with the heat baths that it has."""
        return self.thermostat.build(self.integrator, self.make_groups())

    def make_external(self) -> list[ExternalForce | ExternalFactory]:
        """External forces, with those of viewers."""
        made: list[ExternalForce | ExternalFactory] = [one.build() for one in self.external]
        of_viewers = None if self.imd is None else self.imd.viewer_force()
        return made if of_viewers is None else [*made, of_viewers]

    def _unused(self) -> Iterator[Unused]:
        names = single_sections(type(self))
        sections = {name: dict(settings_of(getattr(self, name))) for name in names}
        sections.pop("exchange", None)  # which its configuration sees to
        choices = {**sections, "restraint": self.restraint, "bath": self.bath}
        return unused_settings(choices, type(self))

    def __eq__(self, other: object) -> bool:
        """Whether all settings agree, be they stated or defaults."""
        return isinstance(other, Config) and dict(self) == dict(other)

    def annealing(self) -> Annealing:
        """The conditions that change over time."""
        integrator = self.integrator
        sections: dict[Condition, Any] = {
            "temperature": integrator,
            "pressure": self.barostat,
            "restraints": self.restraints,
        }
        curves: list[Curve | TemperaturesOfGroups] = [
            Curve(condition, section.annealing, section.annealing_every)
            for condition, section in sections.items()
            if section.annealing is not None
        ]
        if any(bath.annealing for bath in self.bath):
            points_of_groups = tuple(bath.points() for bath in self.bath)
            curves.append(TemperaturesOfGroups(points_of_groups, integrator.annealing_every))
        return Annealing(tuple(curves), integrator.timestep)

    def trajectories(self) -> dict[str, TrajectorySection]:
        """All trajectories of the run, by the names of their files."""
        found = {section.file: section for section in self.trajectory}
        if self.output.trajectory_every:
            every = self.output.trajectory_every
            found[TRAJECTORY] = TrajectorySection(file=TRAJECTORY, every=every)
        return found

    def file_names(self) -> list[str]:
        """Names of the files that trajectories and reporters write into the folder of the run."""
        return [*self.trajectories(), *(name for one in self.reporter for name in one.files)]

    def outputs(self) -> dict[str, Any]:
        """Settings that decide what is in log and trajectories; the same run must keep them."""
        settings = {f"output.{key}": value for key, value in kept_settings(self.output).items()}
        for section in self.trajectory:
            kept = kept_settings(section)
            settings[f"trajectory.{kept.pop('file')}"] = kept
        return settings

    def execution(self) -> Execution:
        """Where the simulation runs."""
        run = self.run
        return Execution(
            run.device,
            run.ranks,
            run.threads,
            run.balance,
            run.transport,
            run.mesh,
            PATCH_REACH_BY_NAME[run.patch_reach],
            workers=self.workers,
            hosts=run.hosts,
            grain=run.grain,
        )

    def physics(self, box: NDArray[np.float64] | None) -> dict[str, Any]:
        """Settings that decide the trajectory, as "section.key"; the same run must keep them.

        What is left to the program is as it is chosen for a box (3, 3), nm, or for none.
        """
        chosen = as_json(self.nonbonded.resolve(box))
        settings: dict[str, Any] = {}
        for name in type(self).model_fields.keys() - {"output", "trajectory"}:
            section = getattr(self, name)
            if isinstance(section, tuple):
                every = enumerate(section, 1)
                settings |= {f"{name}.{number}": kept_settings(one) for number, one in every}
            elif section is not None:
                kept = kept_settings(section)
                settings |= {f"{name}.{key}": value for key, value in kept.items()}
        of_box = {f"nonbonded.{key}": value for key, value in chosen.items()}
        return settings | {key: of_box[key] for key in settings.keys() & of_box.keys()}

    def open_settings(self) -> set[str]:
        """Settings of `physics` that are random, or follow from the inputs or the initial box."""
        unstated = {key for key, _ in settings_of(self.nonbonded)} - self._stated
        of_box = set()
        if self.integrator.ensemble == "npt":  # see state_mesh
            of_box = {"pme_tolerance", "lj_pme_tolerance", "fmm_tolerance"}
        left = {"integrator.seed", *(f"nonbonded.{key}" for key in unstated | of_box)}
        return left if self.barostat.every is not None else left | {"barostat.every"}

    def following(self, system: System) -> Config:
        """A copy with the nonbonded settings that the inputs state, but for those given here."""
        return self if system.nonbonded is None else self.over(system.nonbonded)

    def over(self, nonbonded: Nonbonded) -> Config:
        """A copy with these nonbonded settings, but for those given here."""
        given: dict[str, Any] = {key: getattr(self.nonbonded, key) for key in self._stated}
        return self.model_copy(update={"nonbonded": nonbonded.overridden(given)})

    def input_files(self) -> dict[str, Path]:
        """Every input by a name of its own: topology, coordinates, parameters-1, ..."""
        system = self.system
        numbered = {f"parameters-{k}": file for k, file in enumerate(system.parameters, start=1)}
        optional = {"velocities": system.velocities, "reference": system.reference}
        given = {name: file for name, file in optional.items() if file is not None}
        second = {} if self.second is None else self.second.input_files()
        given |= {f"{SECOND}{name}": file for name, file in second.items()}
        return {"topology": system.topology, "coordinates": system.coordinates, **given, **numbered}

    def included_files(self) -> dict[str, Path]:
        """Files that topologies include from their own folders, by their names there."""
        found = files_beside(self.system.topology, self.system.defines)
        second = {} if self.second is None else self.second.included_files()
        return found | {f"{SECOND}{name}": file for name, file in second.items()}

    def with_inputs(self, files: dict[str, Path]) -> Config:
        """A copy with other paths to the inputs, named as by `input_files`."""
        single = ("topology", "coordinates", "velocities", "reference")
        paths: dict[str, Any] = {name: files[name] for name in single if name in files}
        paths["parameters"] = tuple(
            file for name, file in files.items() if name.startswith("parameters-")
        )
        changed: dict[str, Section] = {"system": self.system.model_copy(update=paths)}
        if self.second is not None:
            assert self.alchemy is not None
            others = {
                name.removeprefix(SECOND): file
                for name, file in files.items()
                if name.startswith(SECOND)
            }
            second = self.second.with_inputs(others)
            changed["alchemy"] = self.alchemy.model_copy(update={"second": second})
        return self.model_copy(update=changed)

    @property
    def second(self) -> SecondSection | None:
        """The molecule that one of the system turns into."""
        return None if self.alchemy is None else self.alchemy.second

    def as_toml(self, folder: Path) -> str:
        """All settings that have a use, defaults too, for a file in that folder.

        Inputs inside the folder get relative paths, so that it can be moved.
        """
        inside = {
            name: file.relative_to(folder) if folder in file.parents else file
            for name, file in self.input_files().items()
        }
        lines = ["# The configuration of this run; read again by --resume.\n"]
        for name, settings in self.with_inputs(inside).used():
            several = isinstance(getattr(self, name), tuple)
            tables = {key: value for key, value in settings.items() if isinstance(value, dict)}
            plain = {key: value for key, value in settings.items() if key not in tables}
            lines += [f"\n[[{name}]]\n" if several else f"\n[{name}]\n", tomli_w.dumps(plain)]
            lines += [tomli_w.dumps({name: {key: value}}) for key, value in tables.items()]
        return "".join(lines)

    def used(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The settings that are set and have a use, by section; several of a name if it has."""
        unused = list(self._unused())
        for name in type(self).model_fields:
            section = getattr(self, name)
            useless = [one for one in unused if one.section == name]
            for one in several_of(section):
                settings = {
                    key: as_json(value)
                    for key, value in settings_of(one)
                    if value is not None and not any(u.among([key]) for u in useless)
                }
                if settings:
                    yield name, settings


AnyConfig = TypeVar("AnyConfig", bound=Config)


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings of a TOML file as a plain dictionary, its paths made absolute.

    Relative paths count from the folder of the file.
    """
    path = Path(path)
    with reading(path):
        data = read_file(path)
    try:
        settings = tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        kinds = "" if path.suffix == ".toml" else "not a control file of another program, and "
        raise QuiltError(f"{path}: {kinds}not valid TOML: {error}") from None
    settings = with_present_names(settings, str(path))
    folder = path.absolute().parent
    make_absolute(settings, folder)
    return settings


def read_resolved(path: Path) -> dict[str, Any]:
    """The settings in the folder of a run.

    Earlier versions stated defaults without effect there; these are left out.
    """
    settings = as_spelt(read_config(path), Config)
    known = defaults(Config)
    sections = {name: value for name, value in settings.items() if isinstance(value, dict)}
    for unused in unused_settings(settings, Config):
        section = sections.get(unused.section, {})
        for key in unused.among(list(section)):
            if section[key] == known[f"{unused.section}.{key}"]:
                del section[key]
    return settings


def merge(settings: dict[str, Any], flags: dict[tuple[str, str], Any]) -> dict[str, Any]:
    """Settings with the given flags (section, key) put in; None is a flag not given.

    A device that lists its ranks also overrides the number of ranks in `settings`.
    """
    merged = {
        key: dict(value) if isinstance(value, dict) else value for key, value in settings.items()
    }
    for (section, key), value in flags.items():
        if value is not None:
            merged.setdefault(section, {})[key] = value
    device = flags.get(("run", "device"))
    if device is not None and flags.get(("run", "ranks")) is None and _lists_ranks(device):
        merged["run"].pop("ranks", None)
    return merged


def _lists_ranks(device: str) -> bool:
    with suppress(ValueError):  # not a device: `build_config` says so, with all other faults
        return listed_ranks(device) > 0
    return False


def build_config(settings: dict[str, Any], source: str = "") -> Config:
    """Checks settings and fills in defaults; QuiltError names every fault in one line.

    Parameters
    ----------
    settings:
        Sections and their keys.
    source:
        Source of the settings, the beginning of the message.
    """
    return build_config_of(Config, settings, source)


def build_config_of(kind: type[AnyConfig], settings: dict[str, Any], source: str) -> AnyConfig:
    """The same of a configuration with further sections."""
    settings = as_spelt(settings, kind)
    nonbonded = settings.get("nonbonded", {})
    stated = frozenset(nonbonded) if isinstance(nonbonded, dict) else frozenset()
    try:
        config = kind.model_validate(settings, context=stated)
    except ValidationError as error:
        known = {name: setting_fields(name, kind) for name in kind.model_fields}
        faults = "; ".join(describe(fault, known) for fault in error.errors())
        raise QuiltError(f"{source}: {faults}" if source else faults) from None
    return config
