"""Where the elements of a matrix instruction lie: which lane, which place in its registers.

Sources: AMD matrix instruction calculator; ISA manuals of CDNA2, CDNA3, CDNA4, RDNA3, RDNA4. A permutation of k that is
the same for A and B gives the same result, so it is not told apart from the manuals' order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from attrs import evolve, frozen

from rocmkern.emulator.isa.model import Inst

Place = tuple[int, int, int]  # block, row, column
Spread = Callable[[int, int], Place]

BITS: Final[dict[str, int]] = {
    "f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "iu8": 8, "iu4": 4, "fp8": 8, "bf8": 8, "fp6": 6,
    "bf6": 6, "fp4": 4,
}  # fmt: skip
F8F6F4: Final = ("fp8", "bf8", "fp6", "bf6", "fp4")  # by the format codes of A (cbsz) and B (blgp)
_NAME: Final = re.compile(
    r"v_(mfma|smfmac|wmma|swmmac)_(?:scale_)?(f64|f32|f16|bf16|i32)_(\d+)x\d+x(\d+)(?:_\d+b)?"
    r"_?(f8f6f4|xf32|f64|f32|bf16|f16|iu8|iu4|i8|fp8|bf8)(?:_(fp8|bf8))?(?:_1k)?$"
)


@frozen
class Fragment:
    """A lane's elements of A or B.

    Lane = (group · blocks + block) · size + row (A) or column (B). Its elements come in chunks of consecutive k;
    the groups of lanes share each range of k chunk by chunk. Lanes beyond the last group hold copies.
    """

    kind: str
    per_lane: int  # values of k that one lane covers
    chunk: int
    groups: int

    def k(self, group: int, element: int) -> int:
        """The k of a lane's element."""
        return (element // self.chunk * self.groups + group) * self.chunk + element % self.chunk


@frozen
class Layout:
    """The fragments of one instruction. D, and C alike: `place(register, lane)`."""

    lanes: int
    size: int  # rows of A and columns of B
    k: int
    blocks: int
    a: Fragment
    b: Fragment
    result: str  # f64 f32 f16 bf16 i32
    registers: int  # elements of D per lane
    place: Spread
    sparse: bool = False  # A has two of every four k, where the index register says


def layout(inst: Inst, isa: str) -> Layout:
    """The layout of a matrix instruction."""
    found = _NAME.match(inst.name)
    assert found is not None, inst.name
    family, result, size, k = found[1], found[2], int(found[3]), int(found[4])
    kinds = (found[5], found[6] or found[5])
    if kinds[0] == "f8f6f4":
        kinds = (F8F6F4[inst.mods.cbsz], F8F6F4[inst.mods.blgp])
    sparse = family in ("smfmac", "swmmac")
    if family in ("wmma", "swmmac"):
        copies = isa == "gfx11"
        groups = 1 if copies else 2
        a, b = (Fragment(kind, k // groups, k // groups, groups) for kind in kinds)
        spread: Spread = _interleaved if copies else _halves
        return Layout(32, size, k, 1, _compressed(a) if sparse else a, b, result, 8, spread, sparse)
    elements = inst.dst[0].count // (2 if result == "f64" else 1)
    blocks = elements * 64 // (size * size)
    groups = 64 // size // blocks
    per_lane = k // groups
    chunks = [16 if found[5] == "f8f6f4" and BITS[kind] == 8 else per_lane for kind in kinds]
    a, b = (Fragment(kind, per_lane, chunk, groups) for kind, chunk in zip(kinds, chunks, strict=True))
    place = _mfma_place(size, blocks, result, elements)
    return Layout(64, size, k, blocks, _compressed(a) if sparse else a, b, result, elements, place, sparse)


def _compressed(a: Fragment) -> Fragment:
    """Of every four k two are there."""
    return evolve(a, per_lane=a.per_lane // 2, chunk=a.chunk // 2)


def _interleaved(register: int, lane: int) -> Place:
    """gfx11: the two halves of a wave hold even and odd rows."""
    return 0, 2 * register + lane // 16, lane % 16


def _halves(register: int, lane: int) -> Place:
    """gfx12: the two halves of a wave hold the upper and the lower rows."""
    return 0, 8 * (lane // 16) + register, lane % 16


def _mfma_place(size: int, blocks: int, result: str, elements: int) -> Spread:
    groups, per_block = 64 // size, elements // blocks if size > 4 else elements

    def place(register: int, lane: int) -> Place:
        group, column = divmod(lane, size)
        if result == "f64":
            return (group % blocks, group // blocks, column) if size == 4 else (0, 4 * register + group, column)
        if size == 4:
            return group, register, column
        v = register % per_block
        return register // per_block, 4 * groups * (v // 4) + 4 * group + v % 4, column

    return place
