# SPDX-License-Identifier: Apache-2.0
"""Settings of the nonbonded forces, and the PME parameters that follow from them.

An immutable description: nothing is computed before a box is known.  One error tolerance sets both
the Ewald split and the grid, because it is the one number that a user can judge; an explicit
`pme_alpha` with `pme_grid` reproduces the settings of another program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ..errors import QuiltError
from .box import box_widths
from .checks import user_settings
from .mesh_rules import (
    ChargeMesh,
    fmm_order,
    fmm_parameters,
    lj_pme_parameters,
    open_fmm_parameters,
    pme_parameters,
    prolate_parameters,
    refuse_coarse_grid,
    refuse_large_grid,
)
from .nonbonded_checks import FIELD, FMM, LJ_PME, PME, check_together, defaults_with
from .settings import OnResume
from .units import Nanometres, PerNanometre

_SHORTEST_CUTOFF = 0.1  # nm; no two atoms that interact are closer
# Limits below which splines of order 4 on a finer grid are faster.
_SMALL_BOX, _LOOSE = 600.0, 1e-4  # nm^3, relative error
_SixNumbers = tuple[Nanometres, Nanometres, Nanometres, Nanometres, Nanometres, Nanometres]
# Methods that need a periodic box, as messages call them.
_IN_BOXES = {"pme": "PME", "reaction-field": "a reaction field"}
_Split = Literal["prolate", "gaussian"]


@user_settings
@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Nonbonded:
    """Lennard-Jones and Coulomb interactions.

    Attributes
    ----------
    cutoff:
        Direct-space and Lennard-Jones cutoff, nm; at most half the smallest box width.
    method:
        "pme" (smooth particle mesh Ewald), "fmm" (a fast multipole method on grids for the same sum
        as PME; without a periodic box, for the sum over all charges), "reaction-field"
        (charges within the cutoff, and the field of a uniform medium beyond it), "cutoff" (plain
        truncation, for tests, and for implicit solvent, where Coulomb energies are shifted to zero
        at the cutoff), or, without a periodic box, "no-cutoff" (all pairs of atoms; `cutoff` has no
        effect).
    relative_permittivity:
        Relative dielectric constant that divides all Coulomb energies, those of 1-4 pairs included,
        with every method (GROMACS' epsilon-r; 15 in Martini); 0: infinite, no Coulomb interactions.
    dielectric:
        Dielectric constant of the medium beyond the cutoff, with the method reaction-field
        (GROMACS' epsilon-rf); 0: infinite, a conductor.
    reaction_field_on_exclusions:
        With the method reaction-field: whether the field also acts between excluded pairs within
        the cutoff, and of each charge on itself (GROMACS), or not (OpenMM; pair forces then take
        longer).
    pme_order:
        Interpolation order, 4 or 5: the number of grid points in each direction among which a
        charge is spread.  None: 5; or 4, with a finer grid, in boxes below 600 nm^3 with tolerances
        from 1e-4, unless `pme_grid` or `lj_pme_grid` is given.
    pme_tolerance:
        Relative rms error of forces; determines the parameter of the split and the grid, if these
        are not given.
    pme_split:
        Function that splits 1/r between pairs and mesh: "prolate" (the default), whose pair
        potential is zero beyond the cutoff and whose mesh needs a fifth (order 5) or a third
        (order 4) of the points, or "gaussian", as in OpenMM and GROMACS, with B-splines.  The sum
        of all energies is the same within the tolerance; direct and reciprocal energies differ.
    coulomb_cutoff:
        Cutoff of the direct sum of charges, nm, at most `cutoff`, which is that of Lennard-Jones;
        None: `cutoff`, or 7/9 of it in large systems of water (see the theory of nonbonded forces).
        A shorter cutoff makes pair forces cheaper and the grid finer, with the same error of
        forces, because atoms without Lennard-Jones interactions, such as hydrogens of water, then
        have fewer pairs.  It needs a prolate split, and `lennard_jones` "cutoff" without switching.
    pme_alpha:
        Ewald splitting parameter of a Gaussian, 1/nm; given together with `pme_grid`.
    pme_bandwidth:
        Bandwidth of a prolate split, 4 to 20; given together with `pme_grid`.
    pme_grid:
        Charge grid (nx, ny, nz); given together with `pme_alpha` or `pme_bandwidth`.
    pme_window:
        Grid spacing, nm, for which the interpolation functions have the least aliasing; given
        together with `pme_bandwidth` and `pme_grid`, whose largest spacing along an edge it should
        be.  0: B-splines, with a grid for these.  None: with order 5 that of the grid which the
        tolerance determines; with order 4, or `pme_grid`, B-splines.
    lennard_jones:
        "cutoff", or "pme", with the method pme: beyond the cutoff the dispersion, with C6
        coefficients by the geometric rule, is summed on a second mesh, with `pme_order`.  Within
        the cutoff the parameters of the System apply, with any combination rule, and energies are
        shifted to zero at the cutoff, as in OpenMM (LJPME) and GROMACS (vdwtype PME).
    lj_pme_tolerance:
        Fraction of a pair's dispersion at the cutoff that the direct sum omits (GROMACS'
        ewald-rtol-lj); determines `lj_pme_alpha` and the grid, if these are not given.
    lj_pme_alpha:
        Ewald splitting parameter of the dispersion, 1/nm; given together with `lj_pme_grid`.
    lj_pme_grid:
        Grid of the dispersion (nx, ny, nz); given together with `lj_pme_alpha`.
    fmm_tolerance:
        With the method fmm: relative rms error of forces; determines order, bandwidth and grid, if
        these are not given (bandwidth and grid cannot be without a periodic box).
    fmm_order:
        Interpolation order, 4, 5, 6 or 8: the number of grid points in each direction among
        which a charge is spread.  5, for tolerances of 1e-4 and above, is the fastest, but
        conserves energy less well.  None: 6, or 8 for tolerances below 2.5e-4.
    fmm_bandwidth:
        Bandwidth of the prolate split, 4 to 20; given together with `fmm_grid`.
    fmm_grid:
        Grid of the first level (nx, ny, nz): even numbers, which are halved from level to level;
        given together with `fmm_bandwidth`.
    fmm_box:
        Box vectors, nm, for which the stencil is chosen: a_x, b_x, b_y, c_x, c_y, c_z; the default
        is the box at the start.  A simulation that continues in another box, for example after a
        barostat has acted, needs the box with which it began.  Given with `fmm_grid`.
    dispersion_correction:
        Long-range correction: the mean-field energy of the Lennard-Jones interactions beyond the
        cutoff, and of the effect of `potential_shift` or switching within it; with `lennard_jones`
        = "pme", of the interactions that the mesh does not include (as GROMACS' DispCorr; OpenMM
        has no correction then).
    potential_shift:
        Shift the Lennard-Jones and the direct Coulomb potential to zero at the cutoff.
    switching:
        How Lennard-Jones interactions end between `switch_distance` and the cutoff.  "none": they
        are truncated.  "potential": the energy is multiplied by 1 - 10 x^3 + 15 x^4 - 6 x^5, x
        linear in r (OpenMM; GROMACS' potential-switch). "charmm": the energy is multiplied by (1 -
        x)^2 (1 + 2 x), x linear in r^2 (CHARMM's vswitch, NAMD's switching). "charmm-force": the
        force goes to zero (CHARMM's vfswitch, NAMD's vdwForceSwitching).  "gromacs-force":
        likewise, by the function of GROMACS' force-switch.
    switch_distance:
        Distance at which switching begins, nm; given together with `switching`.
    """

    cutoff: Nanometres = Field(
        default=0.9,
        gt=0,
        description="Cutoff of Lennard-Jones and direct-space Coulomb interactions, nm.",
    )
    method: Literal["pme", "fmm", "reaction-field", "cutoff", "no-cutoff"] = Field(
        default="pme",
        description="Long-range electrostatics: pme, fmm (fast multipole method), cutoff (no "
        "interactions beyond the cutoff, for tests and implicit solvent), reaction-field, or "
        "no-cutoff (all pairs of atoms; only without a periodic box, and the default there).",
    )
    relative_permittivity: float = Field(
        default=1.0,
        ge=0,
        description="Relative dielectric constant that divides all Coulomb interactions (GROMACS' "
        "epsilon-r); 0: infinite, no Coulomb interactions.",
    )
    dielectric: Annotated[float, FIELD] = Field(
        default=78.3,
        ge=0,
        description="Dielectric constant of the medium beyond the cutoff, for the reaction field; "
        "0: infinite.",
    )
    reaction_field_on_exclusions: Annotated[bool, FIELD] = Field(
        default=True,
        description="Apply the reaction field to excluded pairs as well: GROMACS does so, OpenMM "
        "does not.",
    )
    pme_order: Annotated[Literal[4, 5] | None, PME] = Field(
        default=None,
        description="Interpolation order of PME, 4 or 5; default: 5, or 4 in small boxes.",
    )
    pme_tolerance: Annotated[float, PME] = Field(
        default=5e-4,
        gt=0,
        lt=0.5,
        description="Relative rms error of the forces; sets the PME grid, and the bandwidth or "
        "Ewald coefficient of the split.",
    )
    # What follows from it is compared on resume: alpha or bandwidth, and the grid.
    pme_split: Annotated[_Split | None, PME, OnResume.NOT_COMPARED] = Field(
        default=None,
        description="Function that splits the Coulomb interaction into direct and reciprocal "
        "space: prolate (the default, needs fewer grid points) or gaussian (the standard Ewald "
        "split, as in other programs).",
    )
    coulomb_cutoff: Annotated[Nanometres | None, PME] = Field(
        default=None,
        ge=_SHORTEST_CUTOFF,
        description="Cutoff of direct-space Coulomb interactions, nm, at most the cutoff; needs "
        "PME with the prolate split; default: the cutoff, or 7/9 of it in large systems of which "
        "most atoms have no Lennard-Jones interactions.",
    )
    pme_alpha: Annotated[PerNanometre | None, PME] = Field(
        default=None,
        gt=0,
        description="Ewald coefficient of the gaussian split, 1/nm, instead of pme_tolerance; "
        "needs pme_grid.",
    )
    pme_bandwidth: Annotated[float | None, PME] = Field(
        default=None,
        ge=4,
        le=20,
        description="Bandwidth of the prolate split, instead of pme_tolerance; needs pme_grid.",
    )
    pme_grid: Annotated[tuple[int, int, int] | None, PME] = Field(
        default=None,
        description="Points of the PME grid along each axis, instead of pme_tolerance; needs "
        "pme_alpha or pme_bandwidth.",
    )
    pme_window: Annotated[Nanometres | None, PME] = Field(
        default=None,
        ge=0,
        le=10,
        description="Grid spacing, nm, for which the interpolation functions of PME have the "
        "least aliasing; needs pme_bandwidth and pme_grid; 0 (the default with pme_grid or order "
        "4): interpolation with B-splines.",
    )
    lennard_jones: Annotated[Literal["cutoff", "pme"], PME] = Field(
        default="cutoff",
        description="Dispersion beyond the cutoff: none (cutoff), or by Lennard-Jones PME (pme), "
        "which needs the method pme.",
    )
    lj_pme_tolerance: Annotated[float, LJ_PME] = Field(
        default=1e-3,
        gt=0,
        lt=0.5,
        description="Fraction of the dispersion of a pair at the cutoff that the direct sum omits; "
        "sets Ewald coefficient and grid of Lennard-Jones PME.",
    )
    lj_pme_alpha: Annotated[PerNanometre | None, LJ_PME] = Field(
        default=None,
        gt=0,
        description="Ewald coefficient of Lennard-Jones PME, 1/nm, instead of lj_pme_tolerance; "
        "needs lj_pme_grid.",
    )
    lj_pme_grid: Annotated[tuple[int, int, int] | None, LJ_PME] = Field(
        default=None,
        description="Points of the grid of Lennard-Jones PME along each axis, instead of "
        "lj_pme_tolerance; needs lj_pme_alpha.",
    )
    fmm_tolerance: Annotated[float, FMM] = Field(
        default=5e-4,
        ge=1e-5,
        le=1e-2,
        description="Relative rms error of the forces with the method fmm; sets its order, "
        "bandwidth and grid.",
    )
    fmm_order: Annotated[Literal[4, 5, 6, 8] | None, FMM] = Field(
        default=None,
        description="Interpolation order of the method fmm: 4, 5, 6 or 8; default: 6, or 8 for "
        "tolerances below 2.5e-4.",
    )
    fmm_bandwidth: Annotated[float | None, FMM] = Field(
        default=None,
        ge=4,
        le=20,
        description="Bandwidth of the method fmm, instead of fmm_tolerance; needs fmm_grid.",
    )
    fmm_grid: Annotated[tuple[int, int, int] | None, FMM] = Field(
        default=None,
        description="Grid of the method fmm, three even numbers, instead of fmm_tolerance; needs "
        "fmm_bandwidth.",
    )
    fmm_box: Annotated[_SixNumbers | None, FMM] = Field(
        default=None,
        description="Box for which the stencil of the method fmm is chosen, AX,BX,BY,CX,CY,CZ in "
        "nm; needs fmm_grid; default: the box at the start.",
    )
    dispersion_correction: bool = Field(
        default=True,
        description="Long-range correction for Lennard-Jones interactions beyond the cutoff.",
    )
    potential_shift: bool = Field(
        default=False,
        description="Shift the direct-space potentials so that they are zero at the cutoff.",
    )
    switching: Literal["none", "potential", "charmm", "charmm-force", "gromacs-force"] = Field(
        default="none",
        description="Lennard-Jones switching function: none (truncation), potential (OpenMM, "
        "GROMACS), charmm (vswitch, NAMD), charmm-force (vfswitch) or gromacs-force.",
    )
    switch_distance: Nanometres | None = Field(
        default=None, gt=0, description="Distance at which switching begins, nm; needs switching."
    )

    def __post_init__(self) -> None:
        check_together(self)

    def overridden(self, given: Mapping[str, Any]) -> Nonbonded:
        """These settings of an input, with some values replaced.

        Values that depend on a replaced setting are dropped.  A new tolerance, split or cutoff
        drops the split and the grid; a new grid the tolerance; a new method the settings of other
        methods; and switching = "none" the switching distance.
        """
        replaced: dict[str, Any] = {}
        method = given.get("method", self.method)
        if method != "pme":
            replaced = defaults_with(Nonbonded, PME)
        else:
            for of in ("pme", "lj_pme"):
                replaced |= self._mesh_overridden(of, given)
            if self._ends_coulomb_cutoff(given):
                replaced["coulomb_cutoff"] = None
            if given.get("lennard_jones", self.lennard_jones) != "pme":
                replaced |= defaults_with(Nonbonded, LJ_PME)
            elif self.lennard_jones != "pme":
                replaced |= {"switching": "none", "switch_distance": None}
        if method != "fmm" or "fmm_grid" in given or "fmm_tolerance" in given:
            replaced |= defaults_with(Nonbonded, FMM)
        if method != "reaction-field":
            replaced |= defaults_with(Nonbonded, FIELD)
        if given.get("switching") == "none" or method == "no-cutoff":
            replaced |= {"switching": "none", "switch_distance": None}
        if method == "no-cutoff":
            replaced["potential_shift"] = False
        return replace(self, **{**replaced, **given})

    def _ends_coulomb_cutoff(self, given: Mapping[str, Any]) -> bool:
        """Whether other settings go with a single cutoff only."""
        return (
            given.get("pme_alpha") is not None
            or given.get("pme_split") == "gaussian"
            or given.get("lennard_jones") == "pme"
            or given.get("switching", "none") != "none"
            or given.get("cutoff", self.cutoff) != self.cutoff
        )

    def _mesh_overridden(self, of: str, given: Mapping[str, Any]) -> dict[str, Any]:
        tolerance = f"{of}_tolerance"
        of_split = (
            ("pme_split", "pme_alpha", "pme_bandwidth", "pme_window")
            if of == "pme"
            else ("lj_pme_alpha",)
        )
        without = dict.fromkeys((*of_split, f"{of}_grid"))
        if f"{of}_grid" in given:
            return {**without, tolerance: getattr(Nonbonded, tolerance)}
        of_charges = of == "pme" and not given.keys().isdisjoint({"pme_split", "coulomb_cutoff"})
        by_tolerance = tolerance in given or of_charges
        if by_tolerance or given.get("cutoff", self.cutoff) != self.cutoff:
            return without
        return {}

    @classmethod
    def default(cls, box: NDArray[np.float64] | None) -> Nonbonded:
        """Default settings of a simulation: without a box, no cutoff."""
        return cls() if box is not None else cls(method="no-cutoff")

    @property
    def is_truncated(self) -> bool:
        """Whether van der Waals energies jump to zero at the cutoff."""
        ends_smoothly = self.potential_shift or self.switching != "none"
        return self.lennard_jones == "cutoff" and not ends_smoothly

    def resolve(self, box: NDArray[np.float64] | None) -> dict[str, Any]:
        """Settings for the core, with PME parameters for this box (3, 3), rows in nm, or no box.

        Raises QuiltError if the cutoff is too short for atoms or exceeds half the smallest box
        width, if PME would need too large a grid, or if the method does not suit the box.
        """
        if self.method in _IN_BOXES and box is None:
            raise QuiltError(
                f"{_IN_BOXES[self.method]} needs a periodic box, and there is none: give one "
                "(box), also to State.from_openmm, or choose the method no-cutoff or fmm"
            )
        if self.method == "fmm" and box is None and self.fmm_grid is not None:
            raise QuiltError(
                "without a periodic box the grid of the method fmm follows the atoms: leave out "
                "fmm_grid, fmm_bandwidth and fmm_box, and give fmm_tolerance"
            )
        if self.method == "no-cutoff" and box is not None:
            raise QuiltError(
                "the method no-cutoff is for systems without a periodic box, and there is one: "
                "choose pme, or leave out the box (box = [], --box none)"
            )
        if self.method == "no-cutoff" and (self.potential_shift or self.switching != "none"):
            raise QuiltError(
                "without a cutoff nothing is shifted or switched: leave out "
                "potential_shift and switching"
            )
        width = math.inf if box is None else float(box_widths(box).min())
        if self.cutoff > 0.5 * width:
            raise QuiltError(
                f"the cutoff of {self.cutoff:g} nm is too large for this box: half its smallest "
                f"width is {0.5 * width:.4g} nm; use a smaller cutoff or a larger box"
            )
        if self.cutoff < _SHORTEST_CUTOFF:
            raise QuiltError(
                f"a cutoff of {self.cutoff:g} nm is shorter than any distance of atoms that "
                f"interact; it must be at least {_SHORTEST_CUTOFF} nm, and 0.9 nm is usual"
            )
        order = self._order(box)
        mesh = self._charge_mesh(box, order)
        lj_alpha, lj_grid = self._dispersion_mesh(box, order)
        return {
            "cutoff": self.cutoff,
            "coulomb_cutoff": self.coulomb_cutoff or self.cutoff,
            "method": self.method,
            "pme_order": order,
            "pme_alpha": mesh.alpha,
            "pme_bandwidth": mesh.bandwidth,
            "pme_grid": mesh.grid,
            "pme_window": mesh.window,
            "stencil_box": self._stencil_box(box),
            "open_spacing": mesh.open_spacing,
            "lennard_jones": self.lennard_jones,
            "lj_pme_alpha": lj_alpha,
            "lj_pme_grid": lj_grid,
            "dispersion_correction": self.dispersion_correction and box is not None,
            "potential_shift": self.potential_shift,
            "dielectric": self.dielectric,
            "reaction_field_on_exclusions": self.reaction_field_on_exclusions,
            "switching": self.switching,
            "switch_distance": self.switch_distance or 0.0,
        }

    def tile(self, nx: int, ny: int, nz: int) -> Nonbonded:
        """The same settings for a box nx, ny, nz times as long, with the same grid spacing."""
        grids: dict[str, Any] = {}
        for name in ("pme_grid", "lj_pme_grid", "fmm_grid"):
            if (grid := getattr(self, name)) is not None:
                x, y, z = grid
                grids[name] = (x * nx, y * ny, z * nz)
        if self.fmm_box is not None:
            ax, bx, by, cx, cy, cz = self.fmm_box
            grids["fmm_box"] = (ax * nx, bx * ny, by * ny, cx * nz, cy * nz, cz * nz)
        return replace(self, **grids) if grids else self

    def _stencil_box(self, box: NDArray[np.float64] | None) -> _SixNumbers:
        """Stated or this one; 0 where there is no stencil."""
        if self.method != "fmm" or box is None:
            return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        if self.fmm_box is not None:
            return self.fmm_box
        a, b, c = box.tolist()
        return (a[0], b[0], b[1], c[0], c[1], c[2])

    def _order(self, box: NDArray[np.float64] | None) -> int:
        if self.method == "fmm":
            return self.fmm_order or fmm_order(self.fmm_tolerance)
        if box is None:
            return 5
        if self.pme_order is not None:
            return self.pme_order
        is_small = abs(np.linalg.det(box)) < _SMALL_BOX
        is_loose = min(self.pme_tolerance, self.lj_pme_tolerance) >= _LOOSE
        by_tolerance = self.pme_grid is None and self.lj_pme_grid is None
        return 4 if is_small and is_loose and by_tolerance else 5

    def _charge_mesh(self, box: NDArray[np.float64] | None, order: int) -> ChargeMesh:
        """Stated or by the tolerance."""
        if self.method == "fmm":
            return self._fmm_mesh(box, order)
        if self.method != "pme" or box is None:
            return ChargeMesh()
        if self.pme_grid is not None:
            refuse_large_grid(self.pme_grid, "pme")
            stated = (self.pme_alpha or 0.0, self.pme_bandwidth or 0.0)
            return ChargeMesh(*stated, self.pme_grid, self.pme_window or 0.0)
        if self.pme_split == "gaussian":
            alpha, grid = pme_parameters(box, self.cutoff, self.pme_tolerance, order)
            return ChargeMesh(alpha=alpha, grid=grid)
        splines = self.pme_window == 0 or order == 4  # whose windows cost conservation of energy
        cutoff = self.coulomb_cutoff or self.cutoff
        return ChargeMesh(
            0.0, *prolate_parameters(box, cutoff, self.pme_tolerance, order, splines=splines)
        )

    def _fmm_mesh(self, box: NDArray[np.float64] | None, order: int) -> ChargeMesh:
        if box is None:
            bandwidth, spacing = open_fmm_parameters(self.cutoff, self.fmm_tolerance, order)
            return ChargeMesh(bandwidth=bandwidth, open_spacing=spacing)
        if self.fmm_grid is None or self.fmm_bandwidth is None:
            bandwidth, grid = fmm_parameters(box, self.cutoff, self.fmm_tolerance, order)
            return ChargeMesh(bandwidth=bandwidth, grid=grid)
        refuse_large_grid(self.fmm_grid, "fmm")
        return ChargeMesh(bandwidth=self.fmm_bandwidth, grid=self.fmm_grid)

    def _dispersion_mesh(
        self, box: NDArray[np.float64] | None, order: int
    ) -> tuple[float, tuple[int, int, int]]:
        """Ewald alpha and grid, stated or by the tolerance; 0 where there is no such mesh."""
        if self.lennard_jones != "pme" or box is None:
            return 0.0, (0, 0, 0)
        if self.lj_pme_grid is None:
            return lj_pme_parameters(box, self.cutoff, self.lj_pme_tolerance, order)
        refuse_large_grid(self.lj_pme_grid, "lj_pme")
        refuse_coarse_grid(self.lj_pme_grid, box)
        assert self.lj_pme_alpha is not None
        return self.lj_pme_alpha, self.lj_pme_grid
