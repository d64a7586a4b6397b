# SPDX-License-Identifier: Apache-2.0
"""Replica exchange: copies of a system at several temperatures or Hamiltonians, which swap."""
