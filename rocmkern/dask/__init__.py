"""Tensors as chunks of dask arrays and between dask's processes: what dask is told as soon as it is imported.

`WorkerDevices` of `rocmkern.dask.workers` gives each worker of a cluster a device.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final

from rocmkern.announcing import when_imported

# Which module of dask's is told by which of ours, in its function `tell`.
_TELLERS: Final = {
    "dask.array.backends": "rocmkern.dask.arrays",
    "dask.sizeof": "rocmkern.dask.sizes",
    "distributed.protocol.serialize": "rocmkern.dask.exchange",
    "distributed.protocol.cuda": "rocmkern.dask.exchange_on_gpus",
}


def announce() -> None:
    """Tells dask, where it is there, else as soon as it comes."""
    for theirs, ours in _TELLERS.items():
        when_imported(theirs, lambda module, ours=ours: _tell(ours, module))  # type: ignore[misc]  # a default binds it


def _tell(name: str, module: ModuleType) -> None:
    import_module(name).tell(module)
