# SPDX-License-Identifier: Apache-2.0
"""Bad input gets one clear message on stderr, a non-zero exit, and no traceback."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command import quiltmd

Files = tuple[Path, Path]


def refuses(*arguments: Any, saying: str, **options: Any) -> None:
    """The command fails with one message that holds `saying`."""
    done = quiltmd(*arguments, **options)
    assert done.returncode not in (0, -11, -6), done.stdout
    assert done.stdout == ""
    assert "Traceback" not in done.stderr, done.stderr
    assert saying.lower() in done.stderr.lower()
    assert done.stderr.count("error:") <= 1


def changed(file: Path, folder: Path, old: str, new: str) -> Path:
    """A copy of a text file with a part replaced."""
    text = file.read_text()
    assert old in text
    copy = folder / file.name
    copy.write_text(text.replace(old, new, 1))
    return copy


def section(file: Path, folder: Path, flag: str) -> Path:
    """A copy of a prmtop with one more section."""
    copy = folder / file.name
    copy.write_text(file.read_text() + f"%FLAG {flag}\n%FORMAT(5E16.8)\n  1.00000000E+00\n")
    return copy


def test_missing_files(alanine: Files, tmp_path: Path) -> None:
    refuses("energy", tmp_path / "no.prmtop", alanine[1], saying="no such file")
    refuses("energy", alanine[0], tmp_path / "no.crd", saying="no such file")
    refuses("energy", alanine[0], tmp_path, saying="directory")
    refuses("run", tmp_path / "no.toml", saying="no.toml: no such file")
    refuses("digest", tmp_path / "no.qmd", saying="no.qmd: no such file")
    refuses("run", "--resume", tmp_path, saying="holds no run")


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.6])
def test_truncated_files(alanine: Files, tmp_path: Path, which: int, part: float) -> None:
    files = list(alanine)
    data = files[which].read_bytes()
    files[which] = tmp_path / files[which].name
    files[which].write_bytes(data[: int(part * len(data))])
    refuses("energy", *files, saying=str(files[which]))


def test_packed_and_exchanged_files(alanine: Files, tmp_path: Path) -> None:
    packed = [tmp_path / f"{file.name}.gz" for file in alanine]
    for file, copy in zip(alanine, packed, strict=True):
        copy.write_bytes(gzip.compress(file.read_bytes()))
    refuses("energy", packed[0], alanine[1], saying="prmtop.gz: is compressed (gzip): unpack it")
    refuses("energy", alanine[0], packed[1], saying="crd.gz: is compressed (gzip): unpack it")
    gro = tmp_path / "conf.gro"
    gro.write_text("\n".join(["water", "1", f"{1:5}SOL     OW{1:5}" + "   0.100" * 3, "3 3 3", ""]))
    refuses("info", gro, alanine[0], saying="has coordinates (GROMACS gro), and no topology")


def test_byte_order_marks_are_passed_over(alanine: Files, tmp_path: Path) -> None:
    """As some editors put them in front of a text."""
    copies = [tmp_path / file.name for file in alanine]
    for file, copy in zip(alanine, copies, strict=True):
        copy.write_bytes(codecs.BOM_UTF8 + file.read_bytes())
    expected, found = (quiltmd("info", *files, "--json") for files in (alanine, copies))
    assert found.stdout == expected.stdout
    (tmp_path / "a.toml").write_bytes(codecs.BOM_UTF8 + b"[system]\nnothing = 1\n")
    refuses("run", tmp_path / "a.toml", saying="nothing is not a known key")


def test_other_kinds_of_file(alanine: Files) -> None:
    refuses("energy", alanine[1], alanine[0], saying="and no topology: are two files exchanged?")
    refuses("energy", alanine[0], alanine[0], saying=str(alanine[0]))


def test_atom_counts_differ(alanine: Files, openmmtools_data: Path) -> None:
    other = openmmtools_data / "trpzip2-explicit" / "trpzip2.crd"
    refuses("energy", alanine[0], other, saying="2269")


def test_alternate_locations_are_named(openmmtools_data: Path, tmp_path: Path) -> None:
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    lines = (folder / "alanine-dipeptide.pdb").read_text().splitlines()
    atoms = [line for line in lines if line.startswith(("ATOM", "HETATM"))]
    twice = [atoms[0][:16] + letter + atoms[0][17:] for letter in "AB"]
    (tmp_path / "twice.pdb").write_text("\n".join([*twice, *atoms[1:]]) + "\n")
    files = folder / "alanine-dipeptide.prmtop", tmp_path / "twice.pdb"
    refuses("energy", *files, saying="23 atoms, but the topology has 22; 1 of them are alternate")


def test_no_box(openmmtools_data: Path, alanine: Files, tmp_path: Path) -> None:
    folder = openmmtools_data / "alanine-dipeptide-gbsa"
    files = folder / "alanine-dipeptide.prmtop", folder / "alanine-dipeptide.crd"
    refuses("energy", *files, "--method", "pme", saying="PME needs a periodic box")
    text = alanine[1].read_text().rstrip()
    without = tmp_path / "no_box.crd"
    without.write_text(text[: text.rindex("\n")] + "\n")
    refuses("energy", alanine[0], without, saying="no periodic box")


def test_a_damaged_box_may_be_replaced(alanine: Files, tmp_path: Path) -> None:
    last = alanine[1].read_text().splitlines()[-1]
    bad = changed(alanine[1], tmp_path, last, "***".rjust(12) + last[12:])
    refuses("energy", alanine[0], bad, saying=str(bad))
    box = ",".join(f"{float(length) / 10:.7f}" for length in last.split()[:3])
    done = quiltmd("energy", alanine[0], bad, "--box", box, "--device", "cpu")
    assert done.returncode == 0, done.stderr


def test_cutoff_too_large(alanine: Files) -> None:
    refuses("energy", *alanine, "--cutoff", 1.7, saying="cutoff of 1.7 nm is too large")
    refuses("energy", *alanine, "--cutoff", -1, saying="cutoff: input should be greater than 0")


def test_numbers_that_are_none(alanine: Files, tmp_path: Path) -> None:
    line = alanine[1].read_text().splitlines()[2]
    for word in ("NaN", "***", "inf"):
        bad = changed(alanine[1], tmp_path, line, word.rjust(12) + line[12:])
        refuses("energy", alanine[0], bad, saying=str(bad))


def test_overlapping_atoms(alanine: Files, tmp_path: Path) -> None:
    """Atom 1000 sits on atom 2000."""
    lines = alanine[1].read_text().splitlines(keepends=True)
    fields = "".join(line.rstrip("\n") for line in lines[2:])
    atom = [fields[36 * i : 36 * i + 36] for i in range(2269)]
    atom[1000] = atom[2000]
    text = "".join(atom)
    rows = [text[i : i + 72] + "\n" for i in range(0, len(text), 72)]
    bad = tmp_path / "overlap.crd"
    bad.write_text("".join(lines[:2] + rows + lines[-1:]))
    named = "overlapping atoms: atom 1001 (O of WAT 330) and atom 2001 (H1 of WAT 663)"
    refuses("energy", alanine[0], bad, saying=named)
    refuses(
        "run", "--topology", alanine[0], "--coordinates", bad, "--steps", 10, "--device", "cpu",
        "--out", tmp_path / "out", saying=named,
    )  # fmt: skip


def test_a_blow_up(alanine: Files, tmp_path: Path) -> None:
    """Steps of 30 fs cannot work; the run stops, names atoms, and leaves the start."""
    flags = [*run_flags(alanine, tmp_path / "out"), "--timestep", 0.03]
    refuses(*flags, saying="the simulation blew up at atom")
    done = quiltmd(*flags, "--overwrite")
    assert re.search(r"atom \d+ \(\w+ of \w+ \d+\)", done.stderr)
    assert "last good checkpoint" in done.stderr
    assert quiltmd("digest", tmp_path / "out").returncode == 0


@pytest.mark.parametrize(
    ("flag", "name"),
    [("LENNARD_JONES_CCOEF", "12-6-4"), ("POLARIZABILITY", "polari"), ("CMAP_COUNT", "CMAP")],
)
def test_unknown_terms_are_named(alanine: Files, tmp_path: Path, flag: str, name: str) -> None:
    refuses("energy", section(alanine[0], tmp_path, flag), alanine[1], saying=name)


def test_misspelt_keys_and_flags(alanine: Files, tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text("[nonbonded]\ncutof = 1.0\n")
    refuses("run", config, saying="did you mean 'cutoff'?")
    config.write_text("[nonbonded\n")
    refuses("run", config, saying="not valid TOML")
    refuses("energy", *alanine, "--cutof", 1, saying="--cutoff")
    refuses("energy", *alanine, "--pme-grid", "40,40", saying="NX,NY,NZ")
    refuses("energy", *alanine, "--pme-alpha", 3, saying="belong together")
    refuses("run", "--topology", alanine[0], saying="also --coordinates, --steps, --out")
    refuses("run", saying="nothing to run: give a configuration file, or also --topology, ")
    refuses("energy", *alanine, "--pme-grid", "40,40,4²", saying="NX,NY,NZ")
    for tile in ("2x2", "2x2x0", "2x2x2²"):
        refuses("bench", "--tile", tile, saying="2x2x1")
    files = ("--topology", alanine[0], "--coordinates", alanine[1])
    refuses("predict", *files, "--tile", "2x2x2²", saying="2x2x1")
    refuses("bench", "--system", "dhrf", saying="there are demo, dhfr")


def run_flags(files: Files, out: Path) -> list[Any]:
    return [
        "run", "--topology", files[0], "--coordinates", files[1], "--steps", 20, "--minimize",
        "--device", "cpu", "--out", out, "--trajectory-every", 2, "--checkpoint-every", 5,
    ]  # fmt: skip


def test_unwritable_folders(alanine: Files, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refuses(*run_flags(alanine, tmp_path / "file" / "out"), saying="cannot write")
    refuses(*run_flags(alanine, Path("/proc/out")), saying="cannot write")
    refuses("energy", *alanine, "--forces", "/proc/x.npy", saying="/proc/x.npy")


def test_a_disk_that_takes_no_more(alanine: Files, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (250_000, 250_000))

    refuses(*run_flags(alanine, tmp_path / "out"), saying="trajectory.dcd", preexec_fn=limit)
    done = quiltmd("run", "--resume", tmp_path / "out")
    assert done.returncode == 0, done.stderr


def test_a_system_that_gives_no_more_threads() -> None:
    """Here for want of addresses for their stacks."""
    script = """
