# SPDX-License-Identifier: Apache-2.0
"""A machine as predictions see it: what tasks cost on one of its ranks, and its network.

A machine is a TOML file.  A task takes `fixed` microseconds and `each` nanoseconds for every unit
of its work: atoms, pairs of atoms within reach of the lists, grid points, or bytes of a message.
Messages travel as in the LogGP model (Alexandrov et al., SPAA 1995): a latency, and a time for each
byte, during which a link is taken; overheads at both ends are tasks of the ranks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..errors import QuiltError
from ..running.config import read_config
from ..running.faults import describe

_HERE = Path(__file__).parent / "machines"

Count = Annotated[int, Field(ge=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Cost(_Part):
    """Time of a task."""

    fixed: float = Field(default=0.0, ge=0, description="us")
    each: float = Field(default=0.0, ge=0, description="ns for each unit of work")

    def time(self, units: float) -> float:
        """Microseconds for so much work."""
        return self.fixed + 1e-3 * self.each * units


class Costs(_Part):
    """Times of the tasks of a step and of a rebuild.

    Units: atoms for spread, gather, terms, integrate, clear and rebuild; pairs of atoms within
    reach of the lists for pairs and lists, those within the Coulomb cutoff and the buffer of the
    lists for coulomb, which is a part of the same task as pairs; grid points for planes, lines,
    inverse, restrict and prolong; grid points times points of the stencil for stencil and levels;
    bytes for send and receive.
    """

    spread: Cost = Cost()
    planes: Cost = Cost()
    lines: Cost = Cost()
    inverse: Cost = Cost()
    restrict: Cost = Cost()
    stencil: Cost = Cost()
    levels: Cost = Cost()
    prolong: Cost = Cost()
    gather: Cost = Cost()
    terms: Cost = Cost()
    pairs: Cost = Cost()
    coulomb: Cost = Cost()
    integrate: Cost = Cost()
    clear: Cost = Cost()
    lists: Cost = Cost()
    rebuild: Cost = Cost()
    send: Cost = Cost()
    receive: Cost = Cost()


class Island(_Part):
    """Ranks that reach each other faster than through the network: GPUs of a host, say."""

    size: int = Field(ge=1, description="ranks")
    latency: float = Field(ge=0, description="us")
    bandwidth: float = Field(gt=0, description="GB/s in and out of a rank, each way")


class Network(_Part):
    """Network between islands; without islands, between ranks.

    `topology`: "flat", a switch for all; "fat-tree" of switches with `radix` ports below, tapered
    by `taper`; "torus" of `dimensions`, by default as cubic as it gets; "dragonfly" of groups of
    `routers` with `hosts` each.
    """

    topology: Literal["flat", "fat-tree", "torus", "dragonfly"] = "flat"
    latency: float = Field(ge=0, description="us, from end to end, without hops")
    hop: float = Field(default=0.0, ge=0, description="us for each hop")
    bandwidth: float = Field(gt=0, description="GB/s of a link, each way")
    injection: float | None = Field(
        default=None, gt=0, description="GB/s of a port of a node; by default one link's"
    )
    ports: int = Field(default=1, ge=1, description="of a node, which its ranks take in turn")
    radix: int = Field(default=16, ge=1)
    taper: float = Field(default=1.0, gt=0, description="bandwidth above a switch over that below")
    dimensions: tuple[Count, Count, Count] | None = None
    routers: int = Field(default=16, ge=1)
    hosts: int = Field(default=4, ge=1)


class Machine(_Part):
    """A machine.

    `execution`: a rank does one task at a time ("serial"), or its streams run side by side
    ("streams").  `overlap`: of streams, the share of a task's fixed time in which others may use
    the device.
    """

    name: str
    execution: Literal["serial", "streams"]
    overlap: float = Field(default=1.0, ge=0, le=1)
    costs: Costs
    network: Network
    island: Island | None = None

    @model_validator(mode="after")
    def _check(self) -> Machine:
        if self.costs.pairs == Cost():
            raise ValueError("costs.pairs is missing: the cost of the pairs of atoms")
        return self


def read_machine(name: str) -> Machine:
    """The machine in a file, or one of those that come with the package, by its name.

    QuiltError if it is missing or makes no sense.
    """
    known = sorted(path.stem for path in _HERE.glob("*.toml"))
    path = _HERE / f"{name}.toml" if name in known else Path(name)
    if not path.exists():
        raise QuiltError(f"{name} is neither a file nor one of the machines {', '.join(known)}")
    return _machine(read_config(path), name)


def _machine(values: dict[str, object], name: str) -> Machine:
    try:
        return Machine.model_validate(values)
    except ValidationError as error:
        faults = "; ".join(map(_in_words, error.errors()))
        raise QuiltError(f"machine {name}: {faults}") from None


def _in_words(fault: Any) -> str:
    sections: dict[str, type[BaseModel]] = {"costs": Costs, "network": Network, "island": Island}
    key = str(fault["loc"][0]) if fault["loc"] else ""
    if key in Machine.model_fields and key not in sections:
        if fault["type"] == "missing":
            return f"{key} is missing"
        message = fault["msg"]
        return f"{key}: {message[:1].lower()}{message[1:]} (found {fault['input']!r})"
    return describe(fault, {name: kind.model_fields for name, kind in sections.items()})
