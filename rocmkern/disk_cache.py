"""Files that can be made again, in folders of the user's cache: bounded, and shared by any number of processes.

Each folder (`compiled`, `emulator`, `instances`, `jit`, `kernels`) holds up to $ROCMKERN_CACHE_MB, by default 512. What
was used longest ago goes first. A folder that can't be written, or a full disk, means that nothing is kept.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

from attrs import frozen

from rocmkern.errors import ConfigError
from rocmkern.paths import cache_folder, write_whole

LIMIT_VARIABLE: Final = "ROCMKERN_CACHE_MB"
LIMIT_MB: Final = 512
SPARED_S: Final = 60.0  # for who was told a file's place to open it, and for who writes one
SHARE: Final = 16  # a process looks at a folder again when it has written this part of the limit
SUFFIX: Final = ".kept"
DIGEST_BYTES: Final = 16
_unseen = defaultdict[Path, int](int)  # folder → bytes written since its size was looked at


def limit_bytes() -> int:
    """Raises ConfigError (a ValueError) where the environment names no number."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    try:
        return int(float(text) * (1 << 20)) if text else LIMIT_MB << 20
    except (ValueError, OverflowError):
        raise ConfigError(f"cache: {LIMIT_VARIABLE} is {text!r}; give a number of megabytes") from None


@frozen
class DiskCache:
    """One folder of the user's cache. Its entries are bytes by key; other files in it are bounded alike."""

    folder: Path

    @staticmethod
    def named(name: str) -> DiskCache:
        return DiskCache(cache_folder() / name)

    def fetch(self, key: str) -> bytes | None:
        """The bytes that were kept under a key; None where there are none, or damaged ones."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        data = content[DIGEST_BYTES:]
        if _digest(data) != content[:DIGEST_BYTES]:
            return None
        use(path)
        return data

    def keep(self, key: str, data: bytes) -> bool:
        """Whether the bytes could be kept. Of several writers one wins."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._path(key), _digest(data) + data)
        except OSError:
            return False
        self.bound(len(data))
        return True

    def bound(self, written: int) -> None:
        """Drop what was used longest ago, if the folder may have outgrown its limit by what was `written` to it."""
        limit = limit_bytes()
        known = self.folder in _unseen
        _unseen[self.folder] += written
        if not known or _unseen[self.folder] > limit // SHARE:
            _unseen[self.folder] = 0
            prune(self.folder, limit)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"


def use(*paths: Path) -> None:
    """Say that files are in use."""
    for path in paths:
        with suppress(OSError):
            os.utime(path)


def prune(folder: Path, limit: int) -> None:
    """Drop the files of a folder and those below it that were used longest ago, until the rest is within the limit.

    Files named `x.y` and `x` go together, the former first. Those of `SPARED_S` stay, unless they are entries, which
    nobody opens twice.
    """
    total, young = 0, time.time() - SPARED_S
    for last, size, paths in sorted(_groups(folder), reverse=True):
        total += size
        is_unfinished, is_spared = paths[0].name.startswith("."), last > young and paths[0].suffix != SUFFIX
        if (total > limit or is_unfinished) and not is_spared:
            for path in reversed(paths):
                with suppress(OSError):
                    path.unlink(missing_ok=True)


def _groups(folder: Path) -> Iterator[tuple[float, int, list[Path]]]:
    """Files that go together: when one of them was last used, their size, their paths."""
    for parent, _, names in os.walk(folder):
        together = defaultdict[str, list[str]](list)
        for name in sorted(names):
            stem = name.rpartition(".")[0]
            together[stem if stem in together else name].append(name)
        for group in together.values():
            last, size, paths = 0.0, 0, [Path(parent, name) for name in group]
            for path in paths:
                with suppress(OSError):
                    status = path.stat()
                    last, size = max(last, status.st_mtime), size + status.st_size
            yield last, size, paths


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST_BYTES).digest()
