# SPDX-License-Identifier: Apache-2.0
"""The job script of the user guide, under a scheduler that is played by two small programs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import quiltmd

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "user" / "batch.md"
# The command on a toy engine, a step of which takes 5 ms.
COMMAND = """
import sys, time
sys.path.insert(0, {tests!r})
from fake_engine import FakeEngine
from quiltmd.commands.cli import main
from quiltmd.running import runner

class Slow(FakeEngine):
    def run(self, steps):
        super().run(steps)
        time.sleep(0.005 * steps)

runner.start.__defaults__ = (False, Slow, None, None, None)
runner.resume.__defaults__ = (None, Slow, None)
main()
"""
# Sends the warning, twice, soon after the job has begun to write, as if its time were nearly over.
SRUN = """
import pathlib, signal, subprocess, sys, time
log, begun = pathlib.Path("out/log.csv"), time.time()
process = subprocess.Popen(sys.argv[1:])
while process.poll() is None and not (log.exists() and log.stat().st_mtime > begun):
    time.sleep(0.05)
for _ in range(2):
    try:
        process.wait(0.5)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGUSR1)
sys.exit(process.wait())
"""
SCONTROL = """
import pathlib, sys
assert sys.argv[1:] == ["requeue", "17"], sys.argv
pathlib.Path("requeued").touch()
"""


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)


def test_the_job_script_of_the_guide(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    script = re.search(r"```bash\n(.*?)```", GUIDE.read_text(), re.S)
    assert script is not None
    (tmp_path / "job.sh").write_text(script[1])
    tools = tmp_path / "bin"
    tools.mkdir()
    program(tools, "quiltmd", COMMAND.format(tests=str(Path(__file__).parent)))
    program(tools, "srun", SRUN)
    program(tools, "scontrol", SCONTROL)
    (tmp_path / "run.toml").write_text(
        f"""
        system = {{ topology = "{alanine[0]}", coordinates = "{alanine[1]}" }}
        run = {{ steps = 300, device = "cpu", minimize = true }}
        output = {{ dir = "out", log_every = 10, trajectory_every = 50 }}
        """
    )
    environment = {**os.environ, "SLURM_JOB_ID": "17"}
    environment["PATH"] = f"{tools}:{environment['PATH']}"
    statuses = []
    while not statuses or (tmp_path / "requeued").exists():
        (tmp_path / "requeued").unlink(missing_ok=True)
        job = subprocess.run(["bash", "job.sh"], cwd=tmp_path, env=environment, check=False)
        statuses.append(job.returncode)
        assert len(statuses) < 20
    assert statuses[-1] == 0
    assert set(statuses[:-1]) == {75}
    assert quiltmd.read_checkpoint(tmp_path / "out" / "checkpoint.qmd").state.step == 300
    rows = (tmp_path / "out" / "log.csv").read_text().splitlines()[1:]
    assert [int(row.split(",")[0]) for row in rows] == list(range(0, 301, 10))
