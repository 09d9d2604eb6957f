"""Code objects and bundles whose tables were damaged, loaded onto an emulated device."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, Final

import zstandard
from attrs import define, field, frozen

import rocmkern as rk
from rocmkern import codeobject
from tests.fuzz.canaries import Canaries
from tests.fuzz.draws import Draws
from tests.fuzz.elf import ABSOLUTE64, DATA_WORDS, RELATIVE64, Relocation, Span, code_object
from tests.fuzz.kind import Damage, Kind
from tests.fuzz.sources import kernels

DEVICE_TRIPLE: Final = "hipv4-amdgcn-amd-amdhsa--"
HOST_TRIPLE: Final = "host-x86_64-unknown-linux-gnu-"
BUNDLE_MAGIC: Final = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC: Final = b"CCOB"
ENTRY: Final = "<QQQ"  # offset, size, bytes of the triple
SIZES: Final = {1: "<IQ", 2: "<IIQ", 3: "<QQQ"}  # by version: [file size,] unpacked size, digest
ZLIB, ZSTD = 0, 1
OTHER_TARGET: Final = "gfx1100"
PLACES: Final = ("header", "segment", "section", "symbol", "relocation", "note")
RELOCATIONS: Final[tuple[Relocation, ...]] = (
    (0, RELATIVE64, 0, 0x40),
    (1, ABSOLUTE64, 1, 8),
    (2, ABSOLUTE64, 2, 0),
    (DATA_WORDS - 1, RELATIVE64, 0, 0),
)


@frozen
class Seeded:
    """A file to damage, and where its fields lie: one group of them for each kind of table."""

    data: bytes
    groups: tuple[tuple[Span, ...], ...]


def bundle(entries: Sequence[tuple[str, bytes]]) -> Seeded:
    """An offload bundle of code for several devices."""
    head = len(BUNDLE_MAGIC) + 8 + sum(struct.calcsize(ENTRY) + len(triple) for triple, _ in entries)
    table, body, spans = b"", b"", [(len(BUNDLE_MAGIC), 8)]
    for triple, data in entries:
        at = len(BUNDLE_MAGIC) + 8 + len(table)
        spans += [(at, 8), (at + 8, 8), (at + 16, 8)]
        table += struct.pack(ENTRY, head + len(body), len(data), len(triple)) + triple.encode()
        body += data
    return Seeded(BUNDLE_MAGIC + struct.pack("<Q", len(entries)) + table + body, (tuple(spans),))


def compressed(data: bytes, method: int, version: int) -> Seeded:
    """A compressed bundle."""
    packed = zlib.compress(data) if method == ZLIB else zstandard.compress(data)
    (digest,) = struct.unpack("<Q", hashlib.md5(data, usedforsecurity=False).digest()[:8])
    layout = SIZES[version]
    total = 8 + struct.calcsize(layout) + len(packed)
    sizes = (len(data), digest) if version == 1 else (total, len(data), digest)
    head = COMPRESSED_MAGIC + struct.pack("<HH", version, method) + struct.pack(layout, *sizes)
    width = struct.calcsize(layout[:2])
    spans = ((4, 2), (6, 2), *((8 + i * width, width) for i in range(len(sizes) - 1)), (len(head) - 8, 8))
    return Seeded(head + packed, (spans,))


@cache
def samples(target: str) -> tuple[Seeded, ...]:
    """The files that cases start from: ELFs, a bundle, and that compressed in every way."""
    known = sorted(kernels(target), key=lambda kernel: len(kernel.code))
    found = []
    for chosen, relocations in ((known[:1], ()), (known[1:3], RELOCATIONS), (known[3:4], RELOCATIONS[:2])):
        image = code_object(chosen, target, relocations=relocations)
        tables = tuple(spans for name in PLACES if (spans := image.fields.get(name)))
        descriptor, size = image.places[".rodata"]
        found.append(Seeded(image.data, (*tables, tuple((descriptor + at, 4) for at in range(0, size, 4)))))
    foreign = code_object(kernels(OTHER_TARGET)[:1], OTHER_TARGET).data
    plain = bundle(
        [(HOST_TRIPLE, b""), (DEVICE_TRIPLE + target, found[0].data), (DEVICE_TRIPLE + OTHER_TARGET, foreign)]
    )
    found += [plain, *(compressed(plain.data, method, version) for method in (ZLIB, ZSTD) for version in SIZES)]
    return tuple(found)


@define(eq=False)
class Objects(Kind):
    """Damaged code objects, loaded, asked for their kernels and let go."""

    name: ClassVar[str] = "loader"
    batch: ClassVar[int] = 256
    _device: Any = field(default=None, init=False)
    _canaries: Canaries = field(factory=Canaries, init=False)

    def make(self, seed: int) -> bytes:
        draws = Draws(self.name, seed)
        known = samples(self.target)
        # Most cases are ELFs, which have most to damage.
        chosen = draws.choice(known[:3] if draws.randrange(4) else known)
        kind = draws.randrange(8)
        if kind < 5:
            return draws.overwrite(chosen.data, draws.choice(chosen.groups))
        if kind < 7:
            return draws.edit(chosen.data)
        if draws.randrange(2):
            return draws.splice(chosen.data, draws.choice(known).data)
        inner = draws.edit(known[3].data)  # what is wrong inside of a bundle whose digest is right
        return compressed(inner, draws.choice((ZLIB, ZSTD)), draws.choice(tuple(SIZES))).data

    def prepare(self) -> None:
        self._device = rk.Device(f"emulator:{self.target}")
        self._canaries.watch(self._machine)
        for one in samples(self.target):
            rk.Module.load_data(one.data, self._device).close()

    def run(self, data: bytes, seed: int) -> str:
        arena = self._machine.arena
        used = arena.used
        try:
            module = rk.Module.load_data(data, self._device)
            try:
                for name in module.kernels:
                    module.get_function(name)
            finally:
                module.close()
            if seed % 8 == 0:
                codeobject.read(data)
            return "loaded"
        finally:
            if arena.used != used:
                raise Damage(f"{arena.used - used} bytes of device memory are not given back")

    def damage(self) -> str | None:
        return self._canaries.changed()

    @property
    def _machine(self) -> Any:
        return self._device.driver._machine
