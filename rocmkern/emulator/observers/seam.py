"""The one way in which something watches the code that the emulator runs.

A checker, a counter or a trace needs the same few events, in both tiers. An observer says which events of which
instructions it wants, and gets the chance to add code of its own there. Code that no observer wants anything of is
translated, named and shared as on a machine without one, so watching costs nothing where nobody watches.

An observer has two halves. `Observer` says what it wants and emits code: a value, since translated code is shared by
machines with equal observers. `Records` is what it keeps on one machine: a structure for each thread that runs
workgroups, which the code reaches as `Site.structure`, and whatever it needs to hear of the machine's memory.

What an event is told of, and when:

    group        a workgroup begins, before its first instruction
    block        a block begins, in pieces that may be smaller than the program's
    instruction  a wave is about to carry out an instruction: barriers, waits and ends are instructions
    branch       whether a branch is taken
    access       addresses of a wave, before they are used: an instruction has several if its lanes go to several places

A launch's threads begin and end with `Records.begin` and `Records.end`, and it ends with `Records.launched`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np
from attrs import define, evolve, frozen
from numpy.typing import NDArray

from rocmkern.emulator import layout as at
from rocmkern.emulator.addresses import Space
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.meaning.api import Row
from rocmkern.emulator.native import Code
from rocmkern.emulator.wave import field, wave

if TYPE_CHECKING:
    from rocmkern.emulator.arena import Arena
    from rocmkern.emulator.space import Start

Event = Literal["block", "instruction", "branch", "access"]
EVENTS: Final[tuple[Event, ...]] = ("block", "instruction", "branch", "access")
LOAD, STORE, ATOMIC, BARRIER, END = range(5)  # kinds of access, and of what else may be wrong

# The last but one argument of `record_fault`: a kind, then what an observer found, then which observer.
REASON_SHIFT: Final = 4
OBSERVER_SHIFT: Final = 12
IN_SCRATCH: Final = 1 << 3  # beside the kind, of what goes to scratch

# The last one says which access it races with, 0 for none: one more than its place in the module's code in dwords, its
# lane and wave, and one more than its workgroup's number where that is another one.
PLACE_BITS: Final = 24
LANE_BITS: Final = 6
WAVE_BITS: Final = 6


def kind_of(operation: str) -> int:
    """The kind of access of `meaning.api.Access.op`."""
    return {"load": LOAD, "store": STORE}.get(operation, ATOMIC)


@frozen
class Site:
    """Where an observer's code goes, and what it may use there."""

    writer: Writer
    number: int  # the observer's, among the machine's

    @property
    def wave(self) -> Value:
        """The wave; the first one of a workgroup that begins."""
        return wave(self.writer)

    @property
    def structure(self) -> Value:
        """Pointer to the observer's structure of this thread."""
        w = self.writer
        return w.load(w.at(w.load(field(w, at.WAVE_OBSERVERS), "ptr", 0, 8), 8 * self.number), "ptr", 0, 8)

    def faulty(self, kind: int) -> Value:
        """An access of that kind, for `report`."""
        return self.writer.constant("i32", kind | self.number << OBSERVER_SHIFT)


