# SPDX-License-Identifier: Apache-2.0
"""Units of Amber's, CHARMM's and NAMD's files, in those of this program."""

KCAL = 4.184  # kJ
ANGSTROM = 0.1  # nm
AKMA_VELOCITY = 20.45482706  # A/ps in CHARMM's and NAMD's unit of velocity
