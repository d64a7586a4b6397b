# SPDX-License-Identifier: Apache-2.0
"""The command `quiltmd`: a module for each of its commands."""
