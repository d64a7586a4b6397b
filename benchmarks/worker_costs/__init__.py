# SPDX-License-Identifier: Apache-2.0
"""What workers cost, a module for each command of `python benchmarks/workers.py`."""