import resource
from quiltmd.engine.core import load_core
core = load_core()
used = resource.getpagesize() * int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20),) * 2)
try:
    core.make_device("cpu", 10000)
except Exception as error:
    print(error)
core.make_device("cpu", 2)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"allows this process \d+ of the 10000 threads .*: request fewer", done.stdout)


def test_a_gpu_that_is_not_there(alanine: Files) -> None:
    options = {"env": {**os.environ, "CUDA_VISIBLE_DEVICES": ""}}
    refuses("energy", *alanine, "--device", "cuda", saying="no usable GPU", **options)


def test_corrupt_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.qmd").write_bytes(b"QUILTMD\n" + bytes(100))
    refuses("digest", tmp_path / "checkpoint.qmd", saying="checkpoint")
    refuses("digest", tmp_path, saying="checkpoint")
    (tmp_path / "checkpoint.qmd").write_bytes(b"PK")
    refuses("digest", tmp_path, saying="not a quiltmd checkpoint")


def test_results_that_cannot_be_written(alanine: Files, tmp_path: Path) -> None:
    """A full disk under stdout, and under the file of the forces, whose old content stays."""
    command = [sys.executable, "-m", "quiltmd", "energy", *map(str, alanine), "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "error: cannot write to stdout: No space left on device"
    forces = tmp_path / "forces.npy"
    forces.write_text("before")
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (4096, 4096))
    refuses("energy", *alanine, "--forces", forces, saying=f"{forces}: File", preexec_fn=limit)
    assert forces.read_text() == "before"
