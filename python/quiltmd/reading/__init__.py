# SPDX-License-Identifier: Apache-2.0
"""Common parts of readers: their interface, text in columns, settings, units, PDB."""
