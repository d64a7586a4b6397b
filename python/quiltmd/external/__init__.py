# SPDX-License-Identifier: Apache-2.0
"""Programs beside a run: viewers that receive its frames and pull atoms."""
