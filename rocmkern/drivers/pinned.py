"""Which host memory is pinned."""

from __future__ import annotations

import numpy as np
from attrs import define, field


@define(eq=False)
class PinnedRanges:
    """Start and end addresses of the live pinned blocks of a device."""

    _ends: dict[int, int] = field(init=False, factory=dict)

    def add(self, start: int, nbytes: int) -> None:
        self._ends[start] = start + nbytes

    def remove(self, start: int) -> bool:
        """Whether it was there."""
        return self._ends.pop(start, None) is not None

    def clear(self) -> None:
        self._ends.clear()

    def contain(self, view: memoryview) -> bool:
        if not self._ends or not view.nbytes:
            return False
        first = np.frombuffer(view, np.uint8).ctypes.data
        return any(start <= first and first + view.nbytes <= end for start, end in list(self._ends.items()))
