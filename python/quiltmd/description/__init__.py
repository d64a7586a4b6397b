# SPDX-License-Identifier: Apache-2.0
"""Descriptions of simulations as frozen values: system, state, settings, integrators."""
