"""Runs kernels on the emulator with NumPy arrays as buffers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from rocmkern.emulator.machine import Entry, Loaded, Machine
from rocmkern.emulator.native import native
from tests.samples import compile_hip

Array = NDArray[Any]
TARGETS = ("gfx90a", "gfx942", "gfx950")


@cache
def machine(target: str) -> Machine:
    """A device that compiles only what a test says, so that both tiers are tested whatever the cache holds."""
    return Machine(target, timeout_s=60, compiles=False)


class Geometry(NamedTuple):
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int


@define(eq=False)
class Bench:
    """One module on one machine. Arrays passed as arguments are copied in before a launch and out after it."""

    machine: Machine
    module: Loaded
    compiled: bool = False  # run once in tier 0, then what that made hot in tier 1: the second result counts
    _entries: dict[str, Entry] = field(factory=dict)  # got once, as the driver does

    def run(
        self,
        name: str,
        *args: Array | np.generic | int,
        grid: tuple[int, int, int] | int = 1,
        block: tuple[int, int, int] | int = 64,
        shared_bytes: int = 0,
    ) -> None:
        """Arguments: arrays (a pointer each), NumPy scalars (their width); an int is a raw pointer."""
        entry = self._entries.get(name) or self._entries.setdefault(name, self.module.kernel(name))
        blocks, threads = (d if isinstance(d, tuple) else (d, 1, 1) for d in (grid, block))
        geometry = Geometry(blocks, threads, shared_bytes)
        if self.compiled:
            self._launch(entry, [a.copy() if isinstance(a, np.ndarray) else a for a in args], geometry)
            self.module.program.compile(entry.kernel)
        self._launch(entry, args, geometry)

    def _launch(self, entry: Entry, args: Sequence[Array | np.generic | int], geometry: Geometry) -> None:
        buffers: list[tuple[int, Array]] = []
        packed = bytearray()
        try:
            for argument, described in zip(args, entry.kernel.explicit_arguments, strict=True):
                packed += bytes(described.offset - len(packed))
                if isinstance(argument, np.ndarray):
                    address = self.machine.alloc(argument.nbytes)
                    self.machine.view(address, argument.nbytes)[:] = argument.tobytes()
                    buffers.append((address, argument))
                    packed += struct.pack("<Q", address)
                elif isinstance(argument, int):
                    packed += struct.pack("<Q", argument)
                else:
                    packed += argument.tobytes()
            self.machine.launch(entry, geometry.grid, geometry.block, geometry.shared_bytes, bytes(packed))
            for address, array in buffers:
                array[...] = np.frombuffer(self.machine.view(address, array.nbytes), array.dtype).reshape(array.shape)
        finally:
            for address, _ in buffers:
                self.machine.free(address)


@cache
def bench(source: str, target: str = "gfx942", flags: tuple[str, ...] = (), compiled: bool = False) -> Bench:
    """The kernels of a header-free HIP source (marked KERNEL, see tests/samples.py)."""
    on = machine(target)
    return Bench(on, on.load(compile_hip(source, target, flags=flags)), compiled)


def kept_file(device: Bench, kernel: str) -> Path:
    """Where processes keep what they translated of a kernel."""
    store = native().store
    return (
        store.cache.folder / store.version / f"{device.module.program._key(device.module.kernel(kernel).kernel)}.kept"
    )


def unknown(source: str) -> Bench:
    """A module of its own, translated from the beginning, whatever is kept of it."""
    device = bench.__wrapped__(source)
    for kernel in device.module.program.code.kernels.values():
        device.module.program.heat(kernel).is_looked_up = True
    return device
