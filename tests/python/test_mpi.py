# SPDX-License-Identifier: Apache-2.0
"""`mpirun -n N quiltmd run`: the files of one process, clear ends, and else no MPI."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from test_runner import same_results
from test_workers import comes_true, is_alive, short

from quiltmd import QuiltError
from quiltmd.running import runner
from quiltmd.workers import mpi

# The launcher beside Python has the library that mpi4py finds first.
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
needs_mpirun = pytest.mark.skipif(
    shutil.which("mpirun", path=PATH) is None, reason="there is no mpirun on this machine"
)
COMMAND = [sys.executable, "-m", "quiltmd"]
# As root, on fewer cores than processes, and without a core for each, where Open MPI asks.
ENVIRONMENT = {
    "PATH": PATH,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}


def mpirun(count: int, *arguments: Any, command: Sequence[str] = COMMAND) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["mpirun", "-n", str(count), *command, *map(str, arguments)],
        env=os.environ | ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run_arguments(files: tuple[Path, Path], out: Path, steps: int) -> list[Any]:
    """Those of `short`, as options of the command."""
    return [
        *("run", "-p", files[0], "-c", files[1], "--out", out, "--steps", steps),
        *("--seed", 3, "--device", "cpu", "--threads", 1),
        *("--log-every", 4, "--trajectory-every", 6, "--checkpoint-every", 10),
    ]


EXCHANGE = """
[system]
topology = "{0}"
coordinates = "{1}"
[exchange]
kind = "temperature"
temperatures = [300, 301, 302, 303]
every = 4
[run]
steps = {2}
device = "cpu"
threads = 1
[integrator]
seed = 3
[output]
dir = "{3}"
log_every = 2
"""


def exchanged(files: tuple[Path, Path], folder: Path, name: str, steps: int) -> Path:
    """The configuration of an exchange."""
    (folder / f"{name}.toml").write_text(EXCHANGE.format(*files, steps, folder / name))
    return folder / f"{name}.toml"


def without_launcher() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in mpi._COUNTS}


def processes_with(text: str) -> list[int]:
    """Those of `quiltmd` that have a text in their arguments, without launchers."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes().decode().split("\0")
        except OSError:  # it has ended
            continue
        if arguments[0] == sys.executable and any(text in argument for argument in arguments):
            found.append(int(folder.name))
    return found


