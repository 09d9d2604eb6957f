"""Files that can be made again, in folders of the user's cache: bounded, and shared by any number of processes.

Each of its FOLDERS holds up to $ROCMKERN_CACHE_MB, by default 512. What
was used longest ago goes first. A folder that can't be written, or a full disk, means that nothing is kept. What is
kept is code, so only this user's own files count (`private_files`), with a digest under the user's key.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import frozen

from rocmkern import private_files
from rocmkern.errors import ConfigError
from rocmkern.paths import cache_folder, write_whole
from rocmkern.private_files import DIGEST_BYTES

LIMIT_VARIABLE: Final = "ROCMKERN_CACHE_MB"
LIMIT_MB: Final = 512
SPARED_S: Final = 60.0  # for who was told a file's place to open it, and for who writes one
LOOK_EVERY_S: Final = 60.0  # until some process that writes looks how large a folder is
SHARE: Final = 16  # one that has written this part of the limit looks sooner
SUFFIX: Final = ".kept"
SEAL_SUFFIX: Final = ".seal"
FOLDERS: Final = ("compiled", "emulator", "hip_on_cpu", "instances", "jit", "kernels")
OPENED_BY_PATH: Final = ("instances", "kernels")  # folders of files that are no entries
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
        """The bytes that were kept under a key; None where there are none, or damaged ones, or another user's."""
        try:
            content = private_files.read(self.folder, f"{key}{SUFFIX}", used=True)
            data = content[DIGEST_BYTES:]
            if private_files.digest(key, data) != content[:DIGEST_BYTES]:
                return None
        except OSError:
            return None
        return data

    def keep(self, key: str, data: bytes) -> bool:
        """Whether the bytes could be kept. Of several writers one wins."""
        try:
            private_files.write(self.folder, f"{key}{SUFFIX}", private_files.digest(key, data) + data)
        except OSError:
            return False
        self.bound(len(data))
        return True

    def bound(self, written: int) -> None:
        """Drop what was used longest ago, if the folder may have outgrown its limit by what was `written` to it."""
        limit = limit_bytes()
        _unseen[self.folder] += written
        if _unseen[self.folder] > limit // SHARE or self._is_due():
            _unseen[self.folder] = 0
            prune(self.folder, limit)

    def _is_due(self) -> bool:
        """Whether no process has looked lately; then this one is to."""
        mark = self.folder / "bounded"
        try:
            is_due = time.time() - mark.stat().st_mtime > LOOK_EVERY_S
        except OSError:
            is_due = True
        if is_due:
            with suppress(OSError):
                mark.touch()
        return is_due


def read(path: Path) -> bytes:
    """A file's content. Raises OSError where it is not there, or lies in the user's cache and others can write it."""
    return private_files.read(path.parent, path.name) if _is_cached(path) else path.read_bytes()


def write(path: Path, content: bytes) -> None:
    """Writes a file whole, and the folders that it lies in; those of the user's cache for the user alone."""
    if _is_cached(path):
        private_files.write(path.parent, path.name, content)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)


def describe(path: Path, suffix: str, text: bytes, content: bytes) -> None:
    """Writes what is to lie beside a file of that content: a text, and in the user's cache a seal on both."""
    write(path.with_name(path.name + suffix), text)
    if _is_cached(path):
        write(path.with_name(path.name + SEAL_SUFFIX), private_files.digest(path.name, text, content))


def read_described(path: Path, suffix: str) -> tuple[bytes, bytes]:
    """A file's content and the text beside it. Raises OSError where one is missing or, in the user's cache, not as this
    user sealed it."""
    content, text = read(path), read(path.with_name(path.name + suffix))
    if _is_cached(path):
        seal = read(path.with_name(path.name + SEAL_SUFFIX))
        if seal != private_files.digest(path.name, text, content):
            raise PermissionError(f"cache: {path} is not as it was kept; remove it")
    return content, text


def _is_cached(path: Path) -> bool:
    """Whether it is of the cache's own, of which users may put others beside them."""
    return any(path.is_relative_to(cache_folder() / name) for name in OPENED_BY_PATH)


def use(*paths: Path) -> None:
    """Say that files are in use."""
    for path in paths:
        with suppress(OSError):
            os.utime(path, follow_symlinks=False)


def prune(folder: Path, limit: int) -> None:
    """Drop the files of a folder and those below it that were used longest ago, until the rest is within the limit.

    Files named `x.y` and `x` go together, the former first. Those of `SPARED_S` stay, unless they are entries, which
    nobody opens twice.
    """
    total, young = 0, time.time() - SPARED_S
    for last, size, paths in sorted(_groups(str(folder)), reverse=True):
        total += size
        first = os.path.basename(paths[0])
        if (total > limit or first.startswith(".")) and (last <= young or first.endswith(SUFFIX)):
            for path in reversed(paths):
                with suppress(OSError):
                    os.unlink(path)


def _groups(folder: str) -> Iterator[tuple[float, int, list[str]]]:
    """Files that go together: when one of them was last used, their size, their paths."""
    together = dict[str, list[os.DirEntry[str]]]()
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                yield from _groups(entry.path)
                continue
            stem = entry.name.rpartition(".")[0]
            together.setdefault(stem if stem in together else entry.name, []).append(entry)
    for group in together.values():
        with suppress(OSError):
            status = [entry.stat() for entry in group]
            yield max(s.st_mtime for s in status), sum(s.st_size for s in status), [entry.path for entry in group]
