# SPDX-License-Identifier: Apache-2.0
"""OpenMM: its objects and files as ours, and ours as its; it is imported where it is needed."""