@frozen
class Point(Site):
    """An instruction in the code."""

    wave_size: int
    lanes: Value  # that take part, a bit of an i64 each
    _operation: Callable[[], Value]
    place: int | None = None  # in the module's code, in bytes; None: the operation knows it when it runs

    @property
    def operation(self) -> Value:
        """What tells `report` which instruction it is."""
        return self._operation()

    @property
    def offset(self) -> Value:
        """Where in the module's code the instruction lies, in bytes, i64."""
        w = self.writer
        if self.place is not None:
            return w.constant("i64", self.place)
        launch = w.load(field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
        pc = w.load(w.at(self.operation, at.OP_PC), "i64", 0, 8)
        return pc - w.load(w.at(launch, at.LAUNCH_CODE), "i64", 0, 8)


@frozen
class Accessed:
    """Places that a wave is about to go to, inside the memory, LDS or scratch that it may reach."""

    kind: int
    space: Space | Literal["scalar"]
    lanes: Value  # a bit of an i64 each
    addresses: Value  # pointer to an i64 for each lane: the host's addresses
    size: Value  # bytes of a lane, i64
    data: Value | None = None  # of a store: pointer to the registers that hold what goes there, a row for each


def report(
    w: Writer, lane: Value, address: Value, size: Value, faulty: Value, reason: int, other: Value | None = None
) -> None:
    """Tell of an access of `Site.faulty`, which ends the launch unless it has a log; `%w` and `%op` name wave and
    operation.

    `reason`: 1 to 255, a key of `Observer.reasons`. `other`: the access that it races with, an i64.
    """
    operation, kind = Value(w, "ptr", 0, "%op"), faulty | reason << REASON_SHIFT
    other = w.constant("i64", 0) if other is None else other
    w.call("record_fault", "void", 0, wave(w), operation, lane, address, size, kind, other)


@frozen
class Reason:
    """What is wrong with an access, as the end of "load of 4 bytes at 0x40 …"."""

    kind: str  # "out of bounds"
    text: str
    remedy: str
    is_note: bool = False  # not wrong on this hardware; told only where faults are collected


class Observer:
    """What watches: equal ones add equal code."""

    name: ClassVar[str]  # of letters; names the code that it has part in
    apart: ClassVar[bool] = False  # allocations have gaps between them, and no address is used twice
    looks_at_registers: ClassVar[bool] = False  # which only tier 0 has in memory between two instructions
    reasons: ClassVar[Mapping[int, Reason]] = {}  # for which it reports

    @property
    def key(self) -> str:
        """The name, with what else its code depends on."""
        return self.name

    def wants(self, event: Event, row: Row, inst: Inst) -> bool:
        """Whether it adds code at such an event of the instruction."""
        return False

    def functions(self) -> tuple[Code, ...]:
        """What its code calls."""
        return ()

    def open(self, arena: Arena) -> Records:
        """Its records on a machine with that memory."""
        return Records()

    def group(self, site: Site) -> None:
        """Add code where a workgroup begins."""

    def block(self, point: Point) -> None:
        """Add code where a block begins."""

    def instruction(self, point: Point, row: Row, inst: Inst) -> None:
        """Add code ahead of an instruction."""

    def branch(self, point: Point, taken: Value) -> None:
        """Add code ahead of a branch; `taken` is an i1."""

    def access(self, point: Point, accessed: Accessed) -> Value | None:
        """Add code ahead of an access: the lanes that may go on, None for all."""
        return None


@define(eq=False)
class Records:
    """What an observer keeps on one machine."""

    def room(self, start: Start) -> int:
        """Bytes of a thread's structure in such a launch; zeros where nothing was written yet."""
        return 0

    def begin(self, structure: int, start: Start) -> None:
        """A thread is about to run workgroups of a launch."""

    def end(self, structure: int, start: Start) -> None:
        """It has run its last one."""

    def launched(self, start: Start) -> None:
        """A launch has ended, and so have all its threads."""

    def allocated(self, address: int, nbytes: int) -> None:
        """Memory was allocated."""

    def freed(self, address: int, nbytes: int) -> None:
        """Memory was freed."""

    def written(self, address: int, nbytes: int) -> None:
        """The host may write there from now on."""

    def unwritten(self, address: int, nbytes: int) -> tuple[int, int] | None:
        """How many of these bytes nothing wrote, and the first of them; None where there is none, or nobody knows."""
        return None

    def states(self, address: int, nbytes: int) -> NDArray[np.bool_] | None:
        """Which of these bytes were written; None where nobody knows."""
        return None

    def sealed(self, address: int, nbytes: int) -> None:
        """A module's instructions and constants lie there: nobody may write there from now on."""


Watching = tuple[tuple[int, Observer], ...]  # numbers and observers that want an event


@frozen
class Observers:
    """Those of a machine."""

    those: tuple[Observer, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.those)

    @property
    def look_at_registers(self) -> bool:
        """Whether one does, so that nothing may be compiled by tier 1."""
        return any(observer.looks_at_registers for observer in self.those)

    @property
    def suffix(self) -> str:
        """What is added to the symbol of the scheduler."""
        return names(tuple(enumerate(self.those)))

    def watching(self, event: Event, row: Row, inst: Inst) -> Watching:
        """Who wants an event of an instruction, or of a block, whose row is "count"."""
        is_put_in = row.unit == "untranslated" or not inst.size  # by the translator
        if is_put_in or (event == "block") != (row.unit == "count"):
            return ()
        return tuple((i, o) for i, o in enumerate(self.those) if o.wants(event, row, inst))

    def key(self, row: Row, inst: Inst) -> str:
        """What the function of an instruction depends on beside its shape."""
        if not self.those:
            return ""
        parts = ((event, self.watching(event, row, inst)) for event in EVENTS)
        return "".join(f"|{event}{names(watching)}" for event, watching in parts if watching)

    def functions(self) -> tuple[Code, ...]:
        return tuple(code for observer in self.those for code in observer.functions())

    def group(self, w: Writer) -> None:
        """Add what they want done where a workgroup begins."""
        for i, observer in enumerate(self.those):
            observer.group(Site(w, i))


NOBODY: Final = Observers()


def names(watching: Watching) -> str:
    """What is added to the symbol of code that they have part in."""
    return "".join(f"_{o.key}_{i}" for i, o in watching)


def accessed(watching: Watching, point: Callable[[int], Point], access: Accessed) -> Value:
    """Tell of an access: the lanes that all let go on."""
    for i, observer in watching:
        allowed = observer.access(point(i), access)
        access = access if allowed is None else evolve(access, lanes=allowed)
    return access.lanes
