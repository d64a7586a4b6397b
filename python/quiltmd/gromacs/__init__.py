# SPDX-License-Identifier: Apache-2.0
"""GROMACS: its topologies, coordinates, control files (mdp) and index files."""
