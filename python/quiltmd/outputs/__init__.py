# SPDX-License-Identifier: Apache-2.0
"""Data of a simulation, and the files to which they are written."""
