# SPDX-License-Identifier: Apache-2.0
"""Units of Amber's files, in those of this program."""

KCAL = 4.184  # kJ
ANGSTROM = 0.1  # nm
