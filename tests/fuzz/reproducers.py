"""Damaged files of saved launches, read and run."""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

import msgpack
from attrs import define, field

from rocmkern.checking.reproducer import MAGIC, Block, Link, Reproducer, read
from rocmkern.errors import CodeObjectError
from rocmkern.runtime import Device
from rocmkern.runtime.replays import Replay
from tests.fuzz.draws import Draws
from tests.fuzz.elf import code_object
from tests.fuzz.kind import MB
from tests.fuzz.machine_code import Launched
from tests.fuzz.memory_file import MemoryFile
from tests.fuzz.notes import KERNEL, anything, started

MOST: Final = 8 * MB
LENGTH_BYTES: Final = 4


@cache
def whole(target: str) -> bytes:
    """The file of a launch."""
    kernel = started(target)
    blocks = tuple(Block(4096, ((0, 2048), (3072, 64)), bytes(range(64)) * 33) for _ in range(3))
    links = (*(Link(-1, 8 * i, i, 64 * i) for i in range(2)), Link(0, 16, 2, 0), Link(0, 24, 1, -8))
    saved = Reproducer(
        target, KERNEL, (2, 1, 1), (64, 1, 1), 0, bytes(64), code_object([kernel], target).data,
        (*blocks, Block(64, (), b"", is_freed=True)), links, "nothing",
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        path = Path(folder) / "whole.rkz"
        saved.write(path)
        return path.read_bytes()


def changed(draws: Draws, value: Any) -> Any:
    """A head with a few of its values changed, left out or added, however deep."""
    if isinstance(value, list) and value and draws.randrange(4):
        place = draws.randrange(len(value))
        kind = draws.randrange(8)
        if kind == 0:
            return value[:place] + value[place + 1 :]
        if kind == 1:
            return [*value[:place], value[place], *value[place:]]
        return [*value[:place], changed(draws, value[place]), *value[place + 1 :]]
    return anything(draws)


@define(eq=False)
class Reproducers(Launched):
    """Files of `save_reproducer`, damaged outside and inside."""

    name: ClassVar[str] = "reproducer"
    batch: ClassVar[int] = 64
    lifetime: ClassVar[int] = 20_000
    peak_bytes: ClassVar[int] = 192 * MB
    growth_bytes: ClassVar[float] = 16 << 10
    _file: MemoryFile | None = field(default=None, init=False)
    _device: Device | None = field(default=None, init=False)

    def make(self, seed: int) -> bytes:
        draws = Draws(f"{self.name} {self.base}", seed)
        data = whole(self.base)
        kind = draws.randrange(8)
        if kind == 0:
            return draws.edit(data)
        inside = zlib.decompress(data[len(MAGIC) :])
        size = int.from_bytes(inside[:LENGTH_BYTES], "little")
        head, rest = inside[LENGTH_BYTES : LENGTH_BYTES + size], inside[LENGTH_BYTES + size :]
        if kind < 6:
            document = msgpack.unpackb(head)
            for _ in draws.few():
                document = changed(draws, document)
            head = msgpack.packb(document)
        elif kind == 6:
            head = draws.edit(head)
        length = len(head).to_bytes(LENGTH_BYTES, "little") if draws.randrange(8) else draws.number(LENGTH_BYTES)
        return MAGIC + zlib.compress(length + head + (rest if draws.randrange(4) else draws.edit(rest)))

    def prepare(self) -> None:
        super().prepare()
        self._file, self._device = MemoryFile(), Device(f"emulator:{self.target}")

    def run(self, data: bytes, seed: int) -> str:
        assert self._file is not None and self._device is not None
        self._file.replace(data)
        saved = read(self._file.path, MOST)
        try:
            Replay(self._device, saved.code).run(saved).results()
        except CodeObjectError:
            return "no code"
        return "ran"
