"""Launches that were made before: of an operation on tensors of the same dtypes, shapes and strides nothing is left to
work out but where they are.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from math import copysign
from typing import Any, Final

import numpy as np
from attrs import define, field

from rocmkern.drivers.protocol import Again, Dims
from rocmkern.dtypes import DType
from rocmkern.errors import ClosedError
from rocmkern.layout import Layout
from rocmkern.ops.recording import LayoutAddress, Recorded, thread, under_way
from rocmkern.runtime import Device, DeviceMemory, Function
from rocmkern.tensor import Kind, Tensor, kind_of

Key = tuple[Any, ...]
_KEPT: Final = 4096
_REAL: Final = (bool, int, float, np.bool_, np.integer, np.floating)


@define(eq=False)
class Prepared:
    """All of a launch that makes a new tensor, save the addresses of its operands and of the result."""

    function: Function
    pack: Callable[..., bytes]
    grid: Dims
    block: Dims
    before: tuple[int | float | bytes, ...]  # arguments ahead of the operands' addresses
    between: tuple[int, ...]  # addresses between theirs and the result's
    after: tuple[int | float | bytes, ...]
    layout: Layout
    dtype: DType
    nbytes: int
    kept: tuple[Tensor, ...]  # what the addresses ahead and between lead to

    _kind: Kind = field(init=False)  # of what it makes
    _again: Again | None = field(init=False, default=None)  # once it was launched

    def __attrs_post_init__(self) -> None:
        self._kind = kind_of(self.function.driver, self.dtype, self.layout)

    def run(self, device: Device, *addresses: int, answer: tuple[int, ...] = ()) -> Tensor:
        """Launch it; the result. A kernel that checks its operands is told last where to answer."""
        memory = DeviceMemory(device, self.nbytes)
        if under_way and thread.recording is not None:
            thread.recording.makes(memory)
        self._launch((*addresses, memory.live_address, *answer), len(answer))
        return Tensor(memory, self.dtype, self.layout, device, self._kind)

    def into(self, out: Tensor, *addresses: int) -> Tensor:
        """Launch it where it writes to a tensor like its own."""
        self._launch((*addresses, out.address), 0)
        return out

    def fits(self, out: object, *operands: object) -> bool:
        """Whether it can write there: to a tensor like its own, which no operand reads in another order."""
        if not isinstance(out, Tensor) or out.kind is not self._kind:
            return False
        return all(x is out or not isinstance(x, Tensor) or x.memory is not out.memory for x in operands)

    def _launch(self, addresses: tuple[int, ...], answers: int) -> None:
        again = self._again
        try:
            if again is None or under_way:
                self._submit(addresses, answers)
            else:
                again(addresses)
        except ClosedError:  # somebody closed its module: the next operation loads another
            forget()
            raise

    def _submit(self, addresses: tuple[int, ...], answers: int) -> None:
        """The first launch, and those that may be recorded."""
        count = len(addresses) - 1 - answers
        operands, result, answer = addresses[:count], addresses[count], addresses[count + 1 :]
        packed = self.pack(*self.before, *operands, *self.between, result, *self.after, *answer)
        recording = thread.recording
        if recording is not None:
            for address in self.before:
                if isinstance(address, LayoutAddress):
                    recording.keeps(address, address)
            for number in self.kept:
                recording.keeps(number.address, number)
            recording.launches(self.function, packed, self.grid, self.block)
        self.function.submit(packed, self.grid, self.block)
        if self._again is None:
            first = len(self.before)
            at = first + count + len(self.between)
            last = at + 1 + len(self.after)
            pointers = (*range(first, first + count), at, *range(last, last + answers))
            self._again = self.function.prepare(packed, self.grid, self.block, pointers)


# Read and written by every thread without a lock: dict operations are atomic.
_launches: Final[dict[Key, Prepared]] = {}
found: Final = _launches.get  # the launch that was kept under a key, or None
recordings: Final[dict[Key, Recorded | None]] = {}  # None: an operation that can't be done again so


def keep(key: Key, launch: Prepared) -> None:
    """Keep a launch; there is a bound on how many."""
    if len(_launches) >= _KEPT:
        _launches.clear()
    _launches[key] = launch


def keep_recording(key: Key, made: Recorded | None) -> None:
    """Keep what an operation did; there is a bound on how many."""
    if len(recordings) >= _KEPT:
        recordings.clear()
    recordings[key] = made


def forget() -> None:
    """Forget all, because kernels may be chosen otherwise from now on."""
    _launches.clear()
    recordings.clear()


atexit.register(forget)  # memory goes back while the drivers still work


def number_key(value: object) -> Key | None:
    """A number as part of a key: 1, 1.0, True and NumPy's differ. None for others, for -0.0, which equals 0.0, and for
    NaN, which would never be found again.
    """
    if isinstance(value, _REAL) and (value or copysign(1, value) > 0) and value == value:
        return (value, value.__class__)
    return None
