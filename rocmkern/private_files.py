"""Files that nobody but their user can have written, and the key that marks content as this user's.

What is run as code comes from such files alone. Owner and mode are asked of what is open, the folders on the way
included, and the last link of a path is not followed.
"""

from __future__ import annotations

import os
import stat
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final

from rocmkern.paths import cache_folder, config_folder

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
KEY_BYTES: Final = 32
DIGEST_BYTES: Final = 16
KEY_FOLDER: Final = "private"
_KEY_FILE: Final = "cache.key"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY
_READ_BYTES: Final = 1 << 20
_TO_READ: Final = os.O_RDONLY | os.O_NONBLOCK  # a pipe in a file's place would have no end
_keys = dict[tuple[Path, Path], bytes]()  # by the folders of the configuration and of the cache
_told = set[str]()


@contextmanager
def opened_folder(folder: Path, *inner: str, make: bool = False) -> Iterator[int]:
    """The descriptor of a folder, or of one inside it, that the user owns and nobody else can write.

    `make` makes what is missing. Raises OSError where there is none, PermissionError and a warning, once, where others
    could have put something there.
    """
    descriptor = _open_folder(folder, inner, make)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_folder(folder: Path, inner: Sequence[str], make: bool) -> int:
    if make:
        _make_folders(folder)
    descriptor = os.open(folder, _FOLDER)
    try:
        _check(os.fstat(descriptor), folder, "", _OTHERS_WRITE)
        for i, name in enumerate(inner):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, FOLDER_MODE, dir_fd=descriptor)
            below = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
            _check(os.fstat(descriptor), folder, "/".join(inner[: i + 1]), _OTHERS_WRITE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _make_folders(folder: Path) -> None:
    try:
        os.mkdir(folder, FOLDER_MODE)
    except FileNotFoundError:
        _make_folders(folder.parent)
        _make_folders(folder)
    except FileExistsError:
        pass


def opened_file(folder: Path, name: str, flags: int = _TO_READ) -> int:
    """The descriptor of a file that the user owns and nobody else can write; `name` may lead through folders inside.

    With os.O_CREAT in `flags`, what is missing is made. Raises what opened_folder raises.
    """
    *inner, last = name.split("/")
    where = _open_folder(folder, inner, bool(flags & os.O_CREAT))
    try:
        return _opened(where, last, flags, folder, name, _OTHERS_WRITE)
    finally:
        os.close(where)


def _opened(where: int, last: str, flags: int, folder: Path, name: str, refused: int) -> int:
    descriptor = os.open(last, flags | os.O_NOFOLLOW, FILE_MODE, dir_fd=where)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError(f"read {folder / name}: it is no file")
        _check(status, folder, name, refused)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read(folder: Path, name: str, *, used: bool = False) -> bytes:
    """The content of such a file, which from then on was `used` last. Raises what opened_folder raises."""
    descriptor = opened_file(folder, name)
    try:
        parts = list(iter(lambda: os.read(descriptor, _READ_BYTES), b""))
        if used:
            with suppress(OSError):
                os.utime(descriptor)
    finally:
        os.close(descriptor)
    return b"".join(parts)


def stream(folder: Path, name: str) -> BinaryIO:
    """Such a file to read from. Raises what opened_folder raises."""
    return os.fdopen(opened_file(folder, name), "rb")


def write(folder: Path, name: str, content: bytes) -> None:
    """Writes a file so that readers find the old content or all of the new. Raises what opened_folder raises."""
    *inner, last = name.split("/")
    with opened_folder(folder, *inner, make=True) as where:
        fresh = _write_beside(where, last, content)
        try:
            os.replace(fresh, last, src_dir_fd=where, dst_dir_fd=where)
        except BaseException:
            os.unlink(fresh, dir_fd=where)
            raise


def _write_beside(where: int, name: str, content: bytes) -> str:
    """Writes under another name, which it returns."""
    fresh = f".{name}.{os.getpid()}.{threading.get_ident()}"
    with suppress(FileNotFoundError):
        os.unlink(fresh, dir_fd=where)  # left by a process of the same number
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE, dir_fd=where)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except BaseException:
        os.unlink(fresh, dir_fd=where)
        raise
    return fresh


def digest(name: str, *contents: bytes) -> bytes:
    """What stands for content under a name, and can't be made without the user's key.

    Raises OSError where the user has no key and none can be written.
    """
    state = blake2b(key=_key(), digest_size=DIGEST_BYTES)
    for part in (name.encode(), *contents):
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


def _key() -> bytes:
    """The user's key: in the configuration folder, which nobody restores with a cache; where that can't be, beside the
    cache."""
    folders = config_folder(), cache_folder()
    if folders in _keys:
        return _keys[folders]
    places = [folder / KEY_FOLDER for folder in folders]
    for place in places:
        with suppress(OSError):
            found = _keys[folders] = _key_in(place)
            return found
    raise PermissionError(f"cache: no key in {places[0]}, and none can be written there")


def _key_in(place: Path) -> bytes:
    try:
        with opened_folder(place) as where:
            return _read_key(where, place)
    except FileNotFoundError:
        pass
    with opened_folder(place, make=True) as where:
        fresh = _write_beside(where, _KEY_FILE, os.urandom(KEY_BYTES))
        try:
            with suppress(FileExistsError):  # another process was first
                os.link(fresh, _KEY_FILE, src_dir_fd=where, dst_dir_fd=where)
        finally:
            os.unlink(fresh, dir_fd=where)
        return _read_key(where, place)


def _read_key(where: int, place: Path) -> bytes:
    with os.fdopen(_opened(where, _KEY_FILE, _TO_READ, place, _KEY_FILE, stat.S_IRWXG | stat.S_IRWXO), "rb") as file:
        key = file.read(KEY_BYTES + 1)
    if len(key) != KEY_BYTES:
        raise _refusal(place / _KEY_FILE, f"has not the {KEY_BYTES} bytes of a key; nothing is cached: remove it")
    return key


def _check(status: os.stat_result, folder: Path, name: str, refused: int) -> None:
    """Raises PermissionError unless what is open is the user's and has none of the `refused` permissions."""
    if status.st_uid == os.geteuid() and not status.st_mode & refused:
        return
    raise _refusal(
        folder / name,
        f"belongs to user {status.st_uid} with mode {stat.S_IMODE(status.st_mode):o}, so that others can write or read "
        "it; it is not used: remove it, or make it the user's own and `chmod go=`",
    )


def _refusal(path: Path, fact: str) -> PermissionError:
    """The error, and a warning where this was not told before."""
    words = f"cache: {path} {fact}"
    if words not in _told:
        _told.add(words)
        warnings.warn(words, RuntimeWarning, stacklevel=2)
    return PermissionError(words)
