"""The order in which a kernel reads a reordered matrix B, told by the matrix instructions in its code."""

from __future__ import annotations

import re
from typing import Final

from rocmkern.codeobject import CodeObject, Kernel
from rocmkern.emulator.isa import decode
from rocmkern.errors import PackageError, TargetNotBuilt, UnsupportedInstruction
from rocmkern.targets import isa

_COLUMNS: Final = 16
_WORD: Final = 4


def tile_of(code: CodeObject, kernel: Kernel, multiplies: re.Pattern[str]) -> tuple[int, int]:
    """The tile of shuffle_weight() whose order a kernel reads, by the `rows` of its instructions of that name.

    Raises PackageError where it has none of them, or of several shapes.
    """
    found = {match["rows"]: match[0] for name in instructions(code, kernel) if (match := multiplies.fullmatch(name))}
    if len(found) != 1:
        what = f"both {' and '.join(sorted(found.values()))}" if found else "none of its kind's matrix instructions"
        raise PackageError(f"{kernel.name} has {what}, so the order of its weights can't be told")
    return int(*found), _COLUMNS


def instructions(code: CodeObject, kernel: Kernel) -> frozenset[str]:
    """The names of the instructions from a kernel's entry to the next kernel or the end; what is none is passed over.

    Raises PackageError where the code is for a target that nothing is known of, or the entry lies outside it.
    """
    entry = kernel.entry_address
    segment = next((s for s in code.segments if s.address <= entry < s.address + len(s.data)), None)
    if segment is None:
        raise PackageError(f"{kernel.name} begins at {entry:#x}, where the file has no code")
    try:
        encoding = isa(code.target)
    except TargetNotBuilt as error:
        raise PackageError(str(error)) from None
    others = [other.entry_address for other in code.kernels.values() if other.entry_address > entry]
    place, end = entry - segment.address, min([*others, segment.address + len(segment.data)]) - segment.address
    names = set()
    while place + _WORD <= end:
        try:
            instruction = decode(encoding, segment.data, place)
        except UnsupportedInstruction:
            place += _WORD
            continue
        names.add(instruction.name)
        place += instruction.size
    return frozenset(names)
