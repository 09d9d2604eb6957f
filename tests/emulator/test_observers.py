"""Observers see the same events in both tiers, and code that nobody watches is none the different for them."""

from __future__ import annotations

import ctypes
import re
import struct
from functools import cache
from typing import ClassVar

import pytest
from attrs import define, field, frozen

from rocmkern.emulator import scheduler
from rocmkern.emulator.arena import Arena
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa import Inst
from rocmkern.emulator.isa.table import ISAS
from rocmkern.emulator.machine import Machine
from rocmkern.emulator.meaning import ROWS, Row
from rocmkern.emulator.observers.checker import CHECKED
from rocmkern.emulator.observers.seam import EVENTS, NOBODY, Accessed, Event, Observer, Observers, Point, Records, Site
from rocmkern.emulator.space import Start
from rocmkern.emulator.tier0 import HandlerBuilder, shape
from rocmkern.emulator.tier1 import Hot, UnitBuilder
from tests.emulator.instructions import Dialect
from tests.emulator.test_operand_places import SAMPLE, compiled_flow, meant, wave_size
from tests.samples import assemble

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201")
ROOM = 1 << 16
GROUP = "group"


@frozen
class Idle(Observer):
    """Wants nothing."""

    name: ClassVar[str] = "idle"


@frozen
class Witness(Observer):
    """Writes down every event of the first wave: which, where, a number. With `only`, of no other kind."""

    name: ClassVar[str] = "witness"
    only: Event | None = None

    @property
    def key(self) -> str:
        return f"{self.name}_{self.only}"

    def wants(self, event: Event, row: Row, inst: Inst) -> bool:
        return self.only in (None, event)

    def open(self, arena: Arena) -> Log:
        return Log()

    def group(self, site: Site) -> None:
        self._note(site, GROUP, site.writer.constant("i64", 0), site.writer.constant("i64", 0))

    def block(self, point: Point) -> None:
        self._note(point, "block", point.offset, point.lanes)

    def instruction(self, point: Point, row: Row, inst: Inst) -> None:
        self._note(point, "instruction", point.offset, point.lanes)

    def branch(self, point: Point, taken: Value) -> None:
        self._note(point, "branch", point.offset, taken.zext("i64"))

    def access(self, point: Point, accessed: Accessed) -> None:
        self._note(point, "access", point.offset, point.lanes)
        self._note(point, "access", accessed.size, point.writer.constant("i64", accessed.kind))

    def _note(self, site: Site, event: str, offset: Value, number: Value) -> None:
        w, log = site.writer, site.structure
        count = w.load(log, "i64", 0, 8)
        w.store(count + 1, log, 8)
        entry = w.at(log, count * 24 + 8)
        for i, value in enumerate((w.constant("i64", (GROUP, *EVENTS).index(event)), offset, number)):
            w.store(value, w.at(entry, 8 * i), 8)


@define(eq=False)
class Log(Records):
    """What was written down: event, place, number."""

    launches: list[list[tuple[str, int, int]]] = field(factory=list)
    begun: int = 0

    def room(self, start: Start) -> int:
        return ROOM

    def begin(self, structure: int, start: Start) -> None:
        ctypes.c_uint64.from_address(structure).value = 0
        self.begun += 1

    def end(self, structure: int, start: Start) -> None:
        (count,) = struct.unpack("<Q", ctypes.string_at(structure, 8))
        data = ctypes.string_at(structure + 8, 24 * count)
        self.launches.append([((GROUP, *EVENTS)[e], at, number) for e, at, number in struct.iter_unpack("<3Q", data)])


@frozen
class Bare(Dialect):
    """Kernels of nothing but what is given."""

    def body(self, instruction: str) -> str:
        return instruction

    def metadata(self, names: list[str]) -> str:
        return super().metadata(names).replace("max_flat_workgroup_size: ", "max_flat_workgroup_size: 1")


def steps(dialect: Dialect) -> list[str]:
    """A kernel with a loop of three rounds, one instruction to a line; `{n}` is the number of a line."""
    renamed = dialect.isa in ("gfx11", "gfx12")
    pair, load, store = ("s_load_b64", "ds_load_b32", "b32") if renamed else ("s_load_dwordx2", "ds_read_b32", "dword")
    write = "ds_store_b32" if renamed else "ds_write_b32"
    barrier = ["s_barrier_signal -1", "s_barrier_wait -1"] if dialect.isa == "gfx12" else ["s_nop 0", "s_barrier"]
    return [
        f"{pair} s[4:5], s[0:1], 0x0", "v_and_b32 v1, 0x3ff, v0", "v_lshlrev_b32 v1, 2, v1", "s_mov_b32 s6, 4",
        "v_mov_b32 v3, v1", f"again: {write} v1, v3", *barrier, f"{load} v2, v1", "s_lshr_b32 s6, s6, 1",
        "s_cbranch_scc1 again", *dialect.wait.split("\n"), f"global_store_{store} v1, v2, s[4:5] offset:4", "s_endpgm",
    ]  # fmt: skip


@cache
def image(target: str) -> bytes:
    dialect = Bare(target)
    return assemble(dialect.source({"k": "\n".join(f" {line}" for line in steps(dialect))}), target)


