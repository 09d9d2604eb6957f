"""Folders of the user's cache: shared by processes, bounded, and never in the way."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from rocmkern import disk_cache
from rocmkern.disk_cache import LIMIT_VARIABLE, DiskCache, prune
from rocmkern.paths import CACHE_VARIABLE

WRITER = """
import sys
from pathlib import Path
from rocmkern.disk_cache import DiskCache
cache, me = DiskCache(Path(sys.argv[1])), int(sys.argv[2])
for n in range(150):
    for key in (str(n % 7), f"{me}-{n}"):
        assert cache.keep(key, key.encode() * 500)
    for key in (str(n % 7), f"{1 - me}-{n}", f"{me}-{n}"):
        assert cache.fetch(key) in (None, key.encode() * 500)
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiskCache:
    monkeypatch.setattr(disk_cache, "_unseen", type(disk_cache._unseen)(int))
    return DiskCache(tmp_path / "kept")


def aged(path: Path, seconds: float) -> Path:
    os.utime(path, (time.time() - seconds,) * 2)
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_processes_write_the_same_folder(cache: DiskCache) -> None:
    """None finds another's half-written or dropped entry; what is left is within the limit."""
    command = [sys.executable, "-c", WRITER, str(cache.folder)]
    environment = {**os.environ, LIMIT_VARIABLE: "0.02"}
    running = [subprocess.Popen([*command, str(n)], env=environment, cwd=Path.cwd()) for n in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    left = list(cache.folder.iterdir())
    assert {path.suffix or path.name for path in left} == {".kept", "bounded"}
    assert sum(path.stat().st_size for path in left) <= 0.02 * 2**20 * (1 + 2 / disk_cache.SHARE)


def test_what_was_used_longest_ago_goes_first(cache: DiskCache) -> None:
    """Fetching counts as use; entries of folders below are bounded with the others."""
    inner = DiskCache(cache.folder / "inner")
    for age, (where, key) in enumerate(((cache, "a"), (inner, "b"), (cache, "c"))):
        assert where.keep(key, bytes(1000))
        aged(where.folder / f"{key}.kept", 100 - age)
    assert cache.fetch("a") == bytes(1000)
    prune(cache.folder, 2500)
    assert [where.fetch(key) is not None for where, key in ((cache, "a"), (inner, "b"), (cache, "c"))] == [1, 0, 1]


def test_a_file_stays_for_who_was_told_where_it_is(tmp_path: Path) -> None:
    """What is opened by path outlasts the limit for a minute after its use; then it goes with what is beside it."""
    for name in ("a.hsaco", "a.hsaco.json", "b.hsaco"):
        (tmp_path / name).write_bytes(bytes(1000))
        aged(tmp_path / name, 1000)
    disk_cache.use(tmp_path / "a.hsaco")
    prune(tmp_path, 0)
    assert names(tmp_path) == {"a.hsaco", "a.hsaco.json"}
    with (tmp_path / "a.hsaco").open("rb") as reader:
        aged(tmp_path / "a.hsaco", 1000)
        prune(tmp_path, 0)
        assert names(tmp_path) == set()
        assert reader.read() == bytes(1000)


def test_what_links_lead_to_stays(cache: DiskCache, tmp_path: Path) -> None:
    """A folder elsewhere is none of the cache's; the cache itself may lie behind a link."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").write_bytes(bytes(1000))
    aged(elsewhere / "mine", 1000)
    assert cache.keep("a", bytes(1000))
    (cache.folder / "link").symlink_to(elsewhere)
    (tmp_path / "way").symlink_to(cache.folder)
    linked = DiskCache(tmp_path / "way")
    assert linked.fetch("a") == bytes(1000)
    prune(linked.folder, 0)
    assert cache.fetch("a") is None
    assert names(elsewhere) == {"mine"}


def test_a_file_goes_after_what_describes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever finds a description finds the file."""
    for name in ("a.hsaco", "a.hsaco.json"):
        (tmp_path / name).write_bytes(b"")
        aged(tmp_path / name, 1000)
    went, unlink = list[str](), os.unlink
    monkeypatch.setattr(os, "unlink", lambda path: (went.append(Path(path).name), unlink(path)))
    prune(tmp_path, -1)
    assert went == ["a.hsaco.json", "a.hsaco"]


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b"", lambda b: b[:20] + bytes([b[20] ^ 1]) + b[21:]])
def test_damaged_entries_count_as_missing(cache: DiskCache, damage: object) -> None:
    """Cut off, empty, or with one bit changed; what is kept then replaces them."""
    assert callable(damage)
    assert cache.keep("a", b"content")
    (file,) = cache.folder.glob("*.kept")
    file.write_bytes(damage(file.read_bytes()))
    assert cache.fetch("a") is None
    assert cache.keep("a", b"content")
    assert cache.fetch("a") == b"content"


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Nothing is kept and nothing raised."""
    (tmp_path / "file").write_bytes(b"")
    cache = DiskCache(tmp_path / "file" / "kept")
    assert not cache.keep("a", b"content")
    assert cache.fetch("a") is None


def test_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept and nothing raised, as with a user id that a container gave."""
    for variable in ("HOME", "XDG_CACHE_HOME", CACHE_VARIABLE):
        monkeypatch.delenv(variable, raising=False)

    def is_unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr("pwd.getpwuid", is_unknown)
    cache = DiskCache.named("kept")
    assert not cache.keep("a", b"content")
    assert cache.fetch("a") is None


