# SPDX-License-Identifier: Apache-2.0
"""Predicted speed of a system on many ranks of this or another machine."""
