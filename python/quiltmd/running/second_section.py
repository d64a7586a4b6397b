# SPDX-License-Identifier: Apache-2.0
"""The molecule that one of the system turns into: the section [alchemy.second]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from ..description.hybrid import SecondMolecule
from ..inputs import included_files, load
from .input_hashes import file_hash, files_beside
from .section import AbsolutePath, Section
from .system_sections import ParameterFile, StateFile


class SecondSection(Section):
    """[alchemy.second]: the molecule that one of the system turns into; see `hybrid`."""

    topology: AbsolutePath = Field(description="Topology file of the second molecule alone.")
    coordinates: StateFile = Field(description="Coordinate file of the second molecule.")
    mapping: AbsolutePath = Field(
        description="JSON file with pairs of atoms in both molecules, counted from 0 in the "
        "topology of [system] and in this topology."
    )
    parameters: tuple[ParameterFile, ...] = Field(
        default=(), description="Force-field parameter files that this topology needs, in order."
    )
    defines: tuple[str, ...] = Field(
        default=(), description="Macros to define for a GROMACS topology: NAME or NAME=value."
    )

    co_ion: str = Field(
        default="",
        description="If the molecules have different net charges: selection of ions of [system] "
        "whose charges change so that the net charge stays the same; empty: none.",
    )

    def load(self, **settings: Any) -> SecondMolecule:
        """The molecule, alone; settings as for `quiltmd.load`."""
        own: dict[str, Any] = {"parameters": self.parameters, "defines": self.defines}
        alone = load(self.topology, self.coordinates, box=(), **own, **settings)
        return SecondMolecule(*alone, self.mapping, self.co_ion or None)

    def input_files(self) -> dict[str, Path]:
        """Every input by a name of its own."""
        numbered = {f"parameters-{k}": file for k, file in enumerate(self.parameters, start=1)}
        single = {"topology": self.topology, "coordinates": self.coordinates}
        return {**single, "mapping": self.mapping, **numbered}

    def with_inputs(self, files: dict[str, Path]) -> SecondSection:
        """A copy with other paths to the inputs, named as by `input_files`."""
        paths: dict[str, Any] = {name: files[name] for name in ("topology", "coordinates")}
        parameters = [file for name, file in files.items() if name.startswith("parameters-")]
        paths |= {"mapping": files["mapping"], "parameters": tuple(parameters)}
        return self.model_copy(update=paths)

    def included_files(self) -> dict[str, Path]:
        """Files that the topology includes from its own folder, by their names there."""
        return files_beside(self.topology, self.defines)

    def identity(self) -> dict[str, Any]:
        """What must stay on resume: contents of the files, and macros."""
        included = [Path(file) for file in included_files(self.topology, self.defines)]
        return {
            "files": {name: file_hash(file) for name, file in self.input_files().items()},
            "includes": [file_hash(file) for file in included],
            "defines": list(self.defines),
            **({"co_ion": self.co_ion} if self.co_ion else {}),
        }
