"""Jobs of several processes, or of several threads in their place."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from rocmkern.distributed import Group
from rocmkern.distributed.places import Place
from rocmkern.distributed.rendezvous import meet
from rocmkern.runtime import Device

ROOT = Path(__file__).parents[2]
Value = TypeVar("Value")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def in_threads(size: int, work: Callable[[Group], Value]) -> list[Value]:
    """What `work` gives for each rank of a group whose processes are threads, each with a device of its own."""
    port = free_port()

    def one(rank: int) -> Value:
        rendezvous = meet(Place(rank, size, rank, "127.0.0.1", port), None, 120.0)
        try:
            with Group(Device(f"emulator:gfx942:{rank}"), tuple(range(size)), rank, rendezvous) as group:
                return work(group)
        finally:
            rendezvous.leave()

    with ThreadPoolExecutor(size) as threads:
        return list(threads.map(one, range(size)))


def started(script: str, size: int, **variables: str) -> list[subprocess.Popen[str]]:
    """A process for each rank that runs a script of Python, in the environment that torchrun makes."""
    common = {
        "WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()), "PYTHONPATH": str(ROOT), **variables,
    }  # fmt: skip
    return [
        subprocess.Popen(
            [sys.executable, "-c", script],
            env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]


def ended(processes: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    """Status, output and errors of each."""
    found = []
    for process in processes:
        out, error = process.communicate(timeout=120)
        found.append((process.returncode, out, error))
    return found
