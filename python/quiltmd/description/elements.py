# SPDX-License-Identifier: Apache-2.0
"""Chemical elements: their symbols and masses, and which one an atom is.

Files give atomic numbers for all atoms, for some, or for none.  What is missing follows from
masses, and where these fit no element, from names.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_F64 = npt.NDArray[np.float64]

_ELEMENTS = (  # symbol and standard atomic weight (amu) by atomic number, from hydrogen on
    "H 1.008 He 4.003 Li 6.94 Be 9.012 B 10.81 C 12.011 N 14.007 O 15.999 F 18.998 Ne 20.180 "
    "Na 22.990 Mg 24.305 Al 26.982 Si 28.085 P 30.974 S 32.06 Cl 35.45 Ar 39.948 K 39.098 "
    "Ca 40.078 Sc 44.956 Ti 47.867 V 50.942 Cr 51.996 Mn 54.938 Fe 55.845 Co 58.933 Ni 58.693 "
    "Cu 63.546 Zn 65.38 Ga 69.723 Ge 72.630 As 74.922 Se 78.971 Br 79.904 Kr 83.798 Rb 85.468 "
    "Sr 87.62 Y 88.906 Zr 91.224 Nb 92.906 Mo 95.95 Tc 98.0 Ru 101.07 Rh 102.906 Pd 106.42 "
    "Ag 107.868 Cd 112.414 In 114.818 Sn 118.710 Sb 121.760 Te 127.60 I 126.904 Xe 131.293 "
    "Cs 132.905 Ba 137.327 La 138.905 Ce 140.116 Pr 140.908 Nd 144.242 Pm 145.0 Sm 150.36 "
    "Eu 151.964 Gd 157.25 Tb 158.925 Dy 162.500 Ho 164.930 Er 167.259 Tm 168.934 Yb 173.045 "
    "Lu 174.967 Hf 178.486 Ta 180.948 W 183.84 Re 186.207 Os 190.23 Ir 192.217 Pt 195.084 "
    "Au 196.967 Hg 200.592 Tl 204.38 Pb 207.2 Bi 208.980 Po 209.0 At 210.0 Rn 222.0 Fr 223.0 "
    "Ra 226.0 Ac 227.0 Th 232.038 Pa 231.036 U 238.029 Np 237.0 Pu 244.0 Am 243.0 Cm 247.0"
)
SYMBOLS = ("", *_ELEMENTS.split()[0::2])
MASSES = np.array([0.0, *map(float, _ELEMENTS.split()[1::2])])
_CARBON = SYMBOLS.index("C")
_BY_LETTER = {letter: SYMBOLS.index(letter) for letter in "HCNOPS"}

# Masses, amu.  A massless site or Drude particle is lighter than a hydrogen; a hydrogen of a force
# field, however heavy repartitioning has made it, is lighter than lithium.
_LIGHTEST, _HEAVIEST = 0.5, 6.0
_NOT_REPARTITIONED = 2.5  # and deuterium
_HEAVIEST_BY_NAME = 4.5  # of what has no bonds
_NAME_COUNTS = 0.05  # by which a mass may fit worse if the name says that element
_FITS = 0.5  # how far a mass may be from that of its element


def elements_of(
    masses: _F64,
    names: npt.NDArray[np.str_],
    bonds: npt.NDArray[np.integer] | None = None,
    numbers: npt.NDArray[np.integer] | None = None,
) -> npt.NDArray[np.int32]:
    """Atomic numbers: those that a file gives, else by mass, else by name.

    Light atoms with a bond or two are hydrogens, whatever hydrogen mass repartitioning left them.
    Before a heavy atom's mass is looked up, what its hydrogens have beyond their own mass is
    returned to it, unless its mass fits better as it is (deuterium).  A mass of CH to CH4 is a
    carbon with united hydrogens.  Where masses leave a choice, or fit no element, names decide.

    Parameters
    ----------
    masses, names:
        (N,) amu; names of atoms, which may have digits before the letters.
    bonds:
        (B, 2) bonds and constraints.
    numbers:
        (N,) atomic numbers; 0 or less where the file does not say.

    Returns
    -------
    (N,) int32; 0 for atoms without mass whose number is not given.
    """
    known = np.zeros(len(masses), np.int32) if numbers is None else np.asarray(numbers)
    links = _links(bonds, masses)
    named = _named(names)
    light = _light_hydrogens(masses, named, links)
    hydrogen = np.where(known > 0, known == 1, light)
    united = (named == _CARBON) | (named == 0)
    united[links[hydrogen[links[:, 1]], 0]] = False
    excess = _excess(masses, hydrogen, links)
    found = np.where(light, 1, _heavy_elements(masses, named, excess, united))
    return np.where(known > 0, known, np.where(masses > 0, found, 0)).astype(np.int32)


def _links(bonds: npt.NDArray[np.integer] | None, masses: _F64) -> npt.NDArray[np.int64]:
    """(n, 2) bonds between atoms with mass, in both directions, each once."""
    if bonds is None or len(bonds) == 0:
        return np.empty((0, 2), dtype=np.int64)
    real = np.asarray(bonds, dtype=np.int64)
    real = real[(masses[real] > _LIGHTEST).all(axis=1)]
    keys = np.unique(np.concatenate([real, real[:, ::-1]]) @ np.array([len(masses), 1]))
    return np.column_stack(np.divmod(keys, len(masses)))


def _named(names: npt.NDArray[np.str_]) -> npt.NDArray[np.int32]:
    """The element of six that a name begins with; 0 for other names."""
    kinds, of_atom = np.unique(names, return_inverse=True)
    letters = [str(name).lstrip("0123456789")[:1].upper() for name in kinds]
    return np.array([_BY_LETTER.get(letter, 0) for letter in letters], np.int32)[of_atom]


def _light_hydrogens(
    masses: _F64, named: npt.NDArray[np.int32], links: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Which atoms are hydrogens, by their mass and by how they are bonded.

    Repartitioning can leave a heavy atom lighter than a hydrogen (3.9 amu in methane), but not with
    fewer bonds than its hydrogens have.
    """
    count = np.bincount(links[:, 0], minlength=len(masses))
    richest = np.zeros(len(masses), dtype=np.int64)
    np.maximum.at(richest, links[:, 0], count[links[:, 1]])
    at_an_end = (count > 0) & ((count <= 2) | (richest > count))
    by_name = (named == 1) & (masses < _HEAVIEST_BY_NAME)
    by_bonds = np.where(count == 0, masses < _NOT_REPARTITIONED, at_an_end & (named <= 1))
    hydrogen: npt.NDArray[np.bool_] = (
        (masses > _LIGHTEST) & (masses < _HEAVIEST) & (by_name | by_bonds)
    )
    return hydrogen


