# SPDX-License-Identifier: Apache-2.0
"""Completion in bash, zsh and fish, installed and used as a user does at a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from terminal import Terminal

# Without the machine's own settings, but with the user's, where completion is installed.
SHELLS = {"bash": ["bash", "-i"], "zsh": ["zsh", "-d", "-i"], "fish": ["fish", "-i"]}
PROMPT = r"[#$%>] \r?\Z"


def shell(name: str, home: Path) -> Terminal:
    """An interactive shell whose user is at home in a folder."""
    run = f"import os; os.execvp({name!r}, {SHELLS[name]!r})"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    (home / ".zshrc").touch()  # without one, zsh asks a new user what should be in it
    # Without these, fish reads all manual pages of the machine for a new user.
    (home / ".local/share/fish/generated_completions").mkdir(parents=True, exist_ok=True)
    return Terminal("-c", run, HOME=str(home), ZDOTDIR=str(home), PATH=path, fish_greeting="")


@pytest.mark.parametrize("name", SHELLS)
def test_a_command_and_its_option_are_completed(name: str, tmp_path: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    if not (Path(sys.executable).parent / "quiltmd").exists():
        pytest.skip("quiltmd is not installed as a command (OFFLINE=1)")
    with shell(name, tmp_path) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type(b"quiltmd --install-completion\r")
        terminal.wait_for(f"{name} completion installed")
    with shell(name, tmp_path) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type(b"quiltmd diges\t")
        if name == "zsh":  # Typer's script, loaded by the first Tab, completes from the second on
            terminal.wait_for("\a")
            terminal.type(b"\t")
        terminal.wait_for(r"diges\W*t ")
        terminal.type(b"--hel\t")
        terminal.wait_for(r"--hel\W*p ")
