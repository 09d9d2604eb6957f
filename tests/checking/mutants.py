"""Mutants of kernels that are right: one wait, barrier, bound or initialisation less, or a wait for one more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

INITIALISATION: Final = re.compile(
    r"(?:if \(T == 0\) )?V\(&?\w+\)\[[^\]]*\] = 0; |(?:if \(T == 0\) )?V\(&?\w+\)\[[^\]]*\] = 0;"
)
BARRIER: Final = "barrier();"
BOUND: Final = re.compile(r"(?<= )<(?= )")
WAIT: Final = re.compile(r"wait (loads|lds|scalars) (\d+);? ?")
NOP: Final = re.compile(r"s_nop \d+\n?")


def _replaced(text: str, found: re.Match[str], by: str) -> str:
    return text[: found.start()] + by + text[found.end() :]


def of_source(body: str) -> Iterator[tuple[str, str]]:
    """Mutants of a kernel in HIP, by what was done to it."""
    for number, found in enumerate(re.finditer(re.escape(BARRIER), body)):
        yield f"barrier {number}", _replaced(body, found, "")
    for number, found in enumerate(BOUND.finditer(body)):
        yield f"bound {number}", _replaced(body, found, "<=")
    for number, found in enumerate(INITIALISATION.finditer(body)):
        yield f"initialisation {number}", _replaced(body, found, "")


def of_assembly(body: str) -> Iterator[tuple[str, str]]:
    """Mutants of a kernel in `spelling.said`'s words."""
    for number, found in enumerate(WAIT.finditer(body)):
        yield f"wait {number}", _replaced(body, found, "")
        more = f"wait {found[1]} {int(found[2]) + 1};"
        yield f"count {number}", _replaced(body, found, more)
    for number, found in enumerate(NOP.finditer(body)):
        yield f"nop {number}", _replaced(body, found, "")
