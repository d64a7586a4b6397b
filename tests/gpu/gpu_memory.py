# SPDX-License-Identifier: Apache-2.0
"""Memory of the GPU held by the test itself, through the driver's own library."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

_PIECE = 2 << 20  # bytes; what drivers hand out memory in


class Driver:
    """The few calls of libcuda that are needed, in the context that the program uses, too."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: object) -> None:
        status = getattr(self._library, name)(*arguments)
        assert status == 0, f"{name}: error {status}"

    def free(self) -> int:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def stack(self) -> int:
        """Bytes that the context allows a thread's stack."""
        limit = ctypes.c_size_t()
        self.call("cuCtxGetLimit", ctypes.byref(limit), 0)
        return limit.value

    def allocate(self, size: int) -> ctypes.c_void_p | None:
        """None where there is no such piece."""
        pointer = ctypes.c_void_p()
        allocate = self._library.cuMemAlloc_v2
        return None if allocate(ctypes.byref(pointer), ctypes.c_size_t(size)) else pointer


@contextmanager
def memory_left(mebibytes: int) -> Iterator[None]:
    """While it lasts, so much of the GPU's memory is free, to within a few MiB."""
    driver = Driver()
    held = []
    try:
        size = driver.free()
        while size >= _PIECE:
            size = min(size, driver.free() - (mebibytes << 20)) // _PIECE * _PIECE
            pointer = driver.allocate(size) if size > 0 else None
            held += [pointer] if pointer else []
            size = size if pointer else size // 2
        yield
    finally:
        for pointer in held:
            driver.call("cuMemFree_v2", pointer)
