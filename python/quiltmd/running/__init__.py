# SPDX-License-Identifier: Apache-2.0
"""A simulation in motion: the loop that advances it, and `quiltmd run` around it."""
