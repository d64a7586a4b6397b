# SPDX-License-Identifier: Apache-2.0
"""Cached topologies: the same as when they were read, and never those of other files."""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from openmm import XmlSerializer, app

import quiltmd
from quiltmd import ImplicitSolvent, InputError, Nonbonded, QuiltWarning, System
from quiltmd.description.restraints import Held
from quiltmd.inputs import cache
from quiltmd.openmm.files import find_force_field
from quiltmd.reading.formats import Described
from quiltmd.running.config import build_config
from quiltmd.running.run_inputs import load_system

MAIN = """
[ defaults ]
1 2 yes 0.5 0.8333
#include "types.itp"
[ moleculetype ]
Ion 1
[ atoms ]
1 NA 1 NA NA 1 {charge}
#ifdef POSRES
[ position_restraints ]
1 1 1000 1000 1000
#endif
[ system ]
ions
[ molecules ]
Ion 3
"""
TYPES = "[ atomtypes ]\nNA 11 {mass} 0.0 A 0.3 0.4\n"


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cache that keeps whatever is read."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("QUILTMD_CACHE", str(folder))
    monkeypatch.setattr(cache, "_MIN_SECONDS", -1.0)
    return folder


@pytest.fixture
def ions(tmp_path: Path) -> Path:
    """A GROMACS topology, whose include lies beside it."""
    (tmp_path / "topol.top").write_text(MAIN.format(charge=1))
    (tmp_path / "types.itp").write_text(TYPES.format(mass=23))
    return tmp_path / "topol.top"


def load(topology: Path, **options: Any) -> tuple[System, bool]:
    """The system, and whether it is from the cache."""
    coordinates = topology.parent / "three.coor"
    coordinates.write_bytes(np.array([3], "<i4").tobytes() + np.arange(9.0).tobytes())
    said: list[str] = []
    system, _ = quiltmd.load(topology, coordinates, box=[3, 3, 3], say=said.append, **options)
    return system, bool(said)


def entries(cache_folder: Path) -> list[Path]:
    return sorted(cache_folder.iterdir()) if cache_folder.exists() else []


