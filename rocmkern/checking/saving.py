"""Keeps of a launch what it takes to run it elsewhere: what its arguments lead to, before it begins."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray

from rocmkern.checking.findings import Finding
from rocmkern.checking.report import lines
from rocmkern.checking.reproducer import ARGUMENTS, Block, Link, Range, Reproducer
from rocmkern.checking.running import Text, finding
from rocmkern.emulator.faults import Copied, Fault

if TYPE_CHECKING:
    from rocmkern.emulator.arena import Arena
    from rocmkern.emulator.machine import Entry, Machine
    from rocmkern.emulator.space import Start

POINTER_BYTES: Final = 8
ARGUMENT_STEP: Final = 4  # hand-written kernels don't align all of theirs
MOST_PARTS: Final = 512  # of a block; the smallest gaps count as written where there are more
LONGEST_FINDING: Final = 4096


@define(eq=False)
class Saver:
    """Writes the first launch that does something wrong, or of a kernel the first launch."""

    path: Path
    kernel: str | None = None  # a pattern
    sample: int = 0
    saved: Reproducer | None = None
    _held: dict[int, Reproducer] = field(factory=dict)  # of launches under way, by thread

    def launching(self, machine: Machine, entry: Entry, start: Start, arguments: bytes) -> None:
        """Look at the memory before the launch changes it."""
        if self.saved is None and fnmatchcase(entry.kernel.name, self.kernel or "*"):
            self._held[threading.get_ident()] = taken(machine, entry, start, arguments)

    def launched(self, faults: Sequence[Fault], left_out: int, is_checked: bool) -> None:
        """Write it if it is the one."""
        held = self._held.pop(threading.get_ident(), None)
        wrong = [fault for fault in faults if not fault.reason.is_note]
        if held is None or self.saved is not None or not (wrong or self.kernel):
            return
        if wrong:
            held = evolve(held, finding=_told(finding(wrong[0], Text.of(wrong[0].code))))
        held.write(self.path)
        self.saved = held

    def copied(self, copy: Copied) -> None:
        """No launch."""


def _told(one: Finding) -> str:
    return "\n".join(lines(one))[:LONGEST_FINDING]


def taken(machine: Machine, entry: Entry, start: Start, arguments: bytes) -> Reproducer:
    """A launch that is about to begin."""
    plan, code = start.plan, entry.module.program.code
    geometry = plan.geometry
    explicit = arguments[: plan.explicit_bytes or len(arguments)]
    walk = _Walk(machine)
    walk.follow(explicit)
    return Reproducer(
        code.target, entry.kernel.name, geometry.grid, geometry.block, geometry.shared_bytes, explicit, code.image,
        tuple(walk.blocks), tuple(walk.links),
    )  # fmt: skip


@define(eq=False)
class _Walk:
    """Follows addresses from the arguments on, through memory: whatever might be one counts as one."""

    machine: Machine
    blocks: list[Block] = field(factory=list)
    links: list[Link] = field(factory=list)
    _numbers: dict[int, int] = field(factory=dict)  # of blocks, by where they lie
    _starts: list[tuple[int, int]] = field(factory=list)  # of blocks: where, how many bytes

    @property
    def _arena(self) -> Arena:
        return self.machine.arena

    def follow(self, arguments: bytes) -> None:
        words = [
            (place, int.from_bytes(arguments[place : place + POINTER_BYTES], "little"))
            for place in range(0, len(arguments) - POINTER_BYTES + 1, ARGUMENT_STEP)
        ]
        self._link(ARGUMENTS, words)
        number = 0
        while number < len(self._starts):
            start, nbytes = self._starts[number]
            if not self.blocks[number].is_freed:
                self._link(number, list(self._addresses(start, nbytes)))
            number += 1

    def _addresses(self, start: int, nbytes: int) -> Iterator[tuple[int, int]]:
        """The words of a block that may be addresses."""
        view = self._arena.view(start, nbytes // POINTER_BYTES * POINTER_BYTES, writes=False)
        words = np.frombuffer(view, np.uint64)
        inside = (words >= self._arena.base) & (words < self._arena.end)
        for i in np.flatnonzero(inside).tolist():
            yield i * POINTER_BYTES, int(words[i])

    def _link(self, block: int, words: list[tuple[int, int]]) -> None:
        for place, address in words:
            owner = self._arena.owner(address)
            if owner is not None:
                start, nbytes, is_freed = owner
                if start not in self._numbers:
                    self._numbers[start] = len(self.blocks)
                    self._starts.append((start, nbytes))
                    self.blocks.append(self._block(start, nbytes, is_freed))
                self.links.append(Link(block, place, self._numbers[start], address - start))

    def _block(self, start: int, nbytes: int, is_freed: bool) -> Block:
        if is_freed:
            return Block(nbytes, (), b"", is_freed=True)
        view = self._arena.view(start, nbytes, writes=False)
        written = self._written(start, nbytes)
        parts = _parts(written) if written is not None else [(0, nbytes)]
        return Block(nbytes, tuple(parts), b"".join(bytes(view[first : first + count]) for first, count in parts))

    def _written(self, start: int, nbytes: int) -> NDArray[np.bool_] | None:
        """Which bytes were written; None where nobody knows."""
        for records in self.machine.records:
            found = records.states(start, nbytes)
            if found is not None:
                return found
        return None


def _parts(written: NDArray[np.bool_]) -> list[Range]:
    """What follows each other of what was written, in at most `MOST_PARTS` parts."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], written, [False])).astype(np.int8)))
    first, end = edges[::2], edges[1::2]
    if first.size > MOST_PARTS:
        gaps = first[1:] - end[:-1]
        kept = np.sort(np.argsort(-gaps, kind="stable")[: MOST_PARTS - 1])
        first, end = np.concatenate((first[:1], first[1:][kept])), np.concatenate((end[:-1][kept], end[-1:]))
    return [(int(a), int(b - a)) for a, b in zip(first, end, strict=True)]
