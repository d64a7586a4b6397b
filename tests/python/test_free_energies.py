# SPDX-License-Identifier: Apache-2.0
"""Free energies from the tables of runs: against harmonic wells, whose free energies are exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import quiltmd as quiltmd_command

from quiltmd import QuiltError
from quiltmd.commands.alchemy_page import make_page
from quiltmd.description.settings import BOLTZMANN
from quiltmd.running.free_energies import FreeEnergies, free_energies
from quiltmd.running.lambda_samples import read_samples

pytest.importorskip("pymbar")

TEMPERATURE, SOFT, STIFF = 320.0, 1000.0, 4000.0  # K, kJ/mol/nm^2
LAMBDAS = np.linspace(0, 1, 8)
KT = BOLTZMANN * TEMPERATURE
CONFIG = """
[system]
topology = "none.prmtop"
[integrator]
temperature = {0}
[alchemy]
atoms = "resname LIG"
coulomb = {1}
vdw = {2}
"""


def write_run(folder: Path, rows: list[str], lambdas: Any = LAMBDAS) -> Path:
    folder.mkdir()
    text = CONFIG.format(TEMPERATURE, [float(x) for x in lambdas], [0.0] * len(lambdas))
    (folder / "config.toml").write_text(text)
    states = ",".join(f"u_{k}" for k in range(len(lambdas)))
    names = "step,time,lambda_coulomb,lambda_vdw,potential,dhdl_coulomb,dhdl_vdw"
    (folder / "dhdl.csv").write_text("\n".join([f"{names},{states}", *rows]) + "\n")
    return folder


def rows_of(state: int, count: int, seed: int, correlated: int = 1) -> list[str]:
    """Of a well whose stiffness is linear in lambda: each value so many times."""
    stiffness = SOFT + LAMBDAS * (STIFF - SOFT)
    own = stiffness[state]
    x = np.random.default_rng(seed).normal(0, np.sqrt(KT / own), count)
    half = np.repeat(x**2 / 2, correlated)
    energies = (stiffness - own) * half[:, None]
    return [
        f"{n},{0.002 * n:.6f},{LAMBDAS[state]:.6g},0,{own * h:.6f},{(STIFF - SOFT) * h:.6f},0,"
        + ",".join(f"{one:.6f}" for one in row)
        for n, (h, row) in enumerate(zip(half, energies, strict=True))
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("wells")
    return [write_run(place / f"s{k}", rows_of(k, 1500, k)) for k in range(len(LAMBDAS))]


@pytest.fixture(scope="module")
def found(runs: list[Path]) -> FreeEnergies:
    return free_energies(runs)


def test_mbar_has_the_free_energies_of_wells(found: FreeEnergies) -> None:
    exact = KT / 2 * np.log((SOFT + LAMBDAS * (STIFF - SOFT)) / SOFT)
    for one, expected in zip(found.mbar[1:], exact[1:], strict=True):
        assert 0.002 < one.error < 0.05
        assert one.value == pytest.approx(expected, abs=3.5 * one.error)
    assert found.mbar[0].value == 0
    for parts in (found.forward, found.backward):
        assert parts[-1].value == pytest.approx(found.mbar[-1].value)
        assert parts[0].error > 2 * parts[-1].error
        assert parts[0].value == pytest.approx(exact[-1], abs=4 * parts[0].error)


def test_integration_is_the_trapezoidal_rule(found: FreeEnergies) -> None:
    slopes = (STIFF - SOFT) * KT / 2 / (SOFT + LAMBDAS * (STIFF - SOFT))
    np.testing.assert_allclose(found.slopes[:, 0], slopes, rtol=0.15)
    assert found.integration is not None
    for last in range(1, len(LAMBDAS)):
        expected = np.trapezoid(slopes[: last + 1], LAMBDAS[: last + 1])
        one = found.integration[last]
        assert one.value == pytest.approx(expected, abs=3.5 * one.error)
    mean = found.slopes[:, 0]
    assert found.integration[-1].value == pytest.approx(np.trapezoid(mean, LAMBDAS))


def test_the_overlap_matrix_is_one_of_probabilities(found: FreeEnergies) -> None:
    np.testing.assert_allclose(found.overlap.sum(axis=1), 1)
    of_one = found.overlap / found.independent
    np.testing.assert_allclose(of_one, of_one.T, rtol=1e-6)
    assert (found.neighbour_overlaps() > 0.1).all()
    assert found.rows.tolist() == [1350] * len(LAMBDAS)


def test_correlated_rows_count_once(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / f"s{k}", rows_of(k, 300, k, correlated=5)) for k in range(len(LAMBDAS))
    ]
    found = free_energies(runs, discard=0)
    assert found.rows.tolist() == [1500] * len(LAMBDAS)
    assert (found.independent < 450).all()
    assert (found.independent > 150).all()


def test_a_state_without_samples_leaves_mbar(runs: list[Path]) -> None:
    """Integration needs all; both ends must be there."""
    found = free_energies([run for run in runs if run.name != "s3"])
    assert found.integration is None
    assert np.isnan(found.slopes[3]).all()
    exact = KT / 2 * np.log(STIFF / SOFT)
    assert found.mbar[-1].value == pytest.approx(exact, abs=4 * found.mbar[-1].error)
    assert "No integration: a state has no samples" in make_page(found, runs, 0.1)
    with pytest.raises(QuiltError, match="state 7 has no samples"):
        free_energies(runs[:-1])


def test_too_few_samples_are_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all samples; where a part of them is too small, the convergence has no value."""
    import pymbar

    differences, least = pymbar.MBAR.compute_free_energy_differences, 100
    runs = [write_run(tmp_path / f"s{k}", rows_of(k, 30, k)) for k in range(len(LAMBDAS))]

    def check(self: Any) -> Any:
        if self.N_k.sum() < least:
            raise pymbar.utils.ParameterError("columns do not sum to 1")
        return differences(self)

    monkeypatch.setattr(pymbar.MBAR, "compute_free_energy_differences", check)
    found = free_energies(runs)
    assert np.isnan(found.forward[0].value)
    assert np.isfinite(found.forward[-1].value)
    assert found.summary()["forward"][0] == [None, None]
    assert "From the first samples" in make_page(found, runs, 0.1)
    least = 10**9
    with pytest.raises(QuiltError, match=r"MBAR does not converge with .* continue the runs"):
        free_energies(runs)


