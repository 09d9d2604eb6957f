"""Where the drivers lay a kernel's arguments for a launch, during which the vendor's library copies them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from attrs import frozen

from rocmkern.drivers.protocol import Dims

Geometry = tuple[int, Dims, Dims, int, int]  # function, grid, block, dynamic LDS, stream
# What launches: a function, all that it is passed, and where the kernel's arguments go before.
Launch = tuple[Callable[..., int], tuple[Any, ...], memoryview, object]


class Launches(threading.local):
    """Each thread's own launches, by geometry. A launch that was made before is a copy of its arguments and a call."""

    of: dict[Geometry, Launch]

    def __init__(self) -> None:
        self.of = {}


@frozen(eq=False)
class ArgumentBlock:
    """An argument block, and the five words that say where it lies: HIP's and CUDA's `extra`.

    Packing by the bindings is avoided: hip-python does not align lists as HIP does, and it costs 2 us more.
    """

    block: ctypes.Array[ctypes.c_ubyte]
    size: ctypes.c_size_t
    words: ctypes.Array[ctypes.c_void_p]

    @staticmethod
    def of(nbytes: int, pointer: int, size: int, end: int) -> ArgumentBlock:
        """A block with the codes that the vendor's library has for its parts."""
        block, length = (ctypes.c_ubyte * nbytes)(), ctypes.c_size_t(nbytes)
        words = (ctypes.c_void_p * 5)(pointer, ctypes.addressof(block), size, ctypes.addressof(length), end)
        return ArgumentBlock(block, length, words)

    @property
    def extra(self) -> ctypes.c_void_p:
        """The address of the words; null of a block without arguments."""
        return ctypes.c_void_p(ctypes.addressof(self.words) if len(self.block) else None)
