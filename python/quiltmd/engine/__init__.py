# SPDX-License-Identifier: Apache-2.0
"""The compiled core: how to reach it, where it runs, and the reference to compare it with."""
