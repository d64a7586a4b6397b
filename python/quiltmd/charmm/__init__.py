# SPDX-License-Identifier: Apache-2.0
"""CHARMM: PSF topologies with their parameters, coordinates as CRD and binary files."""
