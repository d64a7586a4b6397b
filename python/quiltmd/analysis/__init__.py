# SPDX-License-Identifier: Apache-2.0
"""Analysis of the profiled steps of a run: waits, critical path, balance, also in words."""
