# SPDX-License-Identifier: Apache-2.0
"""The documentation says what is: its blocks run or parse, notebooks run, API pages have all names.

Each block names its language.  Blocks of Python run, those of a page one after the other; commands
are parsed by the command line; TOML is read as a configuration.  See `documents.py`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
import typer.main
from command import quiltmd as run_command
from documents import PAGES, ROOT, Block, blocks, dead_links
from nbclient import NotebookClient

import quiltmd
from quiltmd import Barostat, Thermostat
from quiltmd.commands.cli import app
from quiltmd.description.choices import choices_of
from quiltmd.description.term_forms import TERM_FORMS
from quiltmd.exchange.config import ExchangeConfig
from quiltmd.inputs.control_files import read_control
from quiltmd.prediction.machine import read_machine
from quiltmd.running.config import build_config, build_config_of
from quiltmd.running.stages import stages_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SHELLS = ("sh", "bash", "console")
CONTROL = ("mdp", "mdin")
sys.path.insert(0, str(ROOT / "tools"))
from api_names import with_names  # noqa: E402

COMMAND = typer.main.get_command(app)
# What a page's blocks are changed by, so that they run here, and soon.
SHORTER = (
    ("10_000", "20"),
    ("run(1000", "run(2"),
    ("steps = 1000", "steps = 20"),
    ("every=500", "every=10"),
    ("minimize()", "minimize(max_iterations=2)"),
    ("cuda:0", "cpu"),
    ("cuda:1", "cpu"),
    ('"resname LIG", box=', '"resname ACE", "resname ALA", box='),
    ("resname LIG", "resname NME"),
)


def test_every_block_names_its_language() -> None:
    known = {*SHELLS, *CONTROL, "python", "toml", "text"}
    assert len(blocks()) > 50
    assert [str(block) for block in blocks() if block.language not in known] == []
    fences = sum(len(re.findall("^```", page.read_text(), re.MULTILINE)) for page in PAGES)
    assert fences == 2 * len(blocks())


def test_links_lead_somewhere() -> None:
    """In pages of the repository that the site has, too; `make docs` checks the rest."""
    pages = {
        *PAGES,
        *ROOT.glob("*.md"),
        *ROOT.glob("benchmarks/notes/*.md"),
        *ROOT.glob("*/README.md"),
    }
    assert [link for page in sorted(pages) for link in dead_links(page)] == []


@pytest.mark.parametrize("block", blocks(*SHELLS), ids=str)
def test_commands_parse(block: Block) -> None:
    """Their options exist and have values of the right kind."""
    if block.language == "bash":
        subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)
    for words in block.commands():
        with COMMAND.make_context("quiltmd", list(words)) as context:
            found = COMMAND.resolve_command(context, [*context._protected_args, *context.args])
            while hasattr(found[1], "resolve_command"):
                found = found[1].resolve_command(context, found[2])
            found[1].make_context(found[0], found[2], parent=context)


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_settings_are_read(block: Block, tmp_path: Path) -> None:
    """Fragments get what a configuration needs besides."""
    settings = tomllib.loads(block.text)
    if "costs" in settings:
        file = tmp_path / "machine.toml"
        file.write_text(block.text)
        assert read_machine(str(file)).name == settings["name"]
        return
    needed: dict[str, dict[str, Any]] = {
        "system": {"topology": "system.prmtop", "coordinates": "system.inpcrd"},
        "run": {"steps": 1000},
        "output": {"dir": "out"},
    }
    whole = settings | {name: own | settings.get(name, {}) for name, own in needed.items()}
    if "stage" in whole:
        assert len(stages_of(whole, str(block))) == len(whole["stage"])
    elif "exchange" in whole:
        build_config_of(ExchangeConfig, whole, str(block))
    else:
        build_config(whole, str(block))


@pytest.mark.parametrize("block", blocks(*CONTROL), ids=str)
def test_control_files_are_read(block: Block, tmp_path: Path) -> None:
    file = tmp_path / f"control.{block.language}"
    file.write_text(block.text)
    control = read_control(file)
    assert control is not None
    assert control.refused == []


RUN = """
system = {topology = "system.prmtop", coordinates = "system.inpcrd"}
run = {steps = 4, device = "cpu", threads = 1}
output = {dir = "equilibration", log_every = 1, log_box = true, trajectory_every = 2}
trajectory = [{file = "solute.xtc", every = 2, select = "solute"}]
"""
EXCHANGE = """
system = {topology = "peptide.prmtop", coordinates = "peptide.crd"}
solvent = {model = "obc2"}
exchange = {kind = "rest2", temperatures = [300, 400], every = 5, all_energies = true}
run = {steps = 10, device = "cpu", threads = 1}
output = {dir = "alanine-rest2", log_every = 5}
"""


@pytest.fixture(scope="module")
def folder(
    alanine: tuple[Path, Path], openmmtools_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with the files that the pages name, all of alanine dipeptide, and with two runs."""
    folder = tmp_path_factory.mktemp("pages")
    for stem in ("dhfr", "system", "complex", "alanine-dipeptide"):
        (folder / f"{stem}.prmtop").symlink_to(alanine[0])
        for suffix in ("inpcrd", "crd"):
            (folder / f"{stem}.{suffix}").symlink_to(alanine[1])
    for suffix in ("prmtop", "crd", "pdb"):
        peptide = openmmtools_data / "alanine-dipeptide-gbsa" / f"alanine-dipeptide.{suffix}"
        (folder / f"peptide.{suffix}").symlink_to(peptide)
    (plumed,) = [one.text for one in blocks("text") if one.page.stem == "plumed"]
    (folder / "plumed.dat").write_text(plumed)
    (folder / "run.toml").write_text(RUN)
    (folder / "exchange.toml").write_text(EXCHANGE)
    for command in ("run run.toml", "exchange exchange.toml"):
        done = run_command(*command.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
    (folder / "production").symlink_to("equilibration")
    (folder / "complex").mkdir()
    (folder / "complex" / "4-produce").symlink_to(folder / "equilibration")
    return folder


@pytest.fixture(scope="module")
def names(folder: Path) -> dict[str, Any]:
    """What blocks use that the text before them speaks of."""
    import openmm
    from openmm import app

    system, state = quiltmd.load(
        folder / "system.prmtop",
        folder / "system.inpcrd",
        constraints="h-bonds",
        hydrogen_mass=3.024,
    )
    prmtop = app.AmberPrmtopFile(str(folder / "system.prmtop"))
    inpcrd = app.AmberInpcrdFile(str(folder / "system.inpcrd"))
    openmm_system = prmtop.createSystem(app.PME)
    context = openmm.Context(openmm_system, openmm.VerletIntegrator(0.001))
    context.setPositions(inpcrd.positions)
    windows = [
        quiltmd.Restraint("distance", ("index 5", "index 15"), k, lower=0.3, upper=0.3)
        for k in (100.0, 200.0)
    ]
    return {
        "quiltmd": quiltmd,
        "system": system,
        "state": state,
        "openmm_system": openmm_system,
        "topology": prmtop.topology,
        "context": context,
        "modeller": app.Modeller(prmtop.topology, inpcrd.positions),
        "lj_pme_system": prmtop.createSystem(app.LJPME),
        "windows": windows,
    }


PYTHON = sorted({block.page for block in blocks("python")})


@pytest.mark.parametrize("page", PYTHON, ids=lambda page: page.stem)
def test_python_runs(
    page: Path, folder: Path, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fewer steps, and the CPU in place of GPUs."""
    if page.stem == "plumed":
        pytest.importorskip("plumed")
    monkeypatch.chdir(folder)
    known = dict(names)
    for block in blocks("python"):
        if block.page == page:
            source = block.text
            for long, short in SHORTER:
                source = source.replace(long, short)
            exec(compile(source, str(block), "exec"), known)


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("**/*.ipynb")), ids=lambda p: p.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    """With fewer steps; its progress bar comes to the end, and its figure is drawn."""
    notebook = nbformat.read(path, 4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            cell.source = cell.source.replace("steps = 300", "steps = 40").replace("=50", "=2")
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=250, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert "40/40" in str(notebook.metadata["widgets"])


def test_files_agree_on_the_version_of_the_release() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = [path for path in (ROOT / "packaging").rglob("*.*") if path.suffix != ".md"]
    for path in [ROOT / "CITATION.cff", *packages]:
        text = f"{path.name}\n{path.read_text()}"
        stated = r"""^\s*(?:\S+image\.)?version[:=\s]+["']?(\d+\.\d+\.\d+)"""
        found = re.findall(stated, text, re.MULTILINE) + re.findall(r"quiltmd-(\d[\d.]*\d)", text)
        assert set(found) == {project["version"]}, path
    wheels = r"quiltmd-(\d[\d.]*\d)"
    named = [version for page in PAGES for version in re.findall(wheels, page.read_text())]
    assert set(named) == {project["version"]}
    changes = (ROOT / "CHANGELOG.md").read_text()
    newest = re.search(r"^## \[(\d[^]]*)\].*\n\n(.*)$", changes, re.MULTILINE)
    assert newest is not None
    assert newest[1] == project["version"]
    assert f"tag `v{newest[1]}`" in newest[2]


def test_figures_of_the_readme_are_those_that_were_measured() -> None:
    """Its table of speed: OpenMM, then Quilt on one, two and four GPUs."""
    results = ROOT / "benchmarks" / "results"
    compared = json.loads((results / "compare.json").read_text())["results"]
    several = json.loads((results / "several-gpus-speed.json").read_text())["speed"]
    measured = {(one["atoms"], one["engine"]): one["microseconds_per_step"] for one in compared}
    measured |= {(one["atoms"], one["gpus"]): one["us_per_step"] for one in several}
    table = re.findall(r"^\| (\d[\d,]+) \|(.+)\|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(table) == 4
    for size, cells in table:
        atoms = int(size.replace(",", ""))
        times = [measured[atoms, what] for what in ("openmm", "quiltmd", 2, 4)]
        shown = [float(cell.replace(",", "")) for cell in cells.split("|")]
        assert shown == [round(time, 1 if time < 100 else 0) for time in times]


def test_docstrings_have_the_form_that_the_site_reads(caplog: pytest.LogCaptureFixture) -> None:
    """`make docs` refuses others."""
    griffe = pytest.importorskip("griffe", reason="griffelib is not installed")
    package = griffe.load("quiltmd", search_paths=[ROOT / "python"], docstring_parser="numpy")
    found = [package]
    for place in found:
        found.extend(member for member in place.members.values() if not member.is_alias)
        _ = place.docstring and place.docstring.parsed
    assert len(found) > 1000
    assert [record.getMessage() for record in caplog.records] == []


def test_the_api_pages_have_every_name_once() -> None:
    shown = [
        name
        for page in (ROOT / "docs" / "api").glob("*.md")
        for name in re.findall(r"^::: quiltmd\.(\w+)$", with_names(page.read_text()), re.MULTILINE)
    ]
    assert sorted(shown) == sorted(quiltmd.__all__)


@pytest.mark.parametrize(
    ("base", "page"), [(Thermostat, "integrators.md"), (Barostat, "barostats.md")]
)
def test_the_manual_lists_every_choice(base: type[Any], page: str) -> None:
    """A row of kind and class for each thermostat and barostat; the table of keys has the kinds."""
    rows = (ROOT / "docs" / "theory" / page).read_text()
    keys = (ROOT / "docs" / "user" / "configuration.md").read_text()
    for kind, choice in choices_of(base).items():
        assert f"| `{kind}` | `{choice.__name__}` |" in rows
        assert f'"{kind}"' in keys


def test_the_theory_lists_every_form_of_terms() -> None:
    rows = (ROOT / "docs" / "theory" / "bonded.md").read_text()
    listed = [
        name
        for cell in re.findall(r"^\| [^|]+ \| (`[^|]+`) \|", rows, re.MULTILINE)
        for name in cell.strip("`").split("`, `")
    ]
    assert sorted(listed) == sorted(form.name for form in TERM_FORMS)
