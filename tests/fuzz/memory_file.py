"""A file that lies in memory alone, whose bytes each case replaces."""

from __future__ import annotations

import os
from pathlib import Path

from attrs import define, field


@define(eq=False)
class MemoryFile:
    """It has no name in any folder, and is gone with its process."""

    _descriptor: int = field(factory=lambda: os.memfd_create("case"), init=False)

    @property
    def path(self) -> Path:
        return Path(f"/proc/self/fd/{self._descriptor}")

    def replace(self, data: bytes) -> None:
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, data, 0)
