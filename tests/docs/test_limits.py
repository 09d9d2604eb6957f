"""The table of limits in docs/security.md is what the library does."""

from __future__ import annotations

import re
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgpack
import pytest

from rocmkern import codeobject
from rocmkern.checking.reproducer import MAGIC
from rocmkern.checking.reproducer import read as read_reproducer
from rocmkern.codeobject import metadata
from rocmkern.codeobject.ptx import read_ptx
from rocmkern.disk_cache import limit_bytes
from rocmkern.emulator.machine import TIMEOUT_S
from rocmkern.emulator.printf import LONGEST_TEXT
from rocmkern.errors import RocmkernError
from rocmkern.kernels.csv_table import read_csv
from rocmkern.packages.tables import read_table
from rocmkern.quant import load_gguf
from tests.codeobject.test_costs import PTX, bomb, empty_entries, with_memory

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "security.md"
ROW: Final = re.compile(r"^\| ([^|]+?) \| (\d+)(?: (\w+)(?: letters)?)? \|", re.M)
UNITS: Final = {"": 1, "letters": 1, "s": 1, "KiB": 1 << 10, "Mi": 1 << 20, "MiB": 1 << 20}
BEYOND: Final = re.compile(r"are the most|has more than|more than the largest")
SAVED_HEAD_BYTES: Final = 37  # with its length, of a launch with one block
GRAIN: Final = 64  # bytes, by which what Python's objects take is not counted to the last one
DEAR: Final = "\n", "\r", "a,b,c,d\n", "ab\n"  # what is dear to read, letter by letter


def limits() -> dict[str, int]:
    """What the page says, by the first words of its row."""
    found = ROW.findall(PAGE.read_text("utf-8").partition("## Limits")[2])
    return {what.partition(":")[0]: int(number) * UNITS[unit] for what, number, unit in found}


def with_metadata(key: str) -> Callable[[Path, int], object]:
    return lambda path, n: metadata.kernels({"amdhsa.kernels": [{".name": "k", key: n}]}, {}, (), "gfx942")


def memory(path: Path, beyond: int) -> None:
    size = 1 << 20
    codeobject.read(with_memory(size + beyond - codeobject.read(with_memory(size)).blank_bytes))


def unpacked(path: Path, beyond: int) -> None:
    packed = len(bomb(1 << 20, 1 << 20))
    codeobject.read(bomb(packed + beyond, 1 << 20))


def gguf(path: Path, tensors: int, entries: int, content: bytes = b"") -> None:
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, tensors, entries) + content)
    load_gguf(path)


def gguf_memory(path: Path, beyond: int) -> None:
    """An array of bytes takes eight more for each."""
    count = beyond // 8
    gguf(path, 0, 1, struct.pack("<Q1sIIQ", 1, b"k", 9, 0, count) + bytes(count))


def table(path: Path, content: str) -> None:
    path.write_text(content, "utf-8")
    read_csv(path)


def cells(path: Path, count: int) -> None:
    width = 512
    table(path, ",".join(map(str, range(width))) + "\n" + "1\n" * -(-count // width))


def named(path: Path, letters: int) -> None:
    path.write_text(f"knl_name,co_name\n{'k' * letters},f.co\n", "utf-8")
    read_table(path)


def saved(path: Path, head: bytes) -> None:
    path.write_bytes(MAGIC + zlib.compress(struct.pack("<I", len(head)) + head))
    read_reproducer(path)


def saved_blocks(path: Path, count: int, nbytes: int = 0) -> None:
    block = [nbytes, False, []]
    ones = [1, 1, 1]
    saved(path, msgpack.packb(["gfx942", "k", ones, ones, 0, b"", "", 0, [block] * count, []]))


PROBES: Final[dict[str, Callable[[Path, int], object]]] = {
    "memory of a code object beyond its file's size": memory,
    "a compressed bundle, unpacked, beyond its file's size": unpacked,
    "bytes of a code object's metadata note": lambda path, n: metadata.decode(b"\xc0" * n, codeobject.MOST_BYTES),
    "entries of a bundle": lambda path, n: codeobject.read_bundle(empty_entries(n)),
    "LDS of a kernel, by its metadata": with_metadata(".group_segment_fixed_size"),
    "scratch of a thread, by its metadata": with_metadata(".private_segment_fixed_size"),
    "arguments of a kernel, by its metadata": with_metadata(".kernarg_segment_size"),
    "parameters of a PTX kernel": lambda path, n: read_ptx(PTX + b".entry a(.param .b8 x[%d]) {" % n),
    "a saved launch, unpacked, with the memory that it asks for": lambda path, n: saved_blocks(
        path, 1, n - SAVED_HEAD_BYTES
    ),
    "the head of a saved launch": lambda path, n: saved(path, bytes(n)),
    "allocations of a saved launch": saved_blocks,
    "tensors of a GGUF file": lambda path, n: gguf(path, n, 0),
    "entries of a GGUF file's metadata": lambda path, n: gguf(path, 0, n),
    "a GGUF file's metadata beyond its size in the file, as Python's objects": gguf_memory,
    "a CSV table": lambda path, n: table(path, "a\n" + "#" * (n - 2)),
    "lines of a CSV table": lambda path, n: table(path, "a\n" * n),
    "columns of a CSV table": lambda path, n: table(path, ",".join(map(str, range(n)))),
    "cells of a CSV table": cells,
    "a name in a table of kernels": named,
}
NUMBERS: Final[dict[str, Callable[[], float]]] = {
    "time of a launch": lambda: TIMEOUT_S,
    "what a launch prints": lambda: LONGEST_TEXT,
    "each folder of the cache": limit_bytes,
}


def is_beyond(probe: Callable[[Path, int], object], path: Path, number: int) -> bool:
    """Whether so much is refused for being too much; what is wrong besides does not count."""
    try:
        probe(path, number)
    except RocmkernError as error:
        return bool(BEYOND.search(str(error)))
    return False


def test_the_page_has_every_limit() -> None:
    """And the tests below look at each that it has."""
    assert limits().keys() == PROBES.keys() | NUMBERS.keys()


@pytest.mark.parametrize("what", PROBES)
def test_a_limit_is_where_the_page_says(what: str, tmp_path: Path) -> None:
    """So much is taken, and a little more is not."""
    most = limits()[what]
    grain = GRAIN if PROBES[what] is gguf_memory else 1
    assert not is_beyond(PROBES[what], tmp_path / "file", most)
    assert is_beyond(PROBES[what], tmp_path / "file", most + grain)


@pytest.mark.parametrize("what", NUMBERS)
def test_a_number_is_what_the_page_says(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of limits that no file has."""
    monkeypatch.delenv("ROCMKERN_CACHE_MB", raising=False)
    assert NUMBERS[what]() == limits()[what]


@pytest.mark.parametrize("piece", DEAR)
def test_a_table_of_any_kind_costs_little(piece: str, tmp_path: Path) -> None:
    """The largest one of a kind takes less than 64 MiB beside what the file has, in memory that Python counts."""
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,d\n" + piece * (limits()["a CSV table"] // len(piece) - 8), "utf-8")
    tracemalloc.start()
    try:
        with suppress(RocmkernError):
            read_csv(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20
