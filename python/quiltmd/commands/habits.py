# SPDX-License-Identifier: Apache-2.0
"""What users of other programs type by habit, and what to type for it here."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from ..errors import QuiltError

_CONTROL = "name the control file without an option, as in 'quiltmd run md.mdp'"
_RESULTS = "--out FOLDER names the folder of all results"
_OUTPUTS = "leave it out: all results are in the folder that --out names"
_DEVICE = "--device says what computes ('cpu', 'cuda:0,1'), and --threads and --ranks how many"
_HERE = "leave it out: Quilt decides this itself"

# By option, of GROMACS (gmx grompp, gmx mdrun), Amber (pmemd, sander), NAMD and LAMMPS.
_OPTIONS = {
    **dict.fromkeys(("-f", "-i", "-in"), _CONTROL),
    **dict.fromkeys(("-o", "-deffnm"), _RESULTS),
    **dict.fromkeys(("-x", "-e", "-g", "-cpo", "-po", "-inf", "-mdinfo", "-l", "-log"), _OUTPUTS),
    "-s": "there is no tpr file: name md.mdp, and the files of -p and -c",
    "-t": "-c FOLDER takes positions, velocities and box from the folder of a run",
    "-cpi": "--resume FOLDER continues a run; -c FOLDER starts another one from its end",
    "-ref": "-r FILE (--reference) has the reference positions",
    "-O": "--overwrite moves earlier results out of the way",
    "-maxh": "--max-hours ends a run in time",
    "-rerun": "'quiltmd energy --trajectory' has the energies of a trajectory",
    "-replex": "'quiltmd exchange' runs replica exchange",
    **dict.fromkeys(
        ("-nt", "-ntmpi", "-ntomp", "-gpu_id", "-nb", "-pme", "-update", "-sf", "-pk"), _DEVICE
    ),
    **dict.fromkeys(("-v", "-maxwarn", "-pin", "-dlb", "-tunepme", "-bonded"), _HERE),
}
_OF_NAMD = re.compile(r"\+(p|ppn|devices|pemap)\d*$")

_PROGRAMS = {
    **dict.fromkeys(("grompp", "mdrun"), "'quiltmd run md.mdp -p topol.top -c conf.gro'"),
    **dict.fromkeys(("pdb2gmx", "solvate", "genion", "editconf"), "'quiltmd prepare protein.pdb'"),
    **dict.fromkeys(("minimize", "simulate", "md"), "'quiltmd run --help'"),
}


def refuse_options(arguments: Sequence[str], own: Collection[str]) -> None:
    """QuiltError that says what to type in place of an option of another program.

    Parameters
    ----------
    arguments:
        Those of a command, after its name.
    own:
        Options of the command: the same letters may have another meaning here.
    """
    for word in arguments:
        advice = _DEVICE if _OF_NAMD.match(word) else _OPTIONS.get(word)
        if advice is not None and word not in own:
            raise QuiltError(f"{word} is not an option of this command: {advice}")


def refuse_as_command(word: str) -> None:
    """QuiltError where a file, or a program's name or option, stands in the place of a command."""
    if Path(word).is_file():
        raise QuiltError(f"{word} is a file, not a command: run it with 'quiltmd run {word}'")
    if _OF_NAMD.match(word):
        raise QuiltError(f"{word} is not a command: 'quiltmd run FILE' runs a file; {_DEVICE}")
    if word in _PROGRAMS:
        raise QuiltError(f"there is no command {word}: {_PROGRAMS[word]} does this")
