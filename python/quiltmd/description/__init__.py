# SPDX-License-Identifier: Apache-2.0
"""What is simulated and how, as frozen values: system, state, nonbonded settings, integrators."""
