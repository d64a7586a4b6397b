# SPDX-License-Identifier: Apache-2.0
"""What can be read off a simulation, and the files that it is written to."""
