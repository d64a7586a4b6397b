# SPDX-License-Identifier: Apache-2.0
"""What a recorded stretch of a run tells: waits, critical path, balance, in words too."""
