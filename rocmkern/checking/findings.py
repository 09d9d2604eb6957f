"""What a check tells: findings, and what it could not follow."""

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


@frozen
class Finding:
    """Two instructions that the hardware may not keep apart.

    kind       what is at stake: "missing wait", "missing wait states", "unwaited LDS write"
    registers  those concerned, as text
    at         the instruction that comes too soon
    after      the one that it should have waited for
    rule       what was left undone, with what was found and what is needed
    remedy     what to write, and where
    """

    kind: str
    kernel: str
    registers: str
    at: Instruction
    after: Instruction
    rule: str
    remedy: str


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
