# SPDX-License-Identifier: Apache-2.0
"""Hosts in place of real ones: network namespaces of this machine, joined by a switch."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

_numbers = count(os.getpid() % 10_000)
_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET


class UnavailableError(Exception):
    """Namespaces, or what their links need, cannot be had here: a reason."""


@dataclass(frozen=True)
class Link:
    """Between a host and the switch.

    Attributes
    ----------
    delay:
        Microseconds that a packet is late; needs netem of the kernel.
    rate:
        Gbit/s out of a host; 0: as fast as can be.
    """

    delay: float = 0.0
    rate: float = 0.0

    def shaping(self) -> list[str]:
        """Arguments of `tc qdisc add dev DEVICE root`; empty: none are needed."""
        rate = ["rate", f"{self.rate:g}gbit"] if self.rate else []
        if self.delay:
            return ["netem", "delay", f"{self.delay:g}us", "limit", "100000", *rate]
        return ["tbf", *rate, "burst", "256kb", "latency", "200ms"] if rate else []


class Hosts:
    """Namespaces with an address each, and a script `ssh` in `folder` that enters them.

    Parameters
    ----------
    folder:
        For the script; a process that puts it first in PATH reaches the hosts by ssh.
    hosts:
        Their number, 2 to 250.  All know each other's addresses, and the kernel remembers 1,024 of
        these for all namespaces together: more than 32 hosts need another limit
        (`sysctl net.ipv4.neigh.default.gc_thresh3=16384`), or some never reach each other.
    link:
        Of each host.

    Raises
    ------
    UnavailableError
        If this process may not make namespaces, or the kernel does not shape links so.
    """

    def __init__(self, folder: Path, hosts: int, link: Link | None = None) -> None:
        if shutil.which("ip") is None or shutil.which("tc") is None:
            raise UnavailableError("there are no programs ip and tc (iproute2)")
        number = next(_numbers)
        self.switch = f"quilt{number}s"
        self.names = [f"quilt{number}h{n}" for n in range(hosts)]
        self.addresses = [f"10.213.7.{1 + n}" for n in range(hosts)]
        try:
            self._join(link or Link())
        except subprocess.CalledProcessError as error:
            self.close()
            said = error.stderr.decode().strip()
            raise UnavailableError(f"{' '.join(error.cmd)}: {said}") from None
        self._write_script(folder / "ssh")

    def cut(self, host: int) -> None:
        """Takes down the link of a host; nobody is told."""
        _call("ip", "-n", self.names[host], "link", "set", "v0", "down")

    def close(self) -> None:
        """Ends all namespaces; processes in them lose their network."""
        for name in (*self.names, self.switch):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def socket_of(self, host: int, make: Callable[[], socket.socket]) -> socket.socket:
        """The socket that `make` makes as if on a host."""
        made: list[socket.socket] = []

        def enter() -> None:
            with open(f"/run/netns/{self.names[host]}") as place:
                if _LIBC.setns(place.fileno(), _NEW_NETWORK):
                    raise OSError(ctypes.get_errno(), f"cannot enter {self.names[host]}")
            made.append(make())

        thread = threading.Thread(target=enter)  # a thread alone enters, and ends there
        thread.start()
        thread.join()
        return made[0]

    def _join(self, link: Link) -> None:
        _call("ip", "netns", "add", self.switch)
        _call("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge")
        _call("ip", "-n", self.switch, "link", "set", "br0", "up")
        for n, (name, address) in enumerate(zip(self.names, self.addresses, strict=True)):
            _call("ip", "netns", "add", name)
            ends = ["v0", "netns", name, "type", "veth", "peer", f"v{n}", "netns", self.switch]
            _call("ip", "link", "add", *ends)
            _call("ip", "-n", self.switch, "link", "set", f"v{n}", "master", "br0", "up")
            _call("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "v0")
            _call("ip", "-n", name, "link", "set", "v0", "up")
            if shaping := link.shaping():
                _call("tc", "-n", name, "qdisc", "add", "dev", "v0", "root", *shaping)

    def _write_script(self, script: Path) -> None:
        names = " ".join(
            f"{address}) name={name};;"
            for address, name in zip(self.addresses, self.names, strict=True)
        )
        script.write_text(
            f'#!/bin/sh\ncase "$6" in {names} esac\nexec ip netns exec $name sh -c "$7"\n'
        )
        script.chmod(0o755)


def _call(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
