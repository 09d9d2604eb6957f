"""Where the drivers lay a kernel's arguments for a launch, during which the vendor's library copies them."""

from __future__ import annotations

import ctypes
import threading
from typing import Final

_NOTHING: Final = ctypes.c_void_p()  # for kernels without arguments
Held = tuple[memoryview, ctypes.c_size_t, ctypes.c_void_p]


class LaunchBuffers(threading.local):
    """Each thread's argument block, and the five words that say where it lies: HIP's and CUDA's `extra`.

    Packing by the bindings is avoided: hip-python does not align lists as HIP does, and it costs 2 us more.
    """

    held: Held  # the block, how much of it the next launch reads, and where the words are

    def __init__(self, pointer: int, size: int, end: int) -> None:
        self._codes = (pointer, size, end)
        self._resize(1 << 12)

    def _resize(self, capacity: int) -> None:
        pointer, size, end = self._codes
        self._block = (ctypes.c_ubyte * capacity)()
        self._size = ctypes.c_size_t()
        block, nbytes = ctypes.addressof(self._block), ctypes.addressof(self._size)
        self._words = (ctypes.c_void_p * 5)(pointer, block, size, nbytes, end)
        self.held = (memoryview(self._block).cast("B"), self._size, ctypes.c_void_p(ctypes.addressof(self._words)))

    def resized(self, nbytes: int) -> Held:
        """The thread's own for a block of that size."""
        view, size, _ = self.held
        if not nbytes:
            return view, size, _NOTHING
        if nbytes > len(view):
            self._resize(nbytes)
        self.held[1].value = nbytes
        return self.held
