# SPDX-License-Identifier: Apache-2.0
"""Faults on purpose, in a worker."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine.core import load_core
from ..engine.injection import Injection


def do(
    injection: Injection,
    engine: Any,
    state: dict[str, Any],
    cut: Callable[[], object],
    gpu: int | None,
) -> dict[str, Any] | None:
    """Does it; the state to go on with where that is to be set.

    Parameters
    ----------
    injection:
        What.
    engine:
        Engine of the compiled core, for faults that flip bits inside it.
    state:
        Present state of the simulation.
    cut:
        Ends the connection.
    gpu:
        The number of the GPU, where the device is one.
    """
    if injection.kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if injection.kind == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if injection.kind == "sticky":
        load_core().poison_gpu(gpu)
    if injection.kind == "hang" and gpu is not None:
        load_core().occupy_gpu(gpu)
    elif injection.kind == "hang":
        threading.Event().wait()
    if injection.kind == "drop":
        cut()
        threading.Event().wait()
    if inside := injection.inside():
        engine.inject_flip(*inside, injection.bit)
        return state
    array = np.array(state[injection.buffer])
    if injection.kind == "nan":
        array[0, 0] = np.nan
    elif injection.kind == "flip":
        bits = array.reshape(-1).view(np.uint8)
        bit = injection.bit % (8 * len(bits))
        bits[bit // 8] ^= np.uint8(1 << bit % 8)
    else:
        return None
    return {**state, injection.buffer: array}
