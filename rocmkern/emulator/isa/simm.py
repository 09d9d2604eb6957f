"""Immediates in words: wait counters. Other coded immediates are shown as numbers."""

from __future__ import annotations

from typing import Final

from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.isa.table import CDNA

# counter: bit ranges of simm16 as (shift, width), low part first
WaitFields = tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
GFX9_WAIT: Final[WaitFields] = (("vmcnt", ((0, 4), (14, 2))), ("expcnt", ((4, 3),)), ("lgkmcnt", ((8, 4),)))
GFX10_WAIT: Final[WaitFields] = (("vmcnt", ((0, 4), (14, 2))), ("expcnt", ((4, 3),)), ("lgkmcnt", ((8, 6),)))
GFX11_WAIT: Final[WaitFields] = (("vmcnt", ((10, 6),)), ("expcnt", ((0, 3),)), ("lgkmcnt", ((4, 6),)))


def waits(isa: str, imm: int) -> dict[str, int]:
    """The counters of s_waitcnt and what each waits for; counters that it does not wait for are left out."""
    fields = GFX9_WAIT if isa in CDNA else GFX10_WAIT if isa == "gfx10" else GFX11_WAIT
    found = {}
    for name, parts in fields:
        value = shift = 0
        for start, width in parts:
            value |= (imm >> start & ((1 << width) - 1)) << shift
            shift += width
        if value != (1 << shift) - 1:
            found[name] = value
    return found


def simm_text(isa: str, inst: Inst, kind: str) -> str:
    """The immediate of `inst`; `kind` is the letter of the row's operand (see table.py)."""
    value = inst.imm & 0xFFFF
    if inst.name == "s_waitcnt":
        return " ".join(f"{name}({count})" for name, count in waits(isa, value).items()) or str(value)
    if kind == "w":
        return f"hwreg({value & 63}, {value >> 6 & 31}, {(value >> 11) + 1})"
    if kind == "q":
        return f"sendmsg({value})"
    return str(value)
