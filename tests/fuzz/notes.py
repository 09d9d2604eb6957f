"""Kernels whose metadata or descriptor says other than the code needs, launched on an emulated device."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Final

import msgpack
from attrs import define

from tests.fuzz.draws import EDGES, Draws
from tests.fuzz.elf import code_object
from tests.fuzz.kind import MB
from tests.fuzz.machine_code import Launched
from tests.fuzz.sources import SIZES, KernelCode, kernels

KERNEL: Final = "scale"
WORDS: Final = (
    "", "k", "by_value", "global_buffer", "dynamic_shared_pointer", "hidden_block_count_x", "hidden_heap_v1",
    "hidden_hostcall_buffer", "[red]x", "\0", "é", "x" * 300,
)  # fmt: skip
KEYS: Final = (".name", ".symbol", ".args", ".size", ".offset", ".value_kind", ".reqd_workgroup_size", "x", 1, None)
DEPTH: Final = 4
DESCRIPTOR_FIELDS: Final = (
    (0, 4), (4, 4), (8, 4), (16, 8), (44, 4), (48, 4), (52, 4), (56, 2), (58, 2), (12, 4), (24, 8),
)  # fmt: skip


def anything(draws: Draws, depth: int = 0) -> Any:
    """A value of some type that msgpack knows."""
    kind = draws.randrange(12)
    inner = range(draws.randrange(4) if depth < DEPTH else 0)
    if kind < 3:
        return draws.choice(EDGES)
    if kind == 3:
        return -(draws.choice(EDGES) % (1 << 63))
    if kind == 4:
        return draws.choice(WORDS)
    if kind == 5:
        return draws.choice((None, True, False, b"\xff\0", 1.5, float("nan"), 1e300))
    if kind == 6:
        return [anything(draws, depth + 1) for _ in inner]
    if kind == 7:
        return {draws.choice(KEYS): anything(draws, depth + 1) for _ in inner}
    return draws.randrange(1 << draws.choice((3, 7, 13, 17, 33)))


def changed(draws: Draws, row: dict[str, Any]) -> dict[str, Any]:
    """A row of the metadata with some of its values changed, left out or added."""
    row = {**row, ".args": [dict(argument) for argument in row[".args"]]}
    for _ in draws.few():
        part = draws.choice([row, *row[".args"]]) if isinstance(row.get(".args"), list) else row
        if not isinstance(part, dict) or not part:
            continue
        kind = draws.randrange(8)
        key = draws.choice(list(part))
        if kind == 0:
            del part[key]
        elif kind == 1:
            part[draws.choice(KEYS)] = anything(draws)
        elif kind < 4:
            sized = draws.choice(SIZES)
            row[sized] = draws.choice(EDGES)
        elif kind == 4:
            row[".reqd_workgroup_size"] = [draws.choice(EDGES) for _ in range(draws.choice((0, 1, 3, 3, 3, 4)))]
        else:
            part[key] = anything(draws)
    return row


@cache
def started(target: str) -> KernelCode:
    return next(kernel for kernel in kernels(target) if kernel.name == KERNEL)


@define(eq=False)
class Notes(Launched):
    """Metadata and descriptors that were changed."""

    name: ClassVar[str] = "notes"
    batch: ClassVar[int] = 64
    lifetime: ClassVar[int] = 20_000
    peak_bytes: ClassVar[int] = 192 * MB
    growth_bytes: ClassVar[float] = 16 << 10

    def make(self, seed: int) -> bytes:
        draws = Draws(f"{self.name} {self.base}", seed)
        kernel = started(self.base)
        if draws.randrange(2):
            image = code_object([kernel], self.base)
            at, _ = image.places[".rodata"]
            if draws.randrange(4):
                return draws.overwrite(image.data, [(at + offset, width) for offset, width in DESCRIPTOR_FIELDS])
            return draws.edit(image.data, at, at + 64)
        document: dict[str, Any] = {
            "amdhsa.version": [1, draws.choice((0, 1, 2))],
            "amdhsa.kernels": [changed(draws, kernel.note) for _ in draws.few()],
        }
        if draws.randrange(8) == 0:
            document[draws.choice((*document, "amdhsa.target"))] = anything(draws)
        note = bytes(msgpack.packb(document))
        return code_object([kernel], self.base, note if draws.randrange(3) else draws.edit(note)).data

    def run(self, data: bytes, seed: int) -> str:
        return self.bench.launch(data, KERNEL)