def test_folder_that_cannot_be_written(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """What others kept there is found."""
    assert cache.keep("a", b"content")

    def refuse(*arguments: object, **options: object) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    def open_to_read(path: str, flags: int, *arguments: Any, **options: Any) -> int:
        return opens(path, flags, *arguments, **options) if not flags & (os.O_WRONLY | os.O_CREAT) else refuse()

    opens = os.open
    for name in ("utime", "replace", "unlink"):
        monkeypatch.setattr(os, name, refuse)
    monkeypatch.setattr(os, "open", open_to_read)
    assert cache.fetch("a") == b"content"
    assert not cache.keep("b", b"more")


@pytest.fixture
def small_files() -> Iterator[None]:
    """Files can't grow beyond 4096 bytes: a write comes back short, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small_files")
def test_disk_that_is_full(cache: DiskCache) -> None:
    """What does not fit is not kept, and its part that did takes no room."""
    assert cache.keep("small", bytes(100))
    assert not cache.keep("large", bytes(10_000))
    assert names(cache.folder) == {"small.kept", "bounded"}


def test_remains_of_a_process_that_died(cache: DiskCache) -> None:
    """A file that nobody finished goes after a minute, whatever the limit."""
    assert cache.keep("a", b"content")
    remains = cache.folder / ".b.kept.1.2"
    remains.write_bytes(b"cont")
    prune(cache.folder, 1 << 20)
    assert remains.exists()
    aged(remains, 100)
    prune(cache.folder, 1 << 20)
    assert names(cache.folder) == {"a.kept", "bounded"}


def test_processes_that_write_little_bound_it_too(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a minute one of those that write looks at the folder."""
    monkeypatch.setenv(LIMIT_VARIABLE, "0.1")
    for n in range(30):
        assert cache.keep(str(n), bytes(5000))
        disk_cache._unseen.clear()  # as if each was a process
    assert len(names(cache.folder)) == 31
    aged(cache.folder / "bounded", 100)
    assert cache.keep("last", bytes(5000))
    assert 15 < len(names(cache.folder)) <= 21


def test_limit_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """In megabytes; what is no number is told."""
    monkeypatch.delenv(LIMIT_VARIABLE, raising=False)
    assert disk_cache.limit_bytes() == 512 << 20
    monkeypatch.setenv(LIMIT_VARIABLE, "1.5")
    assert disk_cache.limit_bytes() == 3 << 19
    monkeypatch.setenv(LIMIT_VARIABLE, "much")
    with pytest.raises(ValueError, match="cache: ROCMKERN_CACHE_MB is 'much'; give a number of megabytes"):
        disk_cache.limit_bytes()
