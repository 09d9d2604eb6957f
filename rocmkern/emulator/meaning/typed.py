"""Typed buffers: each lane moves one element, whose format is the instruction's (tbuffer) or the resource's."""

from __future__ import annotations

from typing import Final

from rocmkern.emulator.meaning.api import Access, memory

COMPONENTS: Final = ("x", "xy", "xyz", "xyzw")

for _space in ("buffer", "tbuffer"):
    for _operation in ("load", "store"):
        for _n, _letters in enumerate(COMPONENTS, 1):
            memory(f"{_space}_{_operation}_format_{_letters}", Access(_operation, count=_n, typed="full"))
            memory(
                f"{_space}_{_operation}_format_d16_{_letters} {_space}_{_operation}_d16_format_{_letters}",
                Access(_operation, count=_n, typed="d16"),
            )
for _operation in ("load", "store"):
    memory(
        f"buffer_{_operation}_format_d16_hi_x buffer_{_operation}_d16_hi_format_x",
        Access(_operation, half="high", typed="d16"),
    )
