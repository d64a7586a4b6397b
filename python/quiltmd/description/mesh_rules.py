# SPDX-License-Identifier: Apache-2.0
"""Which Ewald split and grid an error tolerance asks for.

Each rule is an estimate of the relative rms error of forces, fitted to a box of a protein in water;
tests/python/test_pme_parameters.py measures what comes of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ..errors import QuiltError
from .box import check_box
from .checks import user_arguments
from .units import Unit

Cutoff = Annotated[float, Field(gt=0), Unit("nm")]

SMALLEST_GRID = 8  # points in each direction
_LARGEST_GRID = 2**31  # points; beyond, they cannot be numbered
# nm, between points of the grid of dispersion.  Its coefficients have one sign and add up: up to
# this spacing, the integers of a point hold those of 160 atoms/nm^3.
_COARSEST = 0.58
_GRID_FACTORS = (2, 3, 5, 7)
# Errors of the Gaussian split: the direct sum, _DIRECT exp(-(alpha cutoff)^2), times 0.8 nm/cutoff
# if that is above 1, and the reciprocal sum with splines of order p, _SPLINE[p] (alpha spacing)^p,
# times (alpha/_FITTED_ALPHA)^_BY_ALPHA[p] for the larger alpha of shorter cutoffs and smaller
# tolerances.
_DIRECT = 0.62
_SPLINE = {4: 0.0228, 5: 0.0187}
_FITTED_ALPHA, _BY_ALPHA = 3.0, {4: 3.3, 5: 1.8}  # 1/nm
_DIRECT_SHARE, _SPLINE_SHARE = 0.63, 0.73  # of the tolerance; their squares sum up to 0.93


class _PowerLaw(NamedTuple):
    """An error; its logarithm is a sum over those of bandwidth c, cutoff and spacing h.

    `constant` + `by_spacing` ln(h/0.2 nm) - `by_cutoff` ln(cutoff/0.9 nm) + `by_bandwidth` ln(c/10)
    """

    constant: float
    by_spacing: float
    by_cutoff: float
    by_bandwidth: float

    def __call__(self, bandwidth: float, cutoff: float, spacing: float) -> float:
        return math.exp(
            self.constant
            + self.by_spacing * math.log(spacing / 0.2)
            - self.by_cutoff * math.log(cutoff / 0.9)
            + self.by_bandwidth * math.log(bandwidth / 10)
        )


class _WindowFit(NamedTuple):
    """Errors of the mesh of a prolate split with windows of least aliasing.

    Of charges as they are in water, and of each by itself, with what its aliases do to it: this
    counts on fine grids, with short cutoffs or small tolerances.
    """

    together: _PowerLaw
    alone: _PowerLaw

    def error(self, bandwidth: float, cutoff: float, spacing: float, planes: float) -> float:
        """Relative rms error of forces; `spacing`: along edges, `planes`: between planes, nm.

        The waves that a grid confuses with others differ by 2 pi/`planes`: the shorter these are,
        the larger their forces.
        """
        together, alone = (law(bandwidth, cutoff, spacing) for law in self)
        return spacing / planes * math.hypot(together, alone)


class _SplineFit(NamedTuple):
    """The same with B-splines.

    There is a hump where the planes of the grid are some 0.18 nm apart, so that its aliases meet
    the structure of water, and below a cutoff of 0.6 nm, which the law does not reach, a power
    `by_short_cutoff` of 0.6 nm/cutoff.
    """

    law: _PowerLaw
    hump: float
    hump_at: float
    hump_width: float
    by_short_cutoff: float

    def error(self, bandwidth: float, cutoff: float, spacing: float, planes: float) -> float:
        """Error, as for `_WindowFit`."""
        hump = self.hump * math.exp(-0.5 * ((planes - self.hump_at) / self.hump_width) ** 2)
        beyond_law = math.exp(hump) * math.pow(max(1.0, 0.6 / cutoff), self.by_short_cutoff)
        return spacing / planes * beyond_law * self.law(bandwidth, cutoff, spacing)


# Constants by order.
_WINDOW_MESH = {
    4: _WindowFit(_PowerLaw(-7.519, 3.595, 4.28, 2.302), _PowerLaw(-10.279, 2.789, 7.301, 3.97)),
    5: _WindowFit(_PowerLaw(-10.315, 5.81, 7.159, 4.053), _PowerLaw(-12.12, 4.161, 7.653, 4.12)),
}
_SPLINE_MESH = {
    4: _SplineFit(_PowerLaw(-7.6058, 3.3349, 4.9581, 2.6973), 0.6592, 0.1886, 0.0508, 2.0),
    5: _SplineFit(_PowerLaw(-8.9298, 4.6296, 6.3523, 3.5661), 0.6535, 0.1842, 0.0461, 1.0),
    6: _SplineFit(_PowerLaw(-10.3152, 6.4845, 8.1123, 4.6712), 0.8519, 0.1684, 0.0518, 1.5),
    8: _SplineFit(_PowerLaw(-12.4494, 9.7112, 11.3209, 6.8335), 0.8878, 0.1586, 0.0514, 1.5),
}
_PROLATE_SHARE = 0.87  # of the tolerance, for the root of the sum of both squared errors
_FMM_MESH: dict[int, _WindowFit | _SplineFit] = {**_SPLINE_MESH, 5: _WINDOW_MESH[5]}
_LOOSE_FMM = 2.5e-4  # tolerance below which windows have order 8 by default, and not 6
# Limits of the top level of the fast multipole method, before grids are rounded up.  The core
# halves one of more than 1,000 points (kTopPoints of levels.cpp) again where its edges are even.
_TOP_POINTS, _LEAST_TOP_EDGE = 1400, 4


class _LevelSpacing(NamedTuple):
    """Of the spacing that one grid may have: levels and stencils have errors of their own."""

    rectangular: float
    skewed: float
    open: float


# Of the cutoff: on coarser grids errors of levels grow faster than those of one grid.
_COARSEST_LEVELS = 0.35
_FMM_SPACING = {
    4: _LevelSpacing(0.95, 0.855, 0.95),
    5: _LevelSpacing(1.01, 0.76, 0.95),
    6: _LevelSpacing(0.92, 0.828, 0.92),
    8: _LevelSpacing(0.95, 0.855, 0.95),
}
_BANDWIDTHS = [0.1 * tenths for tenths in range(40, 200)]  # to choose from


def direct_error(alpha: float, cutoff: float) -> float:
    """Relative rms error of forces by the end of the direct sum at the cutoff (1/nm, nm)."""
    return _direct_constant(cutoff) * math.exp(-((alpha * cutoff) ** 2))


def _direct_constant(cutoff: float) -> float:
    return _DIRECT * max(1.0, 0.8 / cutoff)


@user_arguments
def pme_parameters(
    box: NDArray[np.float64], cutoff: Cutoff, tolerance: float, order: int = 5
) -> tuple[float, tuple[int, int, int]]:
    """Alpha (1/nm) of the Gaussian split and charge grid for a relative rms error of forces.

    The default split is that of `prolate_parameters`.

    The error of the direct sum is proportional to exp(-(alpha cutoff)^2) (Kolafa and Perram, Mol.
    Simul. 9, 351 (1992)), that of splines of order p to (alpha spacing)^p (Essmann et al., J.
    Chem. Phys. 103, 8577 (1995)); the two errors together stay within the tolerance.  Numbers of
    grid points are raised to a product of 2, 3, 5 and 7 (an even one along z, for real transforms).

    Parameters
    ----------
    box:
        (3, 3) nm, reduced rows.
    cutoff:
        Cutoff of the direct sum, nm.
    tolerance:
        Error of all forces relative to their root mean square.
    order:
        Order of the splines, 4 or 5.

    Raises
    ------
    QuiltError
        If more than 2^31 grid points would be needed.
    """
    box = check_box(box)
    alpha = (
        math.sqrt(math.log(max(_direct_constant(cutoff) / (_DIRECT_SHARE * tolerance), 2.0)))
        / cutoff
    )
    allowed = _SPLINE_SHARE * tolerance / spline_error(alpha, 1 / alpha, order)
    spacing = allowed ** (1 / order) / alpha
    return alpha, _grid_of_spacing(box, spacing, "pme")


class ChargeMesh(NamedTuple):
    """Settings of a split and its mesh for the core; 0: absent."""

    alpha: float = 0.0
    bandwidth: float = 0.0
    grid: tuple[int, int, int] = (0, 0, 0)
    window: float = 0.0
    open_spacing: float = 0.0  # nm, of a grid that follows the atoms


class ProlateMesh(NamedTuple):
    """A prolate split and its mesh.

    `bandwidth`, `grid` (points along the edges), and `window`: the spacing, nm, for which windows
    of least aliasing are made, the largest of the grid's, or 0: B-splines.
    """

    bandwidth: float
    grid: tuple[int, int, int]
    window: float


@user_arguments
def prolate_parameters(
    box: NDArray[np.float64],
    cutoff: Cutoff,
    tolerance: float,
    order: int = 5,
    *,
    splines: bool = False,
) -> ProlateMesh:
    """Bandwidth of the prolate split, charge grid and window for a relative rms error of forces.

    Truncation at the wave number c/cutoff causes a relative error of (0.44 nm/cutoff) c^1.09
    exp(-c).  A larger bandwidth c reduces it and needs a finer grid (Liang, Lu, Barnett, Greengard
    and Jiang, arXiv:2505.09727).  The smallest
    bandwidth is chosen among those that allow the coarsest grid, or a grid that is 1 % finer.

    Parameters
    ----------
    box:
        (3, 3) nm, reduced rows.
    cutoff:
        Cutoff of the direct sum, nm.
    tolerance:
        Error of all forces relative to their root mean square.
    order:
        Order of the interpolation windows, 4 or 5.
    splines:
        Whether to use B-splines instead of the windows with the least aliasing.

    Raises
    ------
    QuiltError
        If more than 2^31 grid points would be needed, or no bandwidth is enough.
    """
    box = check_box(box)
    if splines:
        spacing, bandwidth = _coarsest(box, cutoff, tolerance, _SPLINE_MESH[order], "pme")
        return ProlateMesh(bandwidth, _grid_of_spacing(box, spacing, "pme"), 0.0)
    spacing, bandwidth = _coarsest(box, cutoff, tolerance, _WINDOW_MESH[order], "pme", 0.99)
    grid = _grid_of_spacing(box, spacing, "pme")
    return ProlateMesh(bandwidth, grid, round(grid_spacing(grid, box), 4))


def _coarsest(
    box: NDArray[np.float64],
    cutoff: float,
    tolerance: float,
    fit: _WindowFit | _SplineFit,
    of: str,
    nearly: float = 1.0,
) -> tuple[float, float]:
    """The coarsest spacing (nm), or nearly that, and the smallest bandwidth that allows it."""
    heights = 1 / np.linalg.norm(np.linalg.inv(box), axis=0)
    flatness = float((heights / np.linalg.norm(box, axis=1)).min())
    grids = list(_prolate_grids(cutoff, tolerance, fit, flatness))
    if not grids:
        least = beyond_bandwidth(_BANDWIDTHS[-1], cutoff) / _PROLATE_SHARE
        raise QuiltError(
            f"{of}_tolerance {tolerance:g} cannot be reached in single precision with a cutoff of "
            f"{cutoff:g} nm: choose {1.1 * least:.1e} or more, or a longer cutoff"
        )
    coarsest, _ = max(grids)
    return next(one for one in grids if one[0] >= nearly * coarsest)


def fmm_order(tolerance: float) -> int:
    """Order of the windows of the fast multipole method for a relative rms error of forces."""
    return 6 if tolerance >= _LOOSE_FMM else 8


def fmm_parameters(
    box: NDArray[np.float64], cutoff: float, tolerance: float, order: int
) -> tuple[float, tuple[int, int, int]]:
    """Bandwidth and grid of the fast multipole method for a relative rms error of forces.

    As `prolate_parameters`, but for windows of order 5 or B-splines of order 4, 6 or 8, and with
    another spacing, which is shorter in a skewed box, because levels add to the errors.  Numbers
    of grid points are raised to multiples of 2^levels, such that the grid of the top level has at
    most 1,400 points.

    Parameters
    ----------
    box:
        (3, 3) nm, reduced rows.
    cutoff:
        Cutoff of the direct sum, nm.
    tolerance:
        Error of all forces relative to their root mean square.
    order:
        Order of the windows.

    Raises
    ------
    QuiltError
        If more than 2^31 grid points would be needed.
    """
    coarsest, bandwidth = _coarsest(box, cutoff, tolerance, _FMM_MESH[order], "fmm")
    is_skewed = np.any(box - np.diag(np.diag(box)))
    share = _FMM_SPACING[order]
    spacing = (share.skewed if is_skewed else share.rectangular) * coarsest
    spacing = min(spacing, _COARSEST_LEVELS * cutoff)
    wanted = np.linalg.norm(box, axis=1) / spacing
    refuse_large_grid(wanted.tolist(), "fmm")
    fewest = [max(SMALLEST_GRID, math.ceil(n)) for n in wanted.tolist()]
    levels = 1
    while math.prod(fewest) > _TOP_POINTS * 8**levels and min(fewest) >> levels > _LEAST_TOP_EDGE:
        levels += 1
    x, y, z = (-(-n >> levels) << levels for n in fewest)
    return bandwidth, (x, y, z)


def open_fmm_parameters(cutoff: float, tolerance: float, order: int) -> tuple[float, float]:
    """Bandwidth and spacing (nm) of the fast multipole method without a periodic box.

    They follow the rule of `fmm_parameters`, but for the largest bandwidth that allows 0.98 times
    the coarsest spacing: the waves that are left out count for more in the virial than in forces.
    """
    grids = list(_prolate_grids(cutoff, tolerance, _FMM_MESH[order], 1.0))
    coarsest, _ = max(grids)
    spacing, bandwidth = [one for one in grids if one[0] >= 0.98 * coarsest][-1]
    return bandwidth, _FMM_SPACING[order].open * spacing


def _prolate_grids(
    cutoff: float, tolerance: float, fit: _WindowFit | _SplineFit, flatness: float
) -> Iterator[tuple[float, float]]:
    """For each possible bandwidth: the coarsest spacing within the tolerance, and the bandwidth.

    `flatness`: the smallest height of the cell over its edge.
    """
    for bandwidth in _BANDWIDTHS:
        left = (_PROLATE_SHARE * tolerance) ** 2 - beyond_bandwidth(bandwidth, cutoff) ** 2
        if left <= 0:
            continue
        low, high = 1e-3, coarsest_spacing(bandwidth, cutoff)
        if fit.error(bandwidth, cutoff, high, flatness * high) <= math.sqrt(left):
            yield high, round(bandwidth, 1)
            continue
        for _ in range(50):
            middle = 0.5 * (low + high)
            error = fit.error(bandwidth, cutoff, middle, flatness * middle)
            fits = error <= math.sqrt(left)
            low, high = (middle, high) if fits else (low, middle)
        yield low, round(bandwidth, 1)


def beyond_bandwidth(bandwidth: float, cutoff: float) -> float:
    """Relative rms error of forces by the waves that the mesh of a prolate split leaves out."""
    return 0.441 / cutoff * math.pow(bandwidth, 1.087) * math.exp(-bandwidth)


def coarsest_spacing(bandwidth: float, cutoff: float) -> float:
    """Between points along an edge, nm: a coarser grid cannot represent all waves of the split."""
    return math.pi * cutoff / bandwidth


def spline_error(alpha: float, spacing: float, order: int) -> float:
    """Relative rms error of forces by splines on the mesh of a Gaussian split (1/nm, nm)."""
    larger = max(1.0, alpha / _FITTED_ALPHA)
    return _SPLINE[order] * math.pow(larger, _BY_ALPHA[order]) * math.pow(alpha * spacing, order)


def grid_spacing(grid: Sequence[int], box: NDArray[np.float64]) -> float:
    """The largest distance of neighbouring points of a grid along an edge of the cell, nm."""
    return float((np.linalg.norm(box, axis=1) / np.array(grid)).max())


def lj_pme_parameters(
    box: NDArray[np.float64], cutoff: float, tolerance: float, order: int = 5
) -> tuple[float, tuple[int, int, int]]:
    """Ewald alpha (1/nm) and grid of the dispersion.

    At the cutoff the direct sum has (1 + x^2 + x^4/2) exp(-x^2), x = alpha cutoff, of the
    dispersion of a pair (Essmann et al., J. Chem. Phys. 103, 8577 (1995), eq. 5.2): this is the
    tolerance, as GROMACS' ewald-rtol-lj.  The grid is such that by the rule of `pme_parameters` the
    forces of the mesh have half of it as their relative error, and no coarser than 0.58 nm.

    Parameters
    ----------
    box:
        (3, 3) nm, reduced rows.
    cutoff:
        Cutoff of the direct sum, nm.
    tolerance:
        As above; that of `Nonbonded.lj_pme_tolerance`.
    order:
        Order of the splines, 4 or 5.

    Raises
    ------
    QuiltError
        If more than 2^31 grid points would be needed.
    """
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        square = middle * middle
        left = (1 + square + 0.5 * square * square) * math.exp(-square)
        low, high = (middle, high) if left > tolerance else (low, middle)
    alpha = high / cutoff
    spacing = min((0.5 * tolerance / _SPLINE[order]) ** (1 / order) / alpha, _COARSEST)
    return alpha, _grid_of_spacing(box, spacing, "lj_pme")


def _grid_of_spacing(box: NDArray[np.float64], spacing: float, of: str) -> tuple[int, int, int]:
    """Points along the edges of the cell, which are longer than its heights where it is skewed.

    A wave vector k has k.a / 2 pi periods along the edge a, at most |k| |a| / 2 pi.
    """
    wanted = [float(edge) / spacing for edge in np.linalg.norm(box, axis=1)]
    refuse_large_grid(wanted, of)
    nx, ny, nz = map(math.ceil, wanted)
    return _grid_size(nx), _grid_size(ny), 2 * _grid_size(math.ceil(nz / 2), minimum=4)


def refuse_large_grid(grid: Sequence[float], of: str) -> None:
    """QuiltError if the points of a grid, of "pme", "lj_pme" or "fmm", cannot be numbered."""
    if math.prod(grid) > _LARGEST_GRID:
        points = " x ".join(f"{n:.4g}" for n in grid)
        names = {"pme": "PME", "lj_pme": "Lennard-Jones PME", "fmm": "the fast multipole method"}
        name = names[of]
        raise QuiltError(
            f"{name} would need a grid of {points} points, too many to number: check the box, or "
            f"use a smaller box, a larger {of}_tolerance or a longer "
            "cutoff"
        )


def refuse_coarse_grid(grid: Sequence[int], box: NDArray[np.float64]) -> None:
    """QuiltError if the grid of the dispersion is too coarse for its integers."""
    spacing = (abs(np.linalg.det(box)) / math.prod(grid)) ** (1 / 3)
    if spacing > _COARSEST:
        points = " x ".join(map(str, grid))
        raise QuiltError(
            f"the lj_pme_grid {points} is too coarse for this box: its points are {spacing:.2g} nm "
            f"apart, and at most {_COARSEST:g} nm are accepted; choose more points"
        )


def _grid_size(wanted: int, minimum: int = SMALLEST_GRID) -> int:
    """Smallest product of 2, 3, 5 and 7 that is at least `wanted` and `minimum`."""
    size = max(wanted, minimum)
    while not _factors_well(size):
        size += 1
    return size


def _factors_well(size: int) -> bool:
    for factor in _GRID_FACTORS:
        while size % factor == 0:
            size //= factor
    return size == 1
