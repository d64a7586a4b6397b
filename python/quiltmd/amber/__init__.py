# SPDX-License-Identifier: Apache-2.0
"""Amber: its topologies, coordinates, control files (mdin) and restarts."""
