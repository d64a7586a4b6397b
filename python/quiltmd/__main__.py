# SPDX-License-Identifier: Apache-2.0
"""`python -m quiltmd`, the same as the command `quiltmd`."""

from .commands.start import main

if __name__ == "__main__":
    main()
