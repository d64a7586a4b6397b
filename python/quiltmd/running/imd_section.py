# SPDX-License-Identifier: Apache-2.0
"""Frames streamed to viewers: [imd] of a configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field

from ..description.checks import LAST_STEP
from ..description.selection import select
from ..description.settings import OnResume
from ..description.system import System
from ..external.imd_server import ImdServer, check_address, check_version
from ..external.viewer_force import ViewerForce
from .section import Section
from .simulation import Simulation


class ImdSection(Section):
    """[imd]: the run streams its frames by the IMD protocol to viewers and analyses."""

    port: Annotated[int, OnResume.MAY_CHANGE] = Field(
        default=8888,
        ge=0,
        le=65535,
        description="Stream frames to viewers (IMD) on this port; 0: any free port.",
    )
    host: Annotated[str, OnResume.NOT_COMPARED] = Field(
        default="127.0.0.1", min_length=1, description="Address to listen on."
    )
    trust_network: Annotated[bool, OnResume.NOT_COMPARED] = Field(
        default=False, description="Listen on an address that other machines can reach."
    )
    every: Annotated[int, OnResume.NOT_COMPARED] = Field(
        default=100, ge=1, le=LAST_STEP, description="Steps between frames."
    )
    select: Annotated[str, OnResume.NOT_COMPARED] = Field(
        default="all", description="Atoms to send."
    )
    wrap: Annotated[bool, OnResume.NOT_COMPARED] = Field(
        default=True, description="Put whole molecules into the cell."
    )
    energies: Annotated[bool, OnResume.NOT_COMPARED] = Field(
        default=False, description="Also send energies."
    )
    velocities: Annotated[bool, OnResume.NOT_COMPARED] = Field(
        default=False, description="Also send velocities."
    )
    forces: Annotated[bool, OnResume.NOT_COMPARED] = Field(
        default=False, description="Also send forces; the run waits for them."
    )
    version: Annotated[Literal[2, 3], OnResume.NOT_COMPARED] = Field(
        default=3, description="Version of the protocol: 3, or 2 for VMD."
    )
    wait: Annotated[bool, OnResume.NOT_COMPARED] = Field(
        default=False, description="Wait while no viewer is connected."
    )
    max_wait: Annotated[float, OnResume.NOT_COMPARED] = Field(
        default=0.1, ge=0, le=1, description="Largest share of the time spent waiting for a viewer."
    )
    may_stop: Annotated[bool, OnResume.NOT_COMPARED] = Field(
        default=False, description="Let viewers stop the run."
    )
    pull: str | None = Field(default=None, description="Atoms that viewers may pull.")
    pull_every: int | None = Field(
        default=None,
        ge=4,
        le=LAST_STEP,
        description="Steps between changes of these forces; default: 20.",
    )

    def check(self, system: System) -> None:
        """QuiltError if the settings do not suit each other or the system."""
        check_version(self.version, self.velocities, self.forces)
        select(system, self.select)

    def check_address(self) -> None:
        """QuiltError if the server cannot listen."""
        check_address(self.host, self.port, self.trust_network)

    def viewer_force(self) -> ViewerForce | None:
        """The force through which viewers pull atoms."""
        given = {} if self.pull_every is None else {"every": self.pull_every}
        return None if self.pull is None else ViewerForce(self.pull, **given)

    def serve(
        self, simulation: Simulation, on_stop: Callable[[], object], tell: Callable[[str], object]
    ) -> ImdServer:
        """The server, which listens; QuiltError if it cannot."""
        forces = [one for one in simulation.external if isinstance(one, ViewerForce)]
        return ImdServer(
            simulation,
            **self.model_dump(exclude={"may_stop", "pull", "pull_every"}),
            force=forces[0] if forces else None,
            on_stop=on_stop if self.may_stop else None,
            tell=tell,
        )
