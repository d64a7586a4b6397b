# SPDX-License-Identifier: Apache-2.0
"""Which settings of nonbonded interactions go together."""

from __future__ import annotations

from typing import Any

from .mesh_rules import SMALLEST_GRID
from .settings import Only, settings_only_with

PME = Only("method", "pme")
FMM = Only("method", "fmm")
_LEAST_OF_FIVE = 1e-4  # windows of order 5 are sums of narrower ones but for some 5e-5 of forces
FIELD = Only("method", "reaction-field")
LJ_PME = Only("lennard_jones", "pme")


def defaults_with(kind: Any, needed: Only) -> dict[str, Any]:
    """Defaults of the settings that have a use with this value of another setting alone."""
    names = settings_only_with(kind, needed.setting, needed.value)
    return {name: getattr(kind, name) for name in names}


def check_together(settings: Any) -> None:
    """Raises ValueError if settings of a `Nonbonded` do not go together."""
    for of in ("pme", "lj_pme"):
        _check_mesh(settings, of)
    _check_window(settings)
    if settings.pme_grid is not None and settings.pme_split is not None:
        raise ValueError(
            "give either pme_split, which sets the grid by the tolerance, or pme_grid: leave "
            "one of them out"
        )
    if settings.method != "pme":
        _refuse_pme(settings)
    _check_coulomb_cutoff(settings)
    _check_fmm(settings)
    _check_lj_pme(settings)
    _check_field(settings)
    if (settings.switching == "none") != (settings.switch_distance is None):
        raise ValueError("switching and switch_distance belong together: give both or neither")
    if settings.switch_distance is not None and settings.switch_distance >= settings.cutoff:
        raise ValueError(
            f"switch_distance {settings.switch_distance:g} nm must be less than the cutoff, "
            f"{settings.cutoff:g} nm"
        )


def _check_mesh(settings: Any, of: str) -> None:
    alpha, grid = getattr(settings, f"{of}_alpha"), getattr(settings, f"{of}_grid")
    if of == "pme" and settings.pme_bandwidth is not None:
        if alpha is not None or grid is None:
            raise ValueError(
                "pme_bandwidth and pme_grid belong together, without pme_alpha: give these two "
                "or neither"
            )
    elif (alpha is None) != (grid is None):
        raise ValueError(f"{of}_alpha and {of}_grid belong together: give both or neither")
    if grid is None:
        return
    if min(grid) < SMALLEST_GRID:
        raise ValueError(f"{of}_grid needs at least {SMALLEST_GRID} points in each direction")
    tolerance = f"{of}_tolerance"
    if getattr(settings, tolerance) != getattr(type(settings), tolerance):
        raise ValueError(f"{of}_grid replaces {tolerance}: leave one of them out")


def _check_window(settings: Any) -> None:
    if settings.pme_window is None:
        return
    if settings.pme_split == "gaussian" or settings.pme_alpha is not None:
        raise ValueError(
            "pme_window is for the prolate split, and a gaussian one is chosen: leave out "
            "pme_window"
        )
    if settings.pme_window > 0 and settings.pme_bandwidth is None:
        raise ValueError(
            "pme_window is the spacing of pme_grid, and needs it and pme_bandwidth: leave it "
            "out, or give it as 0 for B-splines"
        )


def _check_coulomb_cutoff(settings: Any) -> None:
    if settings.coulomb_cutoff is None or settings.coulomb_cutoff == settings.cutoff:
        return
    if settings.coulomb_cutoff > settings.cutoff:
        raise ValueError(
            f"coulomb_cutoff {settings.coulomb_cutoff:g} nm must be at most the cutoff, "
            f"{settings.cutoff:g} nm"
        )
    others = {
        "pme_split = gaussian": settings.pme_split == "gaussian",
        "pme_alpha, which is of a Gaussian split": settings.pme_alpha is not None,
        "lennard_jones = pme": settings.lennard_jones == "pme",
        f"switching = {settings.switching}": settings.switching != "none",
    }
    for words, is_so in others.items():
        if is_so:
            raise ValueError(
                f"a coulomb_cutoff shorter than the cutoff cannot be combined with {words}: "
                "leave one of them out"
            )


def _check_lj_pme(settings: Any) -> None:
    if settings.lennard_jones == "pme":
        if settings.switching != "none":
            raise ValueError(
                "lennard_jones = pme cannot be combined with switching: leave one of them out"
            )
        return
    for name, default in defaults_with(type(settings), LJ_PME).items():
        if getattr(settings, name) != default:
            raise ValueError(f"{name} needs lennard_jones = pme")


def _check_fmm(settings: Any) -> None:
    if settings.method != "fmm":
        for name, default in defaults_with(type(settings), FMM).items():
            if getattr(settings, name) != default:
                raise ValueError(f"{name} is for the method fmm: choose that as well")
        return
    if settings.fmm_order == 5 and settings.fmm_tolerance < _LEAST_OF_FIVE:
        raise ValueError(
            f"fmm_tolerance {settings.fmm_tolerance:g} cannot be reached with fmm_order 5: choose "
            f"{_LEAST_OF_FIVE:g} or more, or the order 8"
        )
    grid = settings.fmm_grid
    if (settings.fmm_bandwidth is None) != (grid is None):
        raise ValueError("fmm_bandwidth and fmm_grid belong together: give both or neither")
    if grid is None:
        if settings.fmm_box is not None:
            raise ValueError("fmm_box is the box for which fmm_grid was chosen: give both")
        return
    if settings.fmm_box is not None and min(settings.fmm_box[0], *settings.fmm_box[2::3]) <= 0:
        raise ValueError("the edges of fmm_box, its numbers AX, BY and CZ, must be positive")
    if min(grid) < SMALLEST_GRID or any(n % 2 for n in grid):
        raise ValueError(
            f"fmm_grid needs even numbers of points, at least {SMALLEST_GRID} in each direction"
        )
    if settings.fmm_tolerance != type(settings).fmm_tolerance:
        raise ValueError("fmm_grid takes the place of fmm_tolerance: leave one of them out")


def _check_field(settings: Any) -> None:
    if settings.method != "reaction-field":
        for name, default in defaults_with(type(settings), FIELD).items():
            if getattr(settings, name) != default:
                raise ValueError(
                    f"{name} needs the method reaction-field: choose it, or leave {name} out"
                )
    elif 0 < settings.dielectric < (least := max(1.0, settings.relative_permittivity)):
        raise ValueError(
            "the dielectric constant of the medium beyond the cutoff, as of that within it, is "
            f"at least {least:g}, not {settings.dielectric:g}; 0 stands for an infinite one"
        )


def _refuse_pme(settings: Any) -> None:
    for name, default in defaults_with(type(settings), PME).items():
        if getattr(settings, name) != default:
            raise ValueError(f"the method {settings.method} has no PME: leave out {name}")
