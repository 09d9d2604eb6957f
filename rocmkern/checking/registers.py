"""Sets of registers as bits of one integer: two for each vector register's halves, one for every other register."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rocmkern.emulator.isa.model import EXEC, M0, NULL, VCC, Operand

LOW, HIGH = 1, 2  # of the two bits of a vector register
VECTORS: Final = 256
ACCUMULATORS: Final = 2 * VECTORS  # first bit of them
SCALARS: Final = 4 * VECTORS
SCC: Final = SCALARS + 128

VECTOR_BITS: Final = (1 << SCALARS) - 1  # accumulation registers as well
SCALAR_BITS: Final = ((1 << 128) - 1) << SCALARS
VCC_BITS: Final = 3 << SCALARS + VCC
EXEC_BITS: Final = 3 << SCALARS + EXEC
M0_BIT: Final = 1 << SCALARS + M0
SCC_BIT: Final = 1 << SCC
IMPLICIT: Final = {
    "scc": SCC_BIT, "vcc": VCC_BITS, "vcc_lo": 1 << SCALARS + VCC, "m0": M0_BIT, "exec": EXEC_BITS,
    "exec_lo": 1 << SCALARS + EXEC, "mx": EXEC_BITS,
}  # fmt: skip
SPECIAL: Final = {251: VCC_BITS, 252: EXEC_BITS, 253: SCC_BIT}


def bits_of(operands: Iterable[Operand]) -> int:
    """The registers of operands."""
    found = 0
    for operand in operands:
        kind, first = operand.kind, operand.value
        if kind == "v":
            found |= ((1 << 2 * operand.count) - 1) << 2 * first
        elif kind == "s":
            if first != NULL:
                found |= ((1 << operand.count) - 1) << SCALARS + first
        elif kind == "a":
            found |= ((1 << 2 * operand.count) - 1) << ACCUMULATORS + 2 * first
        elif kind in ("vl", "vh"):
            found |= (LOW if kind == "vl" else HIGH) << 2 * first
        elif kind == "special":
            found |= SPECIAL.get(first, 0)
    return found & ((1 << SCC + 1) - 1)


def names(bits: int) -> str:
    """`v0..v3, s5, vcc_lo`: the registers of a set."""
    numbers = list[tuple[str, int]]()
    for prefix, start in (("v", 0), ("a", ACCUMULATORS)):
        part = bits >> start & ((1 << 2 * VECTORS) - 1)
        while part:
            register = ((part & -part).bit_length() - 1) // 2
            numbers.append((prefix, register))
            part &= ~(3 << 2 * register)
    part = bits >> SCALARS
    while part:
        register = (part & -part).bit_length() - 1
        numbers.append(("s", register))
        part &= part - 1
    return ", ".join(_runs(numbers))


NAMED: Final = {
    VCC: "vcc_lo", VCC + 1: "vcc_hi", EXEC: "exec_lo", EXEC + 1: "exec_hi", M0: "m0", 128: "scc",
}  # fmt: skip


def _runs(numbers: list[tuple[str, int]]) -> list[str]:
    found = list[str]()
    first = 0
    for i, (prefix, number) in enumerate(numbers):
        if prefix == "s" and number in NAMED:
            found.append(NAMED[number])
            first = i + 1
            continue
        goes_on = numbers[i + 1 : i + 2] == [(prefix, number + 1)] and not (prefix == "s" and number + 1 in NAMED)
        if not goes_on:
            start = numbers[first][1]
            found.append(f"{prefix}{start}" if start == number else f"{prefix}{start}..{prefix}{number}")
            first = i + 1
    return found
