# SPDX-License-Identifier: Apache-2.0
"""How fast a system would run on many ranks of a machine that need not be at hand."""
