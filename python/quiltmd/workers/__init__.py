# SPDX-License-Identifier: Apache-2.0
"""Engines in processes of their own, on this machine or on others."""
