"""A device for each worker of a dask cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from distributed import WorkerPlugin

import rocmkern as rk
from rocmkern import drivers
from rocmkern.errors import ConfigError


class WorkerDevices(WorkerPlugin):  # type: ignore[misc]  # distributed has no types
    """Gives each worker process one of `devices` as its default one, by the number at the end of the worker's name:
    `client.register_plugin(WorkerDevices(["cuda:0", "cuda:1"]))`.

    `memory_limit` is how many bytes each may take of its device: beyond them allocations raise DeviceOutOfMemory. What
    the worker itself keeps, dask spills to disk by the worker's own `memory_limit`, in which tensors count.
    Processes with one thread each; a process that has its device by ROCMKERN_DEVICE keeps it.
    """

    name = "rocmkern-devices"

    def __init__(self, devices: Sequence[str], memory_limit: int | None = None) -> None:
        if not devices:
            raise ConfigError("WorkerDevices: no devices; name one for each worker of a host")
        self.devices, self.memory_limit = tuple(devices), memory_limit

    def setup(self, worker: Any) -> None:
        """Called in the worker's process. Raises ConfigError for a name without a number."""
        if drivers.VARIABLE not in os.environ:
            os.environ[drivers.VARIABLE] = self.devices[number_of(worker.name) % len(self.devices)]
        rk.default_device().limit_memory(self.memory_limit)


def number_of(name: object) -> int:
    """The number at the end of a worker's name, as LocalCluster and `dask worker --nworkers` give them."""
    found = re.search(r"(\d+)$", str(name))
    if found is None or "://" in str(name):
        raise ConfigError(
            f"WorkerDevices: worker {name!r} has no number; start it with --name, or with {drivers.VARIABLE} set"
        )
    return int(found[1])
