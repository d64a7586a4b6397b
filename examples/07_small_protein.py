# SPDX-License-Identifier: Apache-2.0
"""The input of the worked example of replica exchange (docs/user/exchange.md): a small protein.

Tryptophan zipper 2, twelve residues that fold into a hairpin, is cut out of its box of water (files
of openmmtools) and written as trpzip2.pdb; the exchange takes its force field from files that come
with OpenMM.
"""

from pathlib import Path

import quiltmd
from quiltmd.inputs.standard_systems import system_files

system, state = quiltmd.load(*system_files("trpzip2"))
quiltmd.write_pdb("trpzip2.pdb", quiltmd.Simulation(system, state), select="solute")

# Without the box of the water, in which the protein alone would be periodic.
file = Path("trpzip2.pdb")
lines = [line for line in file.read_text().splitlines() if not line.startswith("CRYST1")]
file.write_text("\n".join(lines) + "\n")
print(f"{sum(line.startswith('ATOM') for line in lines)} atoms in {file}")
