# SPDX-License-Identifier: Apache-2.0
"""Files of LAMMPS."""
