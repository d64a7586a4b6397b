# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of the documentation, docs/pictures, from results and runs of our own.

    python tools/pictures.py

`scaling.svg` is drawn from benchmarks/results; `report.png` and `timeline.png` are pages that
quiltmd writes of a short run on two ranks of the CPU, as Chromium shows them.  The pictures are
part of the repository: this is for those who change the pages or the results.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import which

import matplotlib.pyplot as plt

from quiltmd.inputs.standard_systems import system_files

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PICTURES = ROOT / "docs" / "pictures"


def scaling() -> None:
    """Time of a step by number of atoms: OpenMM and quiltmd on one GPU, quiltmd on several."""
    runs = json.loads((RESULTS / "compare.json").read_text())["results"]
    several = json.loads((RESULTS / "several-gpus-speed.json").read_text())["speed"]
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "quilt", "font.size": 9})
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    lines = {"OpenMM 8.6.1, one H200": ("openmm", "s--"), "Quilt, one H200": ("quiltmd", "o-")}
    for label, (engine, style) in lines.items():
        own = [run for run in runs if run["engine"] == engine]
        axes.plot(
            [r["atoms"] for r in own], [r["microseconds_per_step"] for r in own], style, label=label
        )
    for gpus, word in ((2, "two"), (4, "four")):
        own = [run for run in several if run["gpus"] == gpus]
        axes.plot(
            [r["atoms"] for r in own],
            [r["us_per_step"] for r in own],
            "o-",
            label=f"Quilt, {word} H200s",
        )
    axes.set(xscale="log", yscale="log", xlabel="atoms", ylabel="microseconds a step")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(PICTURES / "scaling.svg", metadata={"Date": None})


def pages(folder: Path) -> None:
    """Two pages of a short run of a small protein in water, as pictures."""
    topology, coordinates = system_files("demo")
    out = folder / "trpzip2"
    command = (
        f"run --topology {topology} --coordinates {coordinates} --minimize --ensemble npt "
        f"--timestep 0.004 --hmr --steps 3000 --log-every 20 --trajectory-every 50 --seed 1 "
        f"--device cpu --ranks 2 --threads 1 --profile --out {out}"
    )
    subprocess.run([sys.executable, "-m", "quiltmd", *command.split()], check=True)
    subprocess.run([sys.executable, "-m", "quiltmd", "report", str(out)], check=True)
    shoot(out / "report.html", "report.png", height=1250)
    shoot(out / "timeline.html", "timeline.png", height=950)


def shoot(page: Path, name: str, height: int) -> None:
    """A page as Chromium shows it, 1100 pixels wide, without the folder that it was made in."""
    page.write_text(page.read_text().replace(str(page.parent.parent), "~"))
    browser = which("chromium") or which("google-chrome") or sys.exit("install Chromium")
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size=1100,{height}"]
    shot = f"--screenshot={PICTURES / name}"
    subprocess.run([browser, *options, shot, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    scaling()
    with tempfile.TemporaryDirectory() as folder:
        pages(Path(folder))
