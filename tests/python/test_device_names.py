# SPDX-License-Identifier: Apache-2.0
"""Which device a name means, on a machine with two GPUs, none of them real."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from quiltmd import QuiltError, QuiltWarning
from quiltmd.commands.information import print_devices
from quiltmd.engine.execution import Execution, choose_device, is_gpu
from quiltmd.engine.places import device_in_words
from quiltmd.engine.where import RunInWorkers


def machine(monkeypatch: pytest.MonkeyPatch, *problems: str) -> None:
    """GPUs with these problems, "" for none."""
    found: list[dict[str, Any]] = [{"kind": "cpu"}]
    found += [
        {"kind": "cuda", "ordinal": n, "usable": not problem, "reason": problem}
        for n, problem in enumerate(problems)
    ]
    monkeypatch.setattr("quiltmd.engine.execution.devices", lambda: found)


def test_one_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, "", "")
    assert choose_device("cuda:1") == "cuda:1"
    assert choose_device("cuda:0") == "cuda:0"
    assert choose_device("cuda") == choose_device("auto") == "cuda"
    assert choose_device("cpu") == "cpu"
    assert Execution("cuda:1").resolve().device == "cuda:1"
    assert is_gpu("cuda:1")
    assert not is_gpu("cpu")


def test_many_ranks_in_few_words() -> None:
    assert device_in_words("cuda:0,1") == "cuda:0,1"
    few = "ranks:ssh:a/cpu,ssh:a/cpu,ssh:b/cpu"
    assert device_in_words(few) == few
    assert device_in_words("ranks:" + ",".join(64 * ["worker:cpu"])) == "ranks:64 x worker:cpu"
    hosts = [f"ssh:{host}/cuda:{n}" for host in "abc" for n in range(8)]
    assert device_in_words(f"ranks:{','.join(hosts)}") == (
        "ranks:ssh:a/cuda:0, ssh:a/cuda:1, ssh:a/cuda:2, ssh:a/cuda:3, 20 others"
    )


def test_the_first_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, "it is too old", "")
    assert choose_device("auto") == choose_device("cuda") == "cuda:1"
    with pytest.raises(QuiltError, match=r"'cuda:0'.*it is too old; others are: cuda:1"):
        choose_device("cuda:0")


def test_one_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, "")
    with pytest.raises(QuiltError, match=r"'cuda:7'.*of that number.*others are: cuda:0"):
        choose_device("cuda:7")
    machine(monkeypatch)
    assert choose_device("auto") == "cpu"
    with pytest.raises(QuiltError, match="no usable GPU: none was found"):
        choose_device("cuda:0")


def test_a_gpu_that_is_not_used_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = (str(tmp_path / "nvidia[0-9]*"),)
    monkeypatch.setattr("quiltmd.engine.execution._GPU_FILES", files)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    machine(monkeypatch, "this build has no CUDA device")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert choose_device("auto") == "cpu"  # there is no GPU
        (tmp_path / "nvidia0").touch()
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        assert choose_device("auto") == "cpu"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    with pytest.warns(QuiltWarning, match="CPU is used, as .*: this build has no CUDA device"):
        assert choose_device("auto") == "cpu"


def test_a_list_is_a_gpu_for_each_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, "", "", "it is too old")
    for device, ranks in (("cuda:0,1", 2), ("cuda:1,0", 2), ("cuda:0,0,0", 3)):
        for asked in (None, ranks):
            found = Execution(device, asked).resolve()
            assert (found.device, found.ranks) == (device, ranks)
    assert Execution("cuda", 2).resolve().device == "cuda:0,1"
    assert Execution("auto", 2).resolve().device == "cuda:0,1"
    assert Execution("cuda").resolve().ranks == Execution("cpu").resolve().ranks == 1
    with pytest.raises(QuiltError, match=r"lists 2 device.* for 3 rank"):
        Execution("cuda:0,1", 3).resolve()
    with pytest.raises(QuiltError, match=r"'cuda:0,2'.*it is too old; others are: cuda:0, cuda:1"):
        Execution("cuda:0,2").resolve()
    with pytest.raises(QuiltError, match=r"3 ranks on device 'cuda'.* 2 can be used"):
        Execution("cuda", 3).resolve()


def test_several_take_the_first_that_work(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, "it is too old", "", "")
    assert choose_device("cuda", 2) == "cuda:1,2"


def test_of_a_worker_the_worker_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its machine may have other GPUs than this one."""
    machine(monkeypatch)
    execution = Execution("worker:cuda:0,1", threads=2)
    found = execution.resolve()
    assert (found.device, found.ranks) == ("worker:cuda:0,1", 2)
    assert isinstance(found, RunInWorkers)
    assert Execution(**{**found.asked, "device": "cpu"}) == Execution("cpu", threads=2)
    assert execution.warning() is None
    assert is_gpu("worker:cuda:1")
    assert not is_gpu("worker:cpu")


def test_links_between_gpus_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    gpu = {"kind": "cuda", "ordinal": 0, "name": "GPU", "architecture": "9.0", "processors": 1}
    links = [
        {"ordinal": 1, "access": True, "atomics": True, "kind": "NVLink"},
        {"ordinal": 2, "access": True, "atomics": False, "kind": "PCIe"},
        {"ordinal": 3, "access": False, "atomics": False, "kind": ""},
    ]
    print_devices([gpu | {"memory": 0, "free_memory": 0, "usable": True, "links": links}])
    told = " ".join(capsys.readouterr().out.split())
    assert "reaches cuda:1 by NVLink, reaches cuda:2 by PCIe without atomics" in told
    assert told.endswith("no direct access to cuda:3")


NAMES_OF_NOTHING = (
    "cuda:",
    "cuda:x",
    "cuda:-1",
    "cuda:0,",
    "cuda:,1",
    "cuda:0;1",
    "gpu",
    "",
    "null",
    "worker:",
    "worker:null",
    "worker:worker:cpu",
)


@pytest.mark.parametrize("name", NAMES_OF_NOTHING)
def test_names_of_nothing(name: str) -> None:
    with pytest.raises(
        QuiltError, match=r"no such device as .*: choose auto, cpu, cuda, a GPU that"
    ):
        Execution(name)
