# SPDX-License-Identifier: Apache-2.0
"""JAX: functions that give an energy as external forces; their gradients are the forces.

It needs `jax` 0.10 or later: `pip install jax`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.export
import numpy as np

from .description.external_force import ExternalForce
from .errors import QuiltError
from .external.model_units import sizes_of


class JaxForce(ExternalForce):
    """A force of which a function in JAX gives the energy, such as a machine-learned potential.

    The function is compiled, and computes in double precision, on the default device of JAX.  In
    simulations on GPUs, if JAX has GPUs, it takes positions from the memory of the GPU and leaves
    forces there.

    Parameters
    ----------
    energy:
        Pure function of the positions (n, 3), an array of JAX, that returns the energy, a scalar;
        or the path of a file with such a function and its derivative, as
        `jax.export.export(jax.jit(function))(example).serialize(vjp_order=1)` returns it, where
        `example` has the shape of the positions and double precision.
    atoms:
        As of `ExternalForce`.
    length, unit:
        Units of positions, "nm" or "angstrom", and of the energy, "kJ/mol", "kcal/mol" or "eV".
    name:
        Name of its energy.
    outside:
        As of `ExternalForce`.

    Raises
    ------
    QuiltError
        If a unit is not known, or the file has no such function.
    """

    def __init__(
        self,
        energy: Callable[[Any], Any] | str | Path,
        atoms: str | Sequence[int] | None = None,
        *,
        length: str = "nm",
        unit: str = "kJ/mol",
        name: str = "jax",
        outside: bool = False,
    ) -> None:
        self.atoms, self.name, self.outside = atoms, name, outside
        self.uses_gpu = jax.default_backend() != "cpu"
        self._length, self._energy = sizes_of(length, unit, "JaxForce")
        function = _exported(Path(energy)) if isinstance(energy, str | Path) else energy
        self._function = jax.jit(self._scaled(jax.value_and_grad(function)))

    def _scaled(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Energy and forces in the units of this program."""

        def scaled(positions: Any) -> tuple[Any, Any]:
            energy, gradient = function(positions / self._length)
            force = self._energy / self._length
            return energy.astype(float) * self._energy, -force * gradient

        return scaled

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        """Energy and forces."""
        with jax.enable_x64(True):
            energy, forces = self._function(jax.numpy.asarray(positions))
        return float(energy), np.asarray(forces)

    def compute_on_gpu(
        self, step: int, positions: Any, forces: Any, energy: Any, stream: int
    ) -> None:
        """Energy and forces, in the memory of the GPU; waits for JAX, which has own streams."""
        _driver("cuStreamSynchronize", ctypes.c_void_p(stream))
        with jax.enable_x64(True):
            found = self._function(jax.dlpack.from_dlpack(positions))
        for values in found:
            values.block_until_ready()
        for values, target in zip(found, (energy, forces), strict=True):
            source = ctypes.c_uint64(values.unsafe_buffer_pointer())
            size = ctypes.c_size_t(values.nbytes)
            _driver("cuMemcpyDtoDAsync_v2", _pointer(target), source, size, ctypes.c_void_p(stream))
        self._copied = found  # not freed before the copies are made


def _exported(path: Path) -> Callable[[Any], Any]:
    """The function in a file of `jax.export`; QuiltError without it or its derivative."""
    try:
        found = jax.export.deserialize(bytearray(path.read_bytes()))
    except (OSError, ImportError) as error:  # JAX says which package is missing
        raise QuiltError(f"JaxForce: {error}") from error
    except Exception as error:  # of any kind, as the bytes may be anything
        raise QuiltError(f"JaxForce: {path} is no file of jax.export: {error}") from error
    if not found.has_vjp():
        raise QuiltError(
            f"JaxForce: the function in {path} has no derivative: serialize it with vjp_order=1"
        )
    call: Callable[[Any], Any] = found.call
    return call


def _pointer(array: Any) -> ctypes.c_uint64:
    """Address of an array of DLPack, the first word of its DLTensor."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = array.__dlpack__()  # which owns the DLTensor
    return ctypes.c_uint64(ctypes.c_uint64.from_address(get(capsule, b"dltensor")).value)


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _driver(function: str, *arguments: Any) -> None:
    """Calls CUDA's driver, in the context of the calling thread."""
    code = getattr(_library(), function)(*arguments)
    if code != 0:
        raise QuiltError(f"JaxForce: {function} of CUDA failed with code {code}")
