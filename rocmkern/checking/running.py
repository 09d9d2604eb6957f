"""What launches did wrong, as findings: faults of the emulator with their source lines, the same ones folded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, overload

from attrs import define, evolve, field, frozen

from rocmkern import targets
from rocmkern.checking.findings import Access, Finding, Instruction
from rocmkern.checking.steps import Steps
from rocmkern.checking.suppressions import Suppression
from rocmkern.codeobject import CodeObject, Kernel
from rocmkern.codeobject.lines import Lines
from rocmkern.codeobject.model import EXECUTABLE
from rocmkern.emulator.faults import Copied, Fault, Other
from rocmkern.emulator.isa.text import instruction_text
from rocmkern.errors import ConfigError, UnsupportedInstruction
from rocmkern.locks import Lock

if TYPE_CHECKING:
    from rocmkern.emulator.machine import Entry, Machine
    from rocmkern.emulator.space import Start

LISTED: Final = 3  # instructions ahead of one that has no source line, and behind it
GROUPS: Final = {
    "memory": ("out of bounds", "use after free", "misaligned", "unaligned", "store into code"),
    "uninitialised": ("uninitialised", "uninitialised copy"),
    "race": (
        "race, read after write", "race, write after read", "race, write after write", "race, lanes of a wave",
        "race, same value",
    ),
    "barrier": ("barrier skipped", "different barriers", "barrier in divergent lanes", "barrier deadlock"),
}  # fmt: skip


@frozen
class Text:
    """The instructions and lines of a code object."""

    lines: Lines
    parts: tuple[tuple[int, Steps], ...]  # by the address of each

    @staticmethod
    def of(code: CodeObject) -> Text:
        isa = targets.isa(code.target)
        parts = tuple((s.address, Steps.of(isa, s.data)) for s in code.segments if s.flags & EXECUTABLE)
        return Text(Lines.of(code.image), parts)

    def instruction(self, kernel: Kernel, pc: int) -> Instruction:
        """The one at a place in the kernel."""
        frames = self.lines.frames(kernel.entry_address + pc)
        calls = tuple(f"{f.function or '?'} at {f.source}" for f in frames[1:])
        source, text = frames[0].source if frames else "", self._text(kernel.entry_address + pc)[0]
        return Instruction(pc, text, source, calls, () if source else tuple(self._listing(kernel, pc)))

    def _text(self, address: int) -> tuple[str, int]:
        """An instruction, and how many bytes it has."""
        for start, steps in self.parts:
            if start <= address < start + len(steps.text):
                try:
                    step = steps.at(address - start)
                except (UnsupportedInstruction, IndexError):
                    break
                return instruction_text(steps.isa, step.inst), step.size
        return "?", 4

    def _listing(self, kernel: Kernel, pc: int) -> Iterator[str]:
        ahead, place = list[int](), 0
        while place < pc:
            ahead.append(place)
            place += self._text(kernel.entry_address + place)[1]
        if place != pc:  # the code ahead of it isn't all instructions
            ahead, place = [], pc
        shown = ahead[-LISTED:]
        for _ in range(LISTED + 1):
            shown.append(place)
            place += self._text(kernel.entry_address + place)[1]
        for one in shown:
            yield f"{'→' if one == pc else ' '} {one:#06x}  {self._text(kernel.entry_address + one)[0]}"


def finding(fault: Fault, text: Text) -> Finding:
    """A fault as a finding."""
    at, other = text.instruction(fault.kernel, fault.pc), fault.other
    lanes = tuple(lane for lane in range(64) if fault.lanes >> lane & 1)
    access = Access(
        fault.kind, fault.address, fault.size, fault.wave, lanes, fault.group, fault.place,
        "" if other is None else _who(other),
    )  # fmt: skip
    after = None if other is None else text.instruction(fault.kernel, other.pc)
    reason = fault.reason
    return Finding(
        reason.kind, fault.kernel.name, "", at, after, fault.what, reason.remedy, access, reason.is_note, fault.count
    )


def _who(other: Other) -> str:
    where = "" if other.group is None else f" of workgroup number {other.group}"
    return f"lane {other.lane} of wave {other.wave}{where}"


def group_of(kind: str) -> str:
    """What a kind of finding belongs to: a key of `GROUPS`."""
    return next(group for group, kinds in GROUPS.items() if kind in kinds)


@define(eq=False)
class Findings(Sequence[Finding]):
    """What was found while launches ran, in the order in which it was met; those that are the same once."""

    only: Collection[str] = ()  # of `GROUPS`, or kinds; all where there is none
    suppressions: Sequence[Suppression] = ()
    sample: int = 1  # of so many workgroups one is looked at whole
    launches: int = 0
    unchecked: int = 0  # of them, on devices that only know what lies outside their memory
    left_out: int = 0  # findings that no room was left for
    suppressed: dict[Suppression, int] = field(factory=dict)
    _texts: dict[bytes, Text] = field(factory=dict)  # by the file that it is of
    _found: dict[tuple[object, ...], Finding] = field(factory=dict)
    _lock: Lock = field(factory=lambda: Lock("findings"))

    def __attrs_post_init__(self) -> None:
        if self.sample < 1:
            raise ConfigError(f"check: one of {self.sample} workgroups is none; give a number from 1 on")
        known = {*GROUPS, *(kind for kinds in GROUPS.values() for kind in kinds)}
        unknown = sorted(set(self.only) - known)
        if unknown:
            raise ConfigError(f"check: nothing is called {unknown[0]!r}; there is {', '.join(sorted(known))}")

    def launching(self, machine: Machine, entry: Entry, start: Start, arguments: bytes) -> None:
        """Nothing is found before a launch."""

    def launched(self, faults: Iterable[Fault], left_out: int, is_checked: bool) -> None:
        """Take a launch's faults."""
        with self._lock:
            self.launches += 1
            self.unchecked += not is_checked
            self.left_out += left_out
            for fault in faults:
                image = fault.code.image
                text = self._texts.get(image) or self._texts.setdefault(image, Text.of(fault.code))
                self.take(finding(fault, text))

    def copied(self, copy: Copied) -> None:
        """Take a copy to the host."""
        rule = f"copy to the host of {copy.size:,} bytes; nothing wrote {copy.count:,} from {copy.address:#x} on"
        at = Instruction(0, "copy to the host", copy.source)
        remedy = "write them first, or copy less"
        with self._lock:
            self.take(Finding("uninitialised copy", "", "", at, None, f"{rule}; {copy.place}", remedy))

    def take(self, one: Finding) -> None:
        """Take a finding, unless it isn't wanted."""
        if self.only and group_of(one.kind) not in self.only and one.kind not in self.only:
            return
        by = next((s for s in self.suppressions if s.covers(one)), None)
        if by is not None:
            self.suppressed[by] = self.suppressed.get(by, 0) + one.count
            return
        known = self._found.get(one.key)
        self._found[one.key] = one if known is None else evolve(known, count=known.count + one.count)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """All but notes."""
        return tuple(one for one in self if not one.is_note)

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | Sequence[Finding]:
        return list(self._found.values())[index]

    def __repr__(self) -> str:
        return f"<Findings: {len(self.errors)} errors, {len(self) - len(self.errors)} notes>"
