# SPDX-License-Identifier: Apache-2.0
"""PyTorch: models and functions that give an energy as external forces.

It needs `torch` 2.4 or later: `pip install torch`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from .description.external_force import ExternalForce
from .errors import QuiltError
from .external.model_units import sizes_of

Evaluation = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


class TorchForce(ExternalForce):
    """A force of which a model in PyTorch gives the energy, such as a machine-learned potential.

    In simulations on GPUs, a model on the GPU takes positions there and leaves forces there.
    Positions have the precision of the model's parameters; without parameters they are double.

    Parameters
    ----------
    model:
        Pure function of the positions (n, 3), a tensor, that returns the energy, of one element;
        forces are its gradient.  Or it returns (energy, forces).  A module (also of
        `torch.compile`), a function, or a file with a model: TorchScript (`torch.jit.save`), a
        program of `torch.export.save` or a package of AOTInductor.
    atoms:
        As of `ExternalForce`.
    length, unit:
        Units of positions, "nm" or "angstrom", and of the energy, "kJ/mol", "kcal/mol" or "eV".
    device:
        Device of the model, as PyTorch names it; None: the first GPU that PyTorch can use, else
        the CPU.
    name:
        Name of its energy.
    outside:
        As of `ExternalForce`.
    cuda_graph:
        Whether the model's work on the GPU is recorded once as a CUDA graph and then launched as a
        whole, which saves the time that PyTorch takes to launch operations one by one.  The model
        must then do the same operations at each call, whatever the positions are.  It acts only
        where the simulation is on the GPU as well; otherwise operations are launched one by one.

    Raises
    ------
    QuiltError
        If a unit is not known, the file has no model, or `cuda_graph` is asked for without a GPU.
    """

    def __init__(
        self,
        model: Callable[[Any], Any] | str | Path,
        atoms: str | Sequence[int] | None = None,
        *,
        length: str = "nm",
        unit: str = "kJ/mol",
        device: str | None = None,
        name: str = "torch",
        outside: bool = False,
        cuda_graph: bool = False,
    ) -> None:
        self.atoms, self.name, self.outside = atoms, name, outside
        self._length, self._energy = sizes_of(length, unit, "TorchForce")
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if self._device == torch.device("cuda"):  # the current one, which a run changes
            self._device = torch.device("cuda", 0)
        self.uses_gpu = self._device.type != "cpu"
        if cuda_graph and not self.uses_gpu:
            raise QuiltError(
                "TorchForce: cuda_graph = True needs a model on a GPU, and this one is on the CPU"
            )
        self._cuda_graph = cuda_graph
        self._recorded: _Recorded | None = None
        self._model = load_model(model, self._device) if isinstance(model, str | Path) else model
        self._place(self._device)
        self._precision = _precision_of(self._model)

    def compute(self, step: int, positions: Any, box: Any) -> tuple[Any, ...]:
        """Energy and forces."""
        energy, forces = self._evaluate(torch.from_numpy(positions).to(self._device))
        return energy.item(), forces.cpu().numpy()

    def compute_on_gpu(
        self, step: int, positions: Any, forces: Any, energy: Any, stream: int
    ) -> None:
        """Energy and forces, in the memory of the GPU."""
        device = torch.device("cuda", positions.__dlpack_device__()[1])
        with torch.cuda.stream(torch.cuda.ExternalStream(stream, device=device)):
            if device != self._device:
                self._place(device)
            evaluate = self._replay if self._cuda_graph else self._evaluate
            found, force = evaluate(torch.from_dlpack(positions))
            torch.from_dlpack(forces).copy_(force)
            torch.from_dlpack(energy).copy_(found)

    def _place(self, device: torch.device) -> None:
        if isinstance(self._model, torch.nn.Module):
            self._model.to(device)
        self._device, self._recorded = device, None

    def _replay(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The same as `_evaluate`, by the CUDA graph."""
        if self._recorded is None:
            self._recorded = _Recorded(self._evaluate, positions)
        return self._recorded(positions)

    def _evaluate(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Energy (1) and forces (n, 3) in the units of this program, in double precision."""
        given = (positions / self._length).to(self._precision).requires_grad_()
        # TorchScript's optimiser changes the program, and so the last bits, after some calls.
        script = isinstance(self._model, torch.jit.ScriptModule | torch.jit.ScriptFunction)
        plain = torch.jit.optimized_execution(False) if script else nullcontext()
        with torch.enable_grad(), plain:
            found = self._model(given)
            energy, *forces = found if isinstance(found, tuple | list) else (found,)
            if energy.numel() != 1:
                raise QuiltError(
                    f"the model returned an energy of shape {tuple(energy.shape)}, and not one "
                    "number"
                )
            if not forces:
                forces = [-torch.autograd.grad(energy.sum(), given)[0]]
        if forces[0].shape != given.shape:
            raise QuiltError(
                f"the model returned forces of shape {tuple(forces[0].shape)}, not "
                f"{tuple(given.shape)}"
            )
        force = self._energy / self._length
        return (
            energy.detach().reshape(1).double() * self._energy,
            forces[0].detach().double() * force,
        )


class _Recorded:
    """An evaluation as a CUDA graph, with the tensors that the graph reads and writes."""

    def __init__(self, evaluate: Evaluation, positions: torch.Tensor) -> None:
        self._positions = positions.clone()
        here, beside = torch.cuda.current_stream(), torch.cuda.Stream(positions.device)
        beside.wait_stream(here)
        with torch.cuda.stream(beside):
            for _ in range(3):  # libraries make their plans and buffers at the first calls
                evaluate(self._positions)
        here.wait_stream(beside)
        self._graph = torch.cuda.CUDAGraph()
        try:
            # Other threads may use the GPU meanwhile.
            with torch.cuda.graph(self._graph, stream=beside, capture_error_mode="thread_local"):
                self._found = evaluate(self._positions)
        except torch.cuda.OutOfMemoryError:
            raise  # no fault of the model
        except RuntimeError as error:
            raise QuiltError(
                "TorchForce: the model cannot be recorded as a CUDA graph, as `cuda_graph = True` "
                f"asks for ({error}): its operations may depend on values that are on the GPU; "
                "leave `cuda_graph` out"
            ) from error

    def __call__(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Energy and forces, as `evaluate` gives them."""
        self._positions.copy_(positions)
        self._graph.replay()
        return self._found


def load_model(file: str | Path, device: torch.device | str) -> Callable[[Any], Any]:
    """The model in a file.

    Parameters
    ----------
    file:
        TorchScript, a program of `torch.export.save`, or a package of AOTInductor.
    device:
        Device of its parameters; that of a package is in the package.

    Raises
    ------
    QuiltError
        If the file has none of these.
    """
    where = f"TorchForce: the model {str(file)!r}"
    model: Callable[[Any], Any]
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
        if any("aotinductor" in name for name in names):
            model = torch._inductor.aoti_load_package(str(file))
        elif any("/code/" in name for name in names):
            model = torch.jit.load(str(file), map_location=device).eval()
        else:
            model = torch.export.load(str(file)).module()
    except Exception as error:
        raise QuiltError(
            f"{where} cannot be loaded ({type(error).__name__}: {error}): it must be of "
            "torch.jit.save, torch.export.save or AOTInductor"
        ) from error
    return model


def _precision_of(model: Any) -> torch.dtype:
    """That of its first parameter or constant; double where there are none."""
    if isinstance(model, torch.nn.Module):
        for tensor in (*model.parameters(), *model.buffers()):
            if tensor.is_floating_point():
                return tensor.dtype
    return torch.float64
