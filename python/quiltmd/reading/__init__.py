# SPDX-License-Identifier: Apache-2.0
"""What readers of files share: what a reader offers, text in columns, settings, units, PDB."""
