# SPDX-License-Identifier: Apache-2.0
"""NAMD: its configuration files and restarts."""