@needs_mpirun
def test_files_are_those_of_one_process(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """Twelve steps in three processes, the rest in one."""
    with mpirun(3, *run_arguments(alanine, tmp_path / "mpi", 12)) as process:
        said, _ = process.communicate()
    assert process.returncode == 0, said
    assert said.count("velocities drawn") == 1
    assert "3 rank(s)" in said
    resume = ["run", "--resume", str(tmp_path / "mpi"), "--steps", "24"]
    alone = "import sys; from quiltmd.commands.cli import main; main()"
    subprocess.run([sys.executable, "-c", alone, *resume], check=True)
    runner.start(short(alanine, tmp_path / "alone"))
    same_results(tmp_path / "alone", tmp_path / "mpi")


@needs_mpirun
def test_replicas_are_dealt_out_to_processes(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    """The first eight steps in three processes and the rest in two, beside all in one."""
    config = exchanged(alanine, tmp_path, "mpi", 8)
    for count, arguments in (3, [config]), (2, ["--resume", tmp_path / "mpi", "--steps", 16]):
        with mpirun(count, "exchange", *arguments) as process:
            said, _ = process.communicate()
        assert process.returncode == 0, said
        assert "on mpi:0/cpu: 0, " in said
        assert "on mpi:1/cpu: 1" in said
    alone = exchanged(alanine, tmp_path, "alone", 16)
    subprocess.run([*COMMAND, "exchange", alone], check=True, env=without_launcher())
    for name in ("manifest.json", "exchange.csv", "energies.csv"):
        assert (tmp_path / "alone" / name).read_bytes() == (tmp_path / "mpi" / name).read_bytes()


@needs_mpirun
def test_devices_of_an_exchange_in_processes_are_refused(
    alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    config = exchanged(alanine, tmp_path, "mpi", 8)
    config.write_text(config.read_text().replace("every = 4", 'every = 4\ndevices = ["cpu"]'))
    with mpirun(2, "exchange", config) as process:
        said, _ = process.communicate()
    assert process.returncode != 0
    assert "leave out [exchange] devices" in " ".join(said.split())


# A run that ends so in process 0.
STATUSES = """
import os, sys
from quiltmd.workers import mpi
from quiltmd.commands import cli
def app():
    mpi.join()
    {end}
cli.app = app
cli.main()
"""


@needs_mpirun
@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("sys.exit(0)", 0),
        ("sys.exit(75)", 75),
        ("raise cli.QuiltError('on purpose')", 1),
        ("os._exit(0)", 1),  # without a word
    ],
)
def test_all_processes_end_with_the_status_of_the_first(end: str, status: int) -> None:
    """As the launcher gives that of one of them."""
    script = STATUSES.format(end=end)
    with mpirun(2, command=[sys.executable, "-c", script]) as process:
        said, _ = process.communicate()
    assert (process.returncode == 0) == (status == 0), said


@needs_mpirun
def test_a_process_that_is_killed_ends_all(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "mpi"
    arguments = run_arguments(alanine, out, 10**8)
    arguments[arguments.index("--log-every") + 1] = 100
    with mpirun(2, *arguments) as process:
        try:
            log = out / "log.csv"
            assert comes_true(lambda: log.exists() and log.read_text().count("\n") > 3)
            all_of_it = processes_with(str(out))
            # Process 0 is the one that has the folder open: its lock.
            others = [p for p in all_of_it if not has_open(p, out)]
            assert (len(all_of_it), len(others)) == (2, 1)
            os.kill(others[0], signal.SIGKILL)
            said, _ = process.communicate(timeout=250)
        finally:
            process.kill()
    assert process.returncode != 0
    # MPICH's launcher may be quicker than we are, and then names the process itself.
    ours = "error: the worker on rank 1" in said and "the last good checkpoint is" in said
    assert ours or f"PID {others[0]} RUNNING" in said
    assert comes_true(lambda: not any(is_alive(p) for p in all_of_it))
    assert (out / "checkpoint.qmd").exists()


# Waits for process 0 for six seconds, and not for a minute.
IMPATIENT = """
from quiltmd.workers import mpi
mpi._CLIENT_GONE = 6.0
from quiltmd.commands.cli import main
main()
"""


@needs_mpirun
@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_is_stopped_ends_all(
    victim: int, alanine: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "mpi"
    arguments = [*run_arguments(alanine, out, 10**8), "--silence", 6]
    arguments[arguments.index("--log-every") + 1] = 100
    with mpirun(2, *arguments, command=[sys.executable, "-c", IMPATIENT]) as process:
        try:
            log = out / "log.csv"
            assert comes_true(lambda: log.exists() and log.read_text().count("\n") > 3)
            all_of_it = sorted(processes_with(str(out)), key=lambda p: not has_open(p, out))
            assert len(all_of_it) == 2
            os.kill(all_of_it[victim], signal.SIGSTOP)
            said, _ = process.communicate(timeout=250)
        finally:
            process.kill()
    assert process.returncode != 0
    lost = ("process 0 of this run (on", "error: the worker on rank 1")[victim]
    assert lost in said, said
    assert comes_true(lambda: not any(is_alive(p) for p in all_of_it))
    assert (out / "checkpoint.qmd").exists()


# Process 1 is stopped before it comes to MPI_Init, or between that and the exchange of addresses.
STOPPED_AT_THE_START = """
import os, signal
from quiltmd.workers import mpi
mpi._START = 3.0
load = mpi._load_mpi
is_second = "1" in (os.environ.get("OMPI_COMM_WORLD_RANK"), os.environ.get("PMI_RANK"))
def stopped_load(count):
    if is_second and {before}:
        os.kill(os.getpid(), signal.SIGSTOP)
    found = load(count)
    if is_second:
        os.kill(os.getpid(), signal.SIGSTOP)
    return found
mpi._load_mpi = stopped_load
from quiltmd.commands.cli import main
main()
"""


@needs_mpirun
@pytest.mark.parametrize("before", [True, False])
def test_a_process_that_is_stopped_at_the_start_ends_all(before: bool, tmp_path: Path) -> None:
    """Process 0 ends, and the launcher kills the other; Open MPI's may then hang itself."""
    script = STOPPED_AT_THE_START.format(before=before)
    arguments = ("run", "--resume", tmp_path / "none")
    with mpirun(2, *arguments, command=[sys.executable, "-c", script]) as process:
        try:
            assert process.stdout is not None
            said = next((line for line in process.stdout if "error: this process" in line), "")
            assert "has waited for the others for 3 s: one has been stopped, or" in said
            assert comes_true(lambda: not processes_with(str(tmp_path / "none")))
        finally:
            process.kill()


def has_open(process: int, folder: Path) -> bool:
    for link in Path(f"/proc/{process}/fd").iterdir():
        try:
            if os.readlink(link).startswith(str(folder)):
                return True
        except OSError:
            continue
    return False


@needs_mpirun
def test_processes_of_different_runs_are_refused(tmp_path: Path) -> None:
    script = f"{sys.executable} -m quiltmd run --resume {tmp_path}/$OMPI_COMM_WORLD_RANK$PMI_RANK"
    found = subprocess.run(
        ["mpirun", "-n", "2", "sh", "-c", script],
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert found.returncode != 0
    assert "these have different arguments" in found.stderr


@pytest.mark.parametrize(("told", "status"), [(b"\0", 0), (b"\x4b", 75), (b"", 1)])
def test_the_status_of_process_0_is_that_of_the_others(told: bytes, status: int) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(told)
        ours.close()
        assert mpi._status_of_first(theirs) == status


@pytest.fixture
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in mpi._COUNTS:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_how_many_a_launcher_has_started(no_launcher: pytest.MonkeyPatch) -> None:
    assert mpi.launched() == 1
    no_launcher.setenv("SLURM_STEP_NUM_TASKS", "2")  # mpirun has been started by srun, on each host
    assert mpi.launched() == 2
    no_launcher.setenv("OMPI_COMM_WORLD_SIZE", "8")
    assert mpi.launched() == 8
    no_launcher.setenv("OMPI_COMM_WORLD_SIZE", "1")
    assert mpi.launched() == 1
    no_launcher.setenv("OMPI_COMM_WORLD_SIZE", "")  # left empty by a script: as if not set
    assert mpi.launched() == 2


def test_without_mpi4py_several_processes_are_refused(no_launcher: pytest.MonkeyPatch) -> None:
    no_launcher.setenv("PMI_SIZE", "4")
    no_launcher.setitem(sys.modules, "mpi4py.MPI", None)
    no_launcher.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(QuiltError, match=r"one of 4 .* install quiltmd\[mpi\]"):
        mpi.join()


@needs_mpirun
def test_another_mpi_than_that_of_the_launcher_is_refused(tmp_path: Path) -> None:
    """A launcher that mpi4py's library does not know starts processes that are each alone."""
    environment = os.environ | ENVIRONMENT | {"SLURM_STEP_NUM_TASKS": "2"}
    found = subprocess.run(
        [*COMMAND, "run", "--resume", tmp_path], env=environment, capture_output=True, text=True
    )
    assert found.returncode == 1
    assert "mpi4py finds 1: it was made for another MPI" in found.stderr


def test_one_process_loads_no_mpi(alanine: tuple[Path, Path], tmp_path: Path) -> None:
    code = (
        "import sys\nfrom quiltmd.commands.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n"
        "    assert not end.code and not [name for name in sys.modules if 'mpi4py' in name]\n"
    )
    arguments = [str(a) for a in run_arguments(alanine, tmp_path / "out", 2)]
    subprocess.run([sys.executable, "-c", code, *arguments], env=without_launcher(), check=True)
