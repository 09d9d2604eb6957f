"""What checks tell: findings, and what they could not follow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
from attrs import field, frozen


@frozen
class Instruction:
    """One instruction of a kernel. `pc` is its offset from the kernel's first byte."""

    pc: int
    text: str
    source: str = ""  # "file:line" where the file says so
    calls: tuple[str, ...] = ()  # "f at file:line": the functions that it was put into, outward
    listing: tuple[str, ...] = ()  # the instructions around it where no line is known, itself marked


@frozen
class Access:
    """What a wave was about to do as it was found out, and others by the same instruction before and after it.

    other   of a race, who did the other access
    place   the allocation that the address is in or near to, or the limit that it breaks
    """

    operation: str  # "load", "store", "atomic", "barrier", "end", "copy"
    address: int
    size: int  # bytes of a lane
    wave: int
    lanes: tuple[int, ...]
    workgroup: tuple[int, int, int]
    place: str
    other: str = ""


@frozen
class Finding:
    """What is wrong at one place of a kernel.

    kind       "missing wait", "out of bounds", "race, read after write", …
    registers  of a missing wait, those concerned, as text
    at         the instruction: of two, the one that comes too soon
    after      the one that it should have waited for, or races with
    rule       what is wrong, with what was found and what is needed
    remedy     what to do
    """

    kind: str
    kernel: str
    registers: str
    at: Instruction
    after: Instruction | None
    rule: str
    remedy: str
    access: Access | None = None  # of what was found as it ran
    is_note: bool = False  # not wrong on this hardware
    count: int = 1

    @property
    def key(self) -> tuple[object, ...]:
        """What findings have in common that are the same."""
        return self.kind, self.kernel, self.at.pc, self.at.source, self.after and self.after.pc, self.registers

    def as_dict(self) -> dict[str, Any]:
        return attrs.asdict(self)


@frozen
class Report:
    """What `lint` found in some kernels of a code object."""

    target: str
    kernels: tuple[str, ...]
    instructions: int  # that were looked at, those of shared functions once for each kernel
    findings: tuple[Finding, ...] = ()
    unfollowed: dict[str, int] = field(factory=dict)  # what no check can see through → how many places

    def as_dict(self) -> dict[str, Any]:
        return attrs.asdict(self)


def joined(target: str, reports: Iterable[Report]) -> Report:
    """One report of many."""
    held = list(reports)
    unfollowed = dict[str, int]()
    for report in held:
        for reason, count in report.unfollowed.items():
            unfollowed[reason] = unfollowed.get(reason, 0) + count
    return Report(
        target,
        tuple(name for report in held for name in report.kernels),
        sum(report.instructions for report in held),
        tuple(finding for report in held for finding in report.findings),
        unfollowed,
    )
