"""The checked mode: finds accesses outside every allocation, use after free, reads of what nothing wrote, stores into
code, races in LDS; and where faults are collected, doubtful barriers, alignments and stores of several lanes.

It keeps for each byte of device memory whether it is allocated, written and code, and of each workgroup under way what
`shadow.py` says; `checks.py` has the code.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from rocmkern.emulator.arena import address_of, reserve
from rocmkern.emulator.ir import Value
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.meaning.api import Row
from rocmkern.emulator.native import Code
from rocmkern.emulator.observers import checks, shadow
from rocmkern.emulator.observers.seam import (
    BARRIER,
    END,
    Accessed,
    Event,
    Observer,
    Observers,
    Point,
    Reason,
    Records,
    Site,
)
from rocmkern.emulator.observers.shadow import ALLOCATED, CODE, FREED, WRITTEN

if TYPE_CHECKING:
    from rocmkern.emulator.arena import Arena
    from rocmkern.emulator.space import Start


@frozen
class Checker(Observer):
    """Finds what hardware lets pass."""

    name: ClassVar[str] = "checker"
    apart: ClassVar[bool] = True
    reasons: ClassVar[dict[int, Reason]] = shadow.REASONS

    def wants(self, event: Event, row: Row, inst: Inst) -> bool:
        """Accesses, barriers and ends of waves."""
        return row.unit == "memory" if event == "access" else event == "instruction" and row.unit in ("barrier", "end")

    def functions(self) -> tuple[Code, ...]:
        return checks.functions()

    def open(self, arena: Arena) -> Bytes:
        return Bytes(arena.base, arena.capacity)

    def group(self, site: Site) -> None:
        shadow.begin_group(site.writer, site.structure)

    def instruction(self, point: Point, row: Row, inst: Inst) -> None:
        symbol, kind = ("check_barrier", BARRIER) if row.unit == "barrier" else ("check_end", END)
        where = point.wave, point.operation, point.structure, point.lanes
        point.writer.call(symbol, "void", 0, *where, point.faulty(kind))

    def access(self, point: Point, accessed: Accessed) -> Value:
        w = point.writer
        data = accessed.data if accessed.data is not None else Value(w, "ptr", 0, "null")
        return w.call(
            "check_access", "i64", 0, point.wave, point.operation, point.structure, accessed.lanes, accessed.addresses,
            accessed.size, point.faulty(accessed.kind), data, w.constant("i64", 4 * point.wave_size),
        )  # fmt: skip


CHECKED: Final = Observers((Checker(),))


@define(eq=False)
class Bytes(Records):
    """The state of each byte of device memory."""

    base: int  # of the arena
    capacity: int
    _states: mmap.mmap = field(init=False)
    _address: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._states = reserve(self.capacity)
        self._address = address_of(self._states)

    def room(self, start: Start) -> int:
        return shadow.room(start.plan)

    def begin(self, structure: int, start: Start) -> None:
        ctypes.c_uint64.from_address(structure + shadow.MEMORY).value = self._address

    def allocated(self, address: int, nbytes: int) -> None:
        self._mark(address, nbytes, ALLOCATED)

    def freed(self, address: int, nbytes: int) -> None:
        self._mark(address, nbytes, FREED)

    def written(self, address: int, nbytes: int) -> None:
        self._mark(address, nbytes, ALLOCATED | WRITTEN)

    def states(self, address: int, nbytes: int) -> NDArray[np.bool_]:
        states = np.frombuffer(self._states, np.uint8, nbytes, address - self.base)
        written: NDArray[np.bool_] = states & WRITTEN != 0
        return written

    def unwritten(self, address: int, nbytes: int) -> tuple[int, int] | None:
        missing = np.flatnonzero(~self.states(address, nbytes))
        return (missing.size, int(missing[0])) if missing.size else None

    def sealed(self, address: int, nbytes: int) -> None:
        self._mark(address, nbytes, ALLOCATED | WRITTEN | CODE)

    def _mark(self, address: int, nbytes: int, state: int) -> None:
        ctypes.memset(self._address + address - self.base, state, nbytes)
