# SPDX-License-Identifier: Apache-2.0
"""HTML pages that stand alone: their parts, charts, timelines."""