def launched(target: str, observers: Observers, tier: int) -> tuple[Machine, list[int]]:
    """The kernel ran with one workgroup of two waves, in one tier; and where its instructions lie."""
    machine = Machine(target, observers, timeout_s=60, compiles=False)
    entry = machine.load(image(target)).kernel("k")
    address, block = machine.alloc(1024), (2 * entry.kernel.wave_size, 1, 1)
    for i in range(1 + tier):
        if i:
            entry.module.program.compile(entry.kernel)
        machine.launch(entry, (1, 1, 1), block, 0, struct.pack("<Q", address).ljust(72, b"\0"))
    found = struct.unpack_from(f"<{block[0]}I", machine.view(address + 4, 1020))
    assert found == tuple(range(0, 4 * block[0], 4))
    code = entry.module.program.flow(entry.kernel).code
    return machine, sorted(code)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("target", TARGETS)
def test_every_event_is_told_in_order(target: str, tier: int) -> None:
    """Waves run one after the other up to a barrier; what each does is told ahead of it, in both tiers alike."""
    machine, pcs = launched(target, Observers((Idle(), Witness())), tier)
    (log,) = [r for r in machine.records if isinstance(r, Log)]
    assert log.begun == len(log.launches) == 1 + tier
    told = [entry for entry in log.launches[-1] if entry[0] != "block"]
    lines = steps(Bare(target))
    assert len(pcs) == len(lines)
    every = (1 << wave_size(Bare(target).isa)) - 1
    start, end = next(i for i, s in enumerate(lines) if s.startswith("again")), len(lines)
    leave = next(i for i, s in enumerate(lines) if s.startswith("s_cbranch")) + 1
    barrier = start + 2

    def does(first: int, last: int, taken: bool = False) -> list[tuple[str, int, int]]:
        found = []
        for i in range(first, last):
            found.append(("instruction", pcs[i], every))
            if "branch" in lines[i]:
                found.append(("branch", pcs[i], int(taken)))
            if lines[i].startswith("s_load"):
                found += [("access", pcs[i], 1), ("access", 8, 0)]
            elif any(word in lines[i] for word in ("ds_", "global_")):
                found += [("access", pcs[i], every), ("access", 4, int("store" in lines[i] or "write" in lines[i]))]
        return found

    wanted = [(GROUP, 0, 0), *2 * does(0, barrier + 1)]
    for _ in range(2):
        wanted += 2 * [*does(barrier + 1, leave, True), *does(start, barrier + 1)]
    wanted += 2 * does(barrier + 1, end)
    assert told == wanted
    blocks = [(at, number) for event, at, number in log.launches[-1] if event == "block"]
    for begins, often in ((0, 2), (start, 6), (barrier + 1, 6), (leave, 2)):
        assert blocks.count((pcs[begins], every)) == often


@pytest.mark.parametrize("only", EVENTS)
def test_an_observer_gets_what_it_wants(only: Event) -> None:
    """No other event than those is told, whoever else watches."""
    machine, _ = launched("gfx942", Observers((Witness(only), *CHECKED.those)), 1)
    log = machine.records[0]
    assert isinstance(log, Log)
    assert {event for launch in log.launches for event, _, _ in launch} == {GROUP, only}


def _texts(row: Row, inst: Inst, isa: str, observers: Observers) -> dict[str, str]:
    """All code for an instruction, by symbol."""
    found, size = dict[str, str](), wave_size(isa)
    for plain in (False, True):
        key = f"{plain} {shape(inst, isa, size)}{observers.key(row, inst)}"
        handler = HandlerBuilder(row, inst, isa, size, observers, plain).build("handler")
        found[key] = handler.text
        for symbol, function in handler.accesses.items():
            w = Writer()
            function.body(w)
            found[symbol] = "\n".join([*w.prologue, *w.lines])
    flow = compiled_flow(row, inst)
    for full in (True, False):
        versions = frozenset((block, full) for block in flow.blocks)
        unit = UnitBuilder(flow, 0, Hot(versions), isa, size, {0}, observers)
        found[unit.symbol] = unit.build().text
    return found


@pytest.mark.parametrize("isa", ISAS)
def test_code_that_nobody_watches_stays_as_it_is(isa: str) -> None:
    """With an observer that wants nothing, symbols and IR of all tiers are those without any; with one that wants
    everything, none is.
    """
    seen = set[str]()
    for _, _, row, inst in meant(isa, 4 * SAMPLE):
        text = shape(inst, isa, wave_size(isa))
        if text in seen:
            continue
        seen.add(text)
        plain = _texts(row, inst, isa, NOBODY)
        assert _texts(row, inst, isa, Observers((Idle(),))) == plain
        watched = _texts(row, inst, isa, Observers((Witness(),)))
        assert not watched.keys() & plain.keys()
    assert len(seen) > 60


def test_symbols_differ_by_the_set_of_observers() -> None:
    """Of handlers, memory functions, units and the scheduler: who watches, and in which place."""
    row, inst = ROWS["s_barrier"], Inst(0, 4, "s_barrier", "SOPP")
    sets = [
        NOBODY, Observers((Witness(),)), CHECKED, Observers((Witness(), *CHECKED.those)),
        Observers((*CHECKED.those, Witness())), Observers((Idle(), Witness())),
    ]  # fmt: skip
    assert len({o.key(row, inst) for o in sets}) == len(sets)
    defined = [re.findall(r"^define .*@(\w+)\(", scheduler.run(o).text, re.M) for o in sets]
    assert len({symbol for symbols in defined for symbol in symbols}) == sum(map(len, defined)) > 3 * len(sets)
    flow = compiled_flow(row, inst)
    hot = Hot(frozenset((block, True) for block in flow.blocks))
    assert len({UnitBuilder(flow, 0, hot, "gfx940", 64, {0}, o).symbol for o in sets}) == len(sets)