def assert_identical(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if is_dataclass(expected):
        for field in fields(expected):
            assert_identical(getattr(found, field.name), getattr(expected, field.name))
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert found.tobytes() == expected.tobytes()
    elif isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_identical(one, other)
    elif isinstance(expected, dict):
        assert_identical(tuple(found.items()), tuple(expected.items()))
    else:
        assert found == expected


def twice(file: Path, described: Described) -> Described:
    """What comes of the second time, when nothing is read any more."""
    said: list[str] = []
    assert cache.cached([str(file)], [], lambda: described, said.append) is described
    assert not said
    found = cache.cached([str(file)], [], lambda: pytest.fail("was read again"), said.append)
    assert "QUILTMD_CACHE=off" in said[0]
    return found


def a_described(atoms: int = 4, **fields: Any) -> Described:
    table = np.array([[1.0]])
    of_atoms: Any = [np.ones(atoms), np.linspace(-1, 1, atoms), np.zeros(atoms)]
    return Described(System.of(*of_atoms, table, table, **fields))


def test_every_field_comes_back(cache_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("content")
    given = a_described(
        nonbonded=Nonbonded(cutoff=1 / 3, pme_alpha=0.1 + 0.2, pme_grid=(20, 21, 24)),
        solvent=ImplicitSolvent("obc2", salt_concentration=0.1),
        born_radii=np.full(4, 0.15),
        born_screening=np.full(4, 0.8),
        bonds=[[0, 1]],
        bond_parameters=[[0.1, np.nextafter(3e5, 4e5)]],
    )
    held = Held(np.array([1], np.int32), np.array([9.0]), np.zeros(1), np.ones((1, 3)))
    given = Described(
        given.system, 2 * np.eye(3), np.float64(109.5), True, np.bool_(False), held, ("é", "b")
    )
    found = twice(file, given)
    assert isinstance(found.periodic, bool)
    assert (found.periodic, found.box_angle) == (False, 109.5)
    for field in fields(Described):
        if field.name not in ("periodic", "box_angle"):  # of which a reader may give NumPy's
            assert_identical(getattr(found, field.name), getattr(given, field.name))


def dataclasses_in(kind: Any) -> Iterator[type]:
    """Those that a type names, at any depth."""
    if isinstance(kind, type) and is_dataclass(kind):
        yield kind
        for part in get_type_hints(kind).values():
            yield from dataclasses_in(part)
    for part in get_args(kind):
        yield from dataclasses_in(part)


def test_every_class_that_is_written_can_be_read() -> None:
    """A class that is missing would make each load write an entry that none can read."""
    assert set(dataclasses_in(Described)) == set(cache._CLASSES.values())


def test_other_forms_of_pairs_come_back(cache_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("content")
    table = np.array([[1.5]])
    pairs = {"pair_form": "morse", "pair_tables": (table, 2 * table, 3 * table)}
    none = np.empty((0, 0))
    given = Described(System.of([1.0], [0.0], [0], none, none, **pairs))
    assert_identical(twice(file, given), given)


def test_custom_forces_come_back(cache_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("content")
    bond = quiltmd.CustomBond("k*(r-r0)^3", [[0, 1]], {"k": [2.0], "r0": 0.1}, "mine")
    pair = quiltmd.CustomPairs("s1*s2/r", 0.9, {"s": [1.0, 2.0]}, groups=[([0], [1])])
    given = Described(quiltmd.add_forces(System.of([1.0, 2.0]), bond, pair))
    assert_identical(twice(file, given), given)


@pytest.mark.parametrize("constraints", ["none", "h-bonds"])
def test_a_loaded_system_is_identical(
    alanine: tuple[Path, Path], cache_folder: Path, constraints: Any
) -> None:
    options: Any = {"constraints": constraints, "hydrogen_mass": 3.0}
    first, state = quiltmd.load(*alanine, **options)
    said: list[str] = []
    second, again = quiltmd.load(*alanine, say=said.append, **options)
    assert len(said) == 1
    assert_identical(second, first)
    assert_identical(again, state)
    energies = [quiltmd.Simulation(one, state, device="cpu").energies() for one in (first, second)]
    assert energies[0] == energies[1]


def test_a_run_says_so(
    alanine: tuple[Path, Path], cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"topology": str(alanine[0]), "coordinates": str(alanine[1])}
    settings = {"system": files, "run": {"steps": 1}, "output": {"dir": "out"}}
    config = build_config(settings)
    for lines in (0, 1):
        load_system(config)
        said = " ".join(capsys.readouterr().err.split())
        assert said.count("was loaded from the cache") == lines
        assert said.count("QUILTMD_CACHE=off reads it again") == lines


def test_options_are_part_of_the_key(alanine: tuple[Path, Path], cache_folder: Path) -> None:
    choices: list[Any] = [
        {"constraints": "none"},
        {"constraints": "h-bonds"},
        {"rigid_water": False},
        {"hydrogen_mass": 3.0},
        {"hydrogen_mass": 2.0},
    ]
    for options in choices:
        quiltmd.load(*alanine, say=pytest.fail, **options)
    assert len(entries(cache_folder)) == len(choices)


def test_the_order_of_files_is_part_of_the_key(cache_folder: Path, tmp_path: Path) -> None:
    """Of parameter files the last one holds."""
    files = [str(tmp_path / name) for name in "abc"]
    for file in files:
        Path(file).write_text("the same content")
    a, b, c = files
    described = a_described()
    for named in ([a, b, c], [a, c, b], [a, b, c, b], [a, b]):
        assert cache.cached(named, [], lambda: described, pytest.fail) is described
    assert len(entries(cache_folder)) == 4


def test_another_program_reads_again(
    ions: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [load(ions)[1] for _ in range(2)] == [False, True]
    monkeypatch.setattr(cache, "_program", lambda: ("0.2.0",))
    assert not load(ions)[1]


def test_a_changed_file_is_read_again(ions: Path, cache_folder: Path) -> None:
    load(ions)
    ions.write_text(MAIN.format(charge=2))
    system, was_cached = load(ions)
    assert (system.charges.tolist(), was_cached) == ([2, 2, 2], False)
    ions.write_text(MAIN.format(charge=1))
    system, was_cached = load(ions)
    assert (system.charges.tolist(), was_cached) == ([1, 1, 1], True)


def test_a_changed_include_is_read_again(ions: Path, cache_folder: Path) -> None:
    load(ions)
    (ions.parent / "types.itp").write_text(TYPES.format(mass=24))
    system, was_cached = load(ions)
    assert (system.masses.tolist(), was_cached) == ([24, 24, 24], False)
    assert load(ions)[1]
    (ions.parent / "types.itp").unlink()
    with pytest.raises(InputError, match=r"types\.itp is not beside"):
        load(ions)


def test_a_file_that_shadows_an_include(
    ions: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An include is looked for in one folder after the other; another file may come first later."""
    folders = [ions.parent / name for name in ("first", "second", "third")]
    for folder in folders:
        folder.mkdir()
    monkeypatch.setenv("GMXLIB", f"{folders[0]}:{folders[1]}")
    (ions.parent / "types.itp").rename(folders[1] / "types.itp")
    assert [load(ions)[1] for _ in range(2)] == [False, True]
    for mass, folder in ((24, folders[0]), (25, ions.parent)):
        (folder / "types.itp").write_text(TYPES.format(mass=mass))
        system, was_cached = load(ions)
        assert (system.masses[0], was_cached) == (mass, False)
        assert load(ions)[1]
    (ions.parent / "types.itp").unlink()
    assert load(ions)[0].masses[0] == 24
    (folders[2] / "types.itp").write_text(TYPES.format(mass=26))
    monkeypatch.setenv("GMXLIB", str(folders[2]))
    assert load(ions)[0].masses[0] == 26


def test_defines_decide_what_is_read(ions: Path, cache_folder: Path) -> None:
    assert len(load(ions)[0].position_restraints) == 0
    for was_cached in (False, True):
        system, found = load(ions, defines=["POSRES"])
        assert (len(system.position_restraints), found) == (3, was_cached)
    assert len(load(ions)[0].position_restraints) == 0


def test_defines_and_parameters_are_any_iterables(ions: Path, cache_folder: Path) -> None:
    for was_cached in (False, True):
        names: Any = (name for name in ["POSRES"])
        system, found = load(ions, defines=names, parameters=iter(()))
        assert (len(system.position_restraints), found) == (3, was_cached)
    assert not load(ions)[1]


def test_the_same_names_in_another_folder(
    ions: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ions.parent / "other"
    other.mkdir()
    (other / ions.name).write_text(ions.read_text())
    (other / "types.itp").write_text(TYPES.format(mass=30))
    for folder, mass in ((ions.parent, 23), (other, 30), (ions.parent, 23)):
        monkeypatch.chdir(folder)
        assert load(Path(ions.name))[0].masses[0] == mass


def test_a_file_that_changes_while_it_is_read(ions: Path, cache_folder: Path) -> None:
    """The entry is for the content that was read, not for what is there afterwards."""
    other = MAIN.format(charge=2)

    def read() -> Described:
        described = quiltmd.inputs.describe(ions)
        ions.write_text(other)
        return described

    assert cache.cached([str(ions)], [], read, pytest.fail).system.charges[0] == 1

    def read_both() -> Described:
        quiltmd.inputs.describe(ions)
        ions.write_text(MAIN.format(charge=3))
        return quiltmd.inputs.describe(ions)

    for _ in range(2):
        ions.write_text(other)
        assert cache.cached([str(ions)], [], read_both, pytest.fail).system.charges[0] == 3
    assert len(entries(cache_folder)) == 1


def test_a_damaged_entry_is_written_again(ions: Path, cache_folder: Path) -> None:
    expected, _ = load(ions)
    (entry,) = entries(cache_folder)
    whole = entry.read_bytes()
    damaged = [whole[:size] for size in range(0, len(whole), 997)]
    for position in range(0, len(whole), 499):
        damaged.append(whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :])
    rebuilt = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # also of a file that is left open
        for content in damaged:
            entry.write_bytes(content)
            system, was_cached = load(ions)
            assert_identical(system, expected)
            rebuilt += not was_cached  # times of files, for instance, nobody reads
    assert rebuilt > 0.6 * len(damaged)
    assert load(ions)[1]


def test_entries_that_lack_something(ions: Path, cache_folder: Path) -> None:
    expected, _ = load(ions)
    (entry,) = entries(cache_folder)
    with np.load(entry) as stored:
        arrays: dict[str, Any] = dict(stored)
    for name in arrays:
        np.savez(entry, **{other: array for other, array in arrays.items() if other != name})
        system, was_cached = load(ions)
        assert not was_cached, name
        assert_identical(system, expected)


@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_an_entry(ions: Path, cache_folder: Path) -> None:
    load(ions)
    (entry,) = entries(cache_folder)
    entry.unlink()
    os.mkfifo(entry)
    keeps_a_reader_from_waiting = os.open(entry, os.O_RDWR)
    os.write(keeps_a_reader_from_waiting, b"PK")
    try:
        assert not load(ions)[1]
        assert os.read(keeps_a_reader_from_waiting, 9) == b"PK"  # nobody else has read it
    finally:
        os.close(keeps_a_reader_from_waiting)
    assert load(ions)[1]


def test_pickled_objects_are_not_read(ions: Path, cache_folder: Path) -> None:
    load(ions)
    (entry,) = entries(cache_folder)
    with np.load(entry) as stored:
        arrays: dict[str, Any] = dict(stored)
    np.savez(entry, **{**arrays, "described.system.masses": np.array([23.0] * 3, dtype=object)})
    assert not load(ions)[1]


def test_several_processes_at_once(ions: Path, cache_folder: Path) -> None:
    load(ions)
    expected = entries(cache_folder)
    expected[0].unlink()
    code = (
        "import sys, quiltmd; from quiltmd.inputs import cache; cache._MIN_SECONDS = -1.0\n"
        "for _ in range(40):\n"
        "    system, _ = quiltmd.load(sys.argv[1], sys.argv[2], box=[3, 3, 3])\n"
        "    assert system.masses.tolist() == [23, 23, 23]\n"
        "    cache._remove_oldest(cache._folder())\n"
    )
    files = [str(ions), str(ions.parent / "three.coor")]
    command = [sys.executable, "-W", "error", "-c", code, *files]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(timeout=200) for process in running] == [0, 0, 0]
    assert entries(cache_folder) == expected


def test_a_writer_that_is_killed(
    ions: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(file: Any, **arrays: Any) -> None:
        file.write(b"PK half of it")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cache.np, "savez", interrupted)
        with pytest.raises(KeyboardInterrupt):
            load(ions)
    assert entries(cache_folder) == []
    left = [cache_folder / f"loaded-{'0' * 32}.npz.{name}.tmp" for name in ("old", "new")]
    for file in left:
        file.write_bytes(b"PK half of it")
    os.utime(left[0], (0, 0))
    assert [load(ions)[1] for _ in range(2)] == [False, True]
    assert [file.exists() for file in left] == [False, True]


def full(file: Any, **arrays: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def no_folder(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    cache_folder.write_text("a file of that name")
    return "File exists"


def no_room(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(cache.np, "savez", full)
    return "No space left on device"


def of_all(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    cache_folder.mkdir()
    cache_folder.chmod(0o777)
    return "others may write"


def read_only(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    def refused(*names: Any) -> None:  # as a file system that is mounted so does, to root as well
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(cache.tempfile, "mkstemp", refused)
    return "Read-only file system"


@pytest.mark.parametrize("prevent", [no_folder, no_room, of_all, read_only])
def test_where_nothing_can_be_written_the_run_goes_on(
    ions: Path,
    cache_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    prevent: Callable[[Path, pytest.MonkeyPatch], str],
) -> None:
    words = prevent(cache_folder, monkeypatch)
    with pytest.warns(QuiltWarning, match=f"cannot be cached in .*{words}.*QUILTMD_CACHE") as told:
        assert load(ions)[0].atoms == 3
    assert len(told) == 1
    assert cache_folder.is_file() or entries(cache_folder) == []


def test_entries_that_others_may_have_written_are_not_read(ions: Path, cache_folder: Path) -> None:
    load(ions)
    assert stat.S_IMODE(cache_folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(entry.stat().st_mode) for entry in entries(cache_folder)] == [0o600]
    cache_folder.chmod(0o770)
    with pytest.warns(QuiltWarning, match="others may write"):
        assert not load(ions)[1]


def test_warnings_are_given_again(ions: Path, cache_folder: Path) -> None:
    for was_cached in (False, True):
        with pytest.warns(QuiltWarning, match="the macro POSERS has no effect") as told:
            assert load(ions, defines=["POSERS"])[1] == was_cached
        assert [warning.filename for warning in told] == [__file__]


def test_warnings_of_what_files_constrain_are_given_again(
    alanine: tuple[Path, Path], cache_folder: Path, tmp_path: Path
) -> None:
    made = app.AmberPrmtopFile(str(alanine[0])).createSystem(nonbondedMethod=app.PME)
    xml = tmp_path / "system.xml"
    xml.write_text(XmlSerializer.serialize(made))
    loaded = []
    for was_cached in (False, True):
        said: list[str] = []
        with pytest.warns(QuiltWarning, match="12 bonds to hydrogen are flexible") as told:
            loaded += quiltmd.load(xml, alanine[1], constraints="h-bonds", say=said.append)[:1]
        assert (len(told), bool(said)) == (1, was_cached)
    assert_identical(loaded[1], loaded[0])


def test_readers_leave_warnings_to_the_caller() -> None:
    """What they say themselves would not be said when their result is from the cache."""
    folder = Path(cache.__file__).parent
    files = [file for file in folder.rglob("*.py") if "warnings.warn(" in file.read_text()]
    names = {str(file.relative_to(folder)) for file in files}
    assert names == {"__init__.py", "cache.py", "frames_process.py"}


def test_what_openmm_reads_by_itself_is_not_cached(cache_folder: Path, tmp_path: Path) -> None:
    lines = ["CRYST1   30.000   30.000   30.000  90.00  90.00  90.00 P 1           1"]
    places = {"O": (10.0, 10, 10), "H1": (10.957, 10, 10), "H2": (9.76, 10.927, 10)}
    for number, (name, at) in enumerate(places.items(), start=1):
        numbers = "".join(f"{value:8.3f}" for value in at) + "  1.00  0.00"
        lines.append(f"HETATM{number:5d}  {name:3s} HOH A   1    {numbers}{name[0]:>12s}")
    pdb = tmp_path / "water.pdb"
    pdb.write_text("\n".join([*lines, "END\n"]))
    assert quiltmd.load(pdb, pdb, parameters=[find_force_field(Path("tip3p.xml"))])[0].atoms == 3
    assert entries(cache_folder) == []


def test_the_least_recently_used_go_first(
    ions: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(charge: int) -> bool:
        ions.write_text(MAIN.format(charge=charge))
        return load(ions)[1]

    for charge in (1, 2, 3):
        assert not at(charge)
        for entry in entries(cache_folder):  # written long ago, one after the other
            os.utime(entry, (entry.stat().st_mtime - 1000,) * 2)
    assert at(1)
    (cache_folder / "other.npz").write_bytes(bytes(10**6))
    size = max(entry.stat().st_size for entry in entries(cache_folder) if "loaded" in entry.name)
    monkeypatch.setattr(cache, "_MAX_BYTES", 3 * size + 100)
    assert not at(4)
    assert len(entries(cache_folder)) == 4
    assert [at(charge) for charge in (1, 3, 4)] == [True, True, True]
    assert not at(2)
    assert (cache_folder / "other.npz").exists()


def test_what_is_larger_than_the_cache_displaces_nothing(
    ions: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(ions)
    expected = entries(cache_folder)
    monkeypatch.setattr(cache, "_MAX_BYTES", 100)
    assert not load(ions, rigid_water=False)[1]
    assert entries(cache_folder) == expected


def test_what_loads_at_once_is_not_kept(
    ions: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_MIN_SECONDS", 100.0)
    assert [load(ions)[1] for _ in range(2)] == [False, False]
    assert not cache_folder.exists()


def test_where_the_cache_is(
    ions: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("QUILTMD_CACHE", "off")
    assert [load(ions)[1] for _ in range(2)] == [False, False]
    monkeypatch.delenv("QUILTMD_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable, folder in ((None, "home/.cache"), ("xdg", "xdg")):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / variable) if variable else "")
        assert [load(ions)[1] for _ in range(2)] == [False, True]
        names = [entry.name for entry in entries(tmp_path / folder / "quiltmd")]
        assert [bool(re.fullmatch(r"loaded-\w{32}\.npz", name)) for name in names] == [True]


def test_relative_folders_do_not_appear_in_the_working_directory(
    ions: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Such as one named 0, of somebody who means off."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for named in ("0", "OFF", "~/cache"):
        monkeypatch.setenv("QUILTMD_CACHE", named)
        for _ in range(2):
            with pytest.warns(QuiltWarning, match=f"nothing is cached: .*'{named}'") as told:
                assert not load(ions)[1]
            assert [warning.filename for warning in told] == [__file__]
    monkeypatch.delenv("QUILTMD_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert [load(ions)[1] for _ in range(2)] == [False, True]
    assert len(entries(tmp_path / "home/.cache/quiltmd")) == 1
    assert entries(tmp_path / "empty") == []