def test_states_may_share_a_table(tmp_path: Path, runs: list[Path]) -> None:
    """Rows go by their lambdas: a run may have changed them."""
    both = write_run(tmp_path / "both", rows_of(0, 40, 1) + rows_of(1, 60, 2))
    samples = read_samples([both, runs[0]])
    assert samples.counts.tolist()[:3] == [40 + 1500, 60, 0]
    assert samples.temperature == TEMPERATURE


def test_the_command_prints_and_writes_a_page(runs: list[Path], found: FreeEnergies) -> None:
    done = quiltmd_command("alchemy", "analyse", *runs, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(json.dumps(found.summary()))
    page = (runs[0] / "free-energies.html").read_text()
    for text in ("Overlap of states", "From the first samples", "state</text>", "<svg"):
        assert text in page
    done = quiltmd_command("alchemy", "analyse", *runs, "--out", runs[0] / "other.html")
    assert done.returncode == 0, done.stderr
    assert f"{found.mbar[-1].value:.2f}" in done.stdout
    for column in ("lambda: coulomb, vdw", "MBAR, kJ/mol", "overlap with next"):
        assert column in done.stdout
    assert (runs[0] / "other.html").exists()


def other_schedule(folder: Path) -> None:
    rows = [row.rsplit(",", len(LAMBDAS))[0] + ",0,1" for row in rows_of(0, 5, 1)]
    write_run(folder, rows, lambdas=[0, 1])


def no_alchemy(folder: Path) -> None:
    folder.mkdir()
    (folder / "config.toml").write_text('[system]\ntopology = "x"\n')


def no_table(folder: Path) -> None:
    (write_run(folder, []) / "dhdl.csv").unlink()


def no_run(folder: Path) -> None:
    folder.mkdir()


def unknown_lambdas(folder: Path) -> None:
    write_run(folder, [row.replace(",0.142857,", ",0.15,") for row in rows_of(1, 5, 1)])


def other_columns(folder: Path) -> None:
    table = write_run(folder, rows_of(0, 5, 1)) / "dhdl.csv"
    table.write_text(table.read_text().replace("u_3", "v_3"))


def test_the_command_shows_any_number_of_lambdas(tmp_path: Path) -> None:
    """Of second states, with lambda of bonded terms; a state in between has no samples."""
    folders = []
    for state in (0, 2):
        folder = write_run(tmp_path / f"s{state}", rows_of(state, 40, state), LAMBDAS[:3])
        config = (folder / "config.toml").read_text()
        config = config.replace('"resname LIG"', '"second states"')
        (folder / "config.toml").write_text(config + "bonded = [0.0, 0.5, 1.0]\n")
        header, *rows = (folder / "dhdl.csv").read_text().splitlines()
        header = header.replace("lambda_vdw", "lambda_vdw,lambda_bonded")
        header = header.replace("dhdl_vdw", "dhdl_vdw,dhdl_bonded")
        wide = []
        for row in rows:
            words = row.split(",")
            wide.append(",".join([*words[:4], str(state / 2), *words[4:7], "0", *words[7 : 7 + 3]]))
        (folder / "dhdl.csv").write_text("\n".join([header, *wide]) + "\n")
        folders.append(folder)
    done = quiltmd_command("alchemy", "analyse", *folders, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{LAMBDAS[2]:g}, 0, 1" in done.stdout
    page = (folders[0] / "free-energies.html").read_text()
    assert "bonded 0.5" in page


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (other_schedule, "not those of"),
        (no_alchemy, "without .alchemy."),
        (no_table, "dhdl.csv is missing"),
        (no_run, "odd holds no run: config.toml is missing"),
        (unknown_lambdas, "no state of the schedule"),
        (other_columns, "column u_3 is missing"),
    ],
)
def test_runs_that_do_not_fit_are_refused(
    runs: list[Path], tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    make(tmp_path / "odd")
    with pytest.raises(QuiltError, match=words):
        free_energies([*runs, tmp_path / "odd"])
    with pytest.raises(QuiltError, match="at least 0 and below 1"):
        free_energies(runs, discard=1.0)
