# SPDX-License-Identifier: Apache-2.0
"""Molecules: what bonds and constraints hold together, and how to make it whole.

All of it is array work without a loop over atoms, since a million atoms are
common. A molecule bonded to its own periodic image cannot be whole: it is cut
at the bonds that a walk from its first atom reaches last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

LARGEST_GROUP = 64  # atoms that constraints may hold together: kMaxGroupSize of the core


def molecule_of_atom(atoms: int, links: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
    """The molecule of each atom.

    Parameters
    ----------
    atoms:
        Number of atoms, N.
    links:
        (n, 2) pairs of atoms that belong together: bonds and constraints.

    Returns
    -------
    (N,) int32, molecules numbered from 0 in the order of their first atoms.
    """
    _, label = scipy.sparse.csgraph.connected_components(_graph(atoms, links), directed=False)
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[inverse]


def make_whole(
    positions: npt.NDArray[np.float64],
    box: npt.NDArray[np.float64],
    links: npt.NDArray[np.integer],
) -> npt.NDArray[np.float64]:
    """Positions with every molecule in one piece.

    The first atom of each molecule stays where it is; the others move by whole
    box vectors such that linked atoms are nearest images of each other.

    Parameters
    ----------
    positions:
        (N, 3) nm.
    box:
        (3, 3) nm, reduced rows.
    links:
        (n, 2) bonds and constraints.

    Returns
    -------
    (N, 3) nm, a new array.
    """
    inverse = np.linalg.inv(box)
    if not _images(positions, inverse, links[:, 0], links[:, 1]).any():
        return positions.copy()
    _, parent = spanning_forest(len(positions), links)
    shift = _images(positions, inverse, parent, np.arange(len(positions)))
    # Add up the shifts from each atom to its root, doubling the stride each time.
    while (parent != parent[parent]).any():
        shift += shift[parent]
        parent = parent[parent]
    whole: npt.NDArray[np.float64] = positions - shift @ box
    return whole


def cut_link(
    positions: npt.NDArray[np.float64],
    box: npt.NDArray[np.float64],
    links: npt.NDArray[np.integer],
) -> int | None:
    """The first link that the periodic boundary cuts, by its number; None: all molecules are whole.

    Arguments are those of `make_whole`.
    """
    images = _images(positions, np.linalg.inv(box), links[:, 0], links[:, 1]).any(axis=1)
    return int(np.argmax(images)) if images.any() else None


def _graph(atoms: int, links: npt.NDArray[np.integer]) -> scipy.sparse.csr_matrix:
    ones = np.ones(len(links), dtype=np.int8)
    return scipy.sparse.coo_matrix((ones, (links[:, 0], links[:, 1])), shape=(atoms, atoms)).tocsr()


def _images(
    positions: npt.NDArray[np.float64],
    inverse: npt.NDArray[np.floating[Any]],
    i: npt.NDArray[np.integer],
    j: npt.NDArray[np.integer],
) -> npt.NDArray[np.float64]:
    """Numbers of box vectors from the image of j nearest to i to j: (n, 3) whole numbers."""
    images: npt.NDArray[np.float64] = np.round((positions[j] - positions[i]) @ inverse)
    return images


def spanning_forest(
    atoms: int, links: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Walks along links from the first atom of each molecule.

    Parameters
    ----------
    atoms, links:
        As of `molecule_of_atom`.

    Returns
    -------
    (N,) the atoms in an order in which parents come before their children, and (N,) the parent of
    each; a first atom is its own parent.
    """
    _, first = np.unique(molecule_of_atom(atoms, links), return_index=True)
    to_roots = np.column_stack([np.full(len(first), atoms), first])
    graph = _graph(atoms + 1, np.concatenate([np.asarray(links, dtype=np.intp), to_roots]))
    order, parent = scipy.sparse.csgraph.breadth_first_order(graph, atoms, directed=False)
    forest: npt.NDArray[np.intp] = parent[:atoms].astype(np.intp)
    forest[first] = first
    return order[1:].astype(np.intp), forest
