# SPDX-License-Identifier: Apache-2.0
"""Prints the folder where PyPI's CUDA 13 packages lie together, or nothing if they are missing.

All of them unpack into one folder, site-packages/nvidia/cu13, laid out like a CUDA toolkit but for
`lib` in place of `lib64`.
"""

import importlib.util
from pathlib import Path

NEEDED = (
    "bin/nvcc",
    "include/cuda_runtime.h",
    "include/crt/host_config.h",
    "nvvm/bin/cicc",
    "lib/libcudart_static.a",
)


def find() -> Path | None:
    """The toolkit folder, or None unless every needed part is there."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except ValueError:
        return None
    for parent in (spec.submodule_search_locations or ()) if spec else ():
        root = Path(parent) / "cu13"
        if all((root / part).exists() for part in NEEDED):
            return root
    return None


if __name__ == "__main__":
    print(find() or "")
