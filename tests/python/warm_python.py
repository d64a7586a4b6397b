# SPDX-License-Identifier: Apache-2.0
"""A Python that has imported the modules of `quiltmd`, and forks a process for each command.

So each command has a process of its own, and only the first waits for the imports.  Requests are
lines of JSON on stdin; the answers on stdout are the process and how it has ended.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from importlib import import_module
from typing import Any

MODULES = (
    "commands.cli",
    "commands.options",
    "running.runner",
    "running.config",
    "inputs",
    "_core",
)


def main() -> None:
    """Runs commands until stdin ends; returns in a process that has run one."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the command sets it: no threads before a fork
    for name in MODULES:
        import_module(f"quiltmd.{name}")
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            become(json.loads(line))
            return
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def become(request: dict[str, Any]) -> None:
    """This process is from now on what `python -m quiltmd`, or another program, would be."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, name in enumerate((os.devnull, request["stdout"], request["stderr"])):
        file = os.open(name, os.O_WRONLY if number else os.O_RDONLY)
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
    sys.path[0] = request["folder"]
    if program := request["program"]:
        sys.path[0], sys.argv = os.path.dirname(program), [program, *request["arguments"]]
        runpy.run_path(program, run_name="__main__")
        return
    sys.argv = ["quiltmd", *request["arguments"]]
    runpy.run_module("quiltmd", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
