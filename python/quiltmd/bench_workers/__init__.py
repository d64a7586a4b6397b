# SPDX-License-Identifier: Apache-2.0
"""What workers cost, a module for each command of `quiltmd bench-workers`."""