def _excess(masses: _F64, hydrogen: npt.NDArray[np.bool_], links: npt.NDArray[np.int64]) -> _F64:
    """(N,) What the hydrogens of each heavy atom have beyond the mass of hydrogen, amu."""
    light, heavy = links[hydrogen[links[:, 0]] & ~hydrogen[links[:, 1]]].T
    excess: _F64 = np.zeros(len(masses))
    np.add.at(excess, heavy, masses[light] - MASSES[1])
    return excess


def _heavy_elements(
    masses: _F64, named: npt.NDArray[np.int32], excess: _F64, united: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """The element that fits best: with the mass that hydrogens took, without, or as united atom.

    `united` says which atoms may be carbons with united hydrogens.
    """
    candidates = [_nearest(masses + excess), _nearest(masses)]
    for hydrogens in range(1, 5):
        off = np.abs(masses - MASSES[_CARBON] - hydrogens * MASSES[1])
        candidates.append((np.full(len(masses), _CARBON), np.where(united, off, np.inf)))
    elements = np.array([element for element, _ in candidates])
    offs = np.array([off for _, off in candidates])
    best = np.argmin(offs - _NAME_COUNTS * (elements == named), axis=0)
    each = np.arange(len(masses))
    fits = (offs[best, each] < _FITS) | (named == 0)
    return np.where(fits, elements[best, each], named)


def _nearest(masses: _F64) -> tuple[npt.NDArray[np.int64], _F64]:
    """The element with the mass nearest to each, and how far away that is."""
    order = np.argsort(MASSES)
    middles = 0.5 * (MASSES[order][1:] + MASSES[order][:-1])
    element = order[np.searchsorted(middles, masses)]
    return element, np.abs(MASSES[element] - masses)
