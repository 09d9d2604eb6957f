"""From machine code to instructions."""

from __future__ import annotations

from functools import cache
from typing import Final

from rocmkern.emulator.isa import memory, scalar, vector
from rocmkern.emulator.isa.fields import IllegalField
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.isa.target import Decode, Target, Words, target
from rocmkern.emulator.isa.text import instruction_text
from rocmkern.errors import UnsupportedInstruction

# Encodings by the leading bits of their first word, most specific last.
COMMON: Final[tuple[tuple[str, Decode], ...]] = (
    ("0", vector.vop2),
    ("0111111", vector.vop1),
    ("0111110", vector.vopc),
    ("10", scalar.sop2),
    ("1011", scalar.sopk),
    ("101111101", scalar.sop1),
    ("101111110", scalar.sopc),
    ("101111111", scalar.sopp),
    ("110110", memory.ds),
)
GFX9: Final[tuple[tuple[str, Decode], ...]] = (
    ("110100", vector.vop3),
    ("110100111", vector.vop3p),
    ("110000", scalar.smem),
    ("110111", memory.flat),
    ("111000", memory.mubuf),
    ("111010", memory.mtbuf),
)
GFX10: Final[tuple[tuple[str, Decode], ...]] = (
    ("110101", vector.vop3),
    ("110011000", vector.vop3p),
    ("111101", scalar.smem),
    ("110111", memory.flat),
    ("111000", memory.mubuf),
    ("111010", memory.mtbuf),
)
GFX11: Final = (*GFX10, ("110010", vector.vopd))
GFX12: Final[tuple[tuple[str, Decode], ...]] = (
    ("110101", vector.vop3),
    ("110011000", vector.vop3p),
    ("110010", vector.vopd),
    ("111101", scalar.smem),
    ("11101100", memory.vflat),
    ("11101101", memory.vflat),
    ("11101110", memory.vflat),
    ("110001", memory.vbuffer),
)
BY_GENERATION: Final = {9: GFX9, 10: GFX10, 11: GFX11, 12: GFX12}


def _unknown(t: Target, pc: int, words: Words, i: int) -> Inst | None:
    return None


@cache
def _dispatch(isa: str) -> tuple[Decode, ...]:
    """The decoder of every value of the nine leading bits."""
    chosen: list[Decode] = [_unknown] * 512
    for prefix, function in COMMON + BY_GENERATION[target(isa).generation]:
        free = 9 - len(prefix)
        first = int(prefix, 2) << free
        chosen[first : first + (1 << free)] = [function] * (1 << free)
    return tuple(chosen)


def _decode_at(isa: str, words: Words, i: int, pc: int) -> Inst:
    try:
        return _read(target(isa), words, i, pc)
    except IllegalField as error:
        meant = _read(target(isa, lenient=True), words, i, pc)
        fact = f"({instruction_text(isa, meant)}) has no such operand: {error}"
        raise _undecodable(isa, words, i, pc, f"instruction {fact}", fact, meant.size) from None


def _read(t: Target, words: Words, i: int, pc: int) -> Inst:
    try:
        inst = _dispatch(t.isa)[words[i] >> 23](t, pc, words, i)
    except IndexError:
        cut = "the code ends inside the instruction"
        raise _undecodable(t.isa, words, i, pc, cut, "is cut off by the end of the code") from None
    if inst is None:
        raise _undecodable(t.isa, words, i, pc, "no such instruction")
    return inst


class Undecodable(UnsupportedInstruction):
    """What stands in the code is no instruction: `fact` says why, `nbytes` how long it would be."""

    def __init__(self, message: str, fact: str, nbytes: int) -> None:
        super().__init__(message)
        self.fact, self.nbytes = fact, nbytes


def _undecodable(
    isa: str, words: Words, i: int, pc: int, why: str, fact: str = "is not known", nbytes: int = 8
) -> Undecodable:
    shown = " ".join(f"{word:08x}" for word in words[i : i + 3])
    return Undecodable(f"decode: {why} on {isa} at pc {pc:#x}: words {shown}", fact, nbytes)


def _words(code: bytes | memoryview) -> Words:
    view = memoryview(code)
    return view[: len(view) & ~3].cast("B").cast("I")


def decode(isa: str, code: bytes | memoryview, pc: int) -> Inst:
    """The instruction at byte offset `pc` of `code`.

    `isa` is gfx90a, gfx940, gfx950, gfx10, gfx11 or gfx12. Raises UnsupportedInstruction with pc and words.
    """
    return _decode_at(isa, _words(code), pc >> 2, pc)


def decode_range(isa: str, code: bytes | memoryview, start: int, end: int) -> list[Inst]:
    """All instructions of `code[start:end]`, one after the other."""
    words = _words(code)
    found = []
    pc = start
    while pc < end:
        inst = _decode_at(isa, words, pc >> 2, pc)
        found.append(inst)
        pc += inst.size
    return found
