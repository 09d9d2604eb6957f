"""Control flow of a kernel: blocks, which registers are alive where, and the units that are compiled as one."""

from __future__ import annotations

from typing import Final

from attrs import define, field, frozen

from rocmkern.emulator.isa.model import EXEC, M0, VCC, Inst, Operand
from rocmkern.emulator.layout import VECTORS
from rocmkern.emulator.meaning.api import Row

Code = dict[int, tuple[Row, Inst]]

# Registers as numbers: vector registers, accumulation registers, scalar pairs, SCC.
PAIRS: Final = 1024
SCC: Final = 2048
IMPLICIT_REGISTERS: Final = {
    "scc": SCC, "vcc": PAIRS + VCC // 2, "vcc_lo": PAIRS + VCC // 2, "m0": PAIRS + M0 // 2,
    "exec": PAIRS + EXEC // 2, "exec_lo": PAIRS + EXEC // 2, "mx": PAIRS + EXEC // 2,
}  # fmt: skip
EXEC_PAIR: Final = PAIRS + EXEC // 2
ALWAYS_READ: Final = frozenset({EXEC_PAIR, PAIRS + M0 // 2})
SPECIAL_REGISTERS: Final = {251: PAIRS + VCC // 2, 252: EXEC_PAIR, 253: SCC}


def registers(operand: Operand) -> list[int]:
    """The registers of an operand."""
    kind, first = operand.kind, operand.value
    if kind in ("v", "vl", "vh"):
        return list(range(first, first + operand.count))
    if kind == "a":
        return list(range(VECTORS + first, VECTORS + first + operand.count))
    if kind == "s" and operand.value != 125:
        return list(range(PAIRS + first // 2, PAIRS + (first + operand.count - 1) // 2 + 1))
    if kind == "special" and first in SPECIAL_REGISTERS:
        return [SPECIAL_REGISTERS[first]]
    return []


@frozen
class Effects:
    """What an instruction reads, writes, and overwrites whole."""

    reads: frozenset[int]
    writes: frozenset[int]
    kills: frozenset[int]

    @staticmethod
    def of(row: Row, inst: Inst) -> Effects:
        writes = {r for o in inst.dst for r in registers(o)}
        writes |= {IMPLICIT_REGISTERS[t] for t in row.destinations if t in IMPLICIT_REGISTERS}
        reads = {r for o in inst.src for r in registers(o)}
        reads |= {IMPLICIT_REGISTERS[t] for t in row.sources if t in IMPLICIT_REGISTERS}
        if row.unit not in ("salu", "nop", "wait", "branch"):
            reads |= ALWAYS_READ
        if inst.mods.gpr_index:
            reads |= {*range(VECTORS), *range(PAIRS, PAIRS + 64)}  # which ones is known when it runs
        whole = {r for o in inst.dst if o.kind == "s" and o.count > 1 for r in registers(o)}
        kills = whole | (writes & {SCC})
        # Lanes outside EXEC, and the other register of a pair, keep their value: no kill, so a read.
        return Effects(frozenset(reads | (writes - kills)), frozenset(writes), frozenset(kills))


def writes_exec(row: Row, inst: Inst) -> bool:
    """A block ends after such an instruction."""
    if any(t in ("exec", "exec_lo", "mx") for t in row.destinations):
        return True
    return any(o.kind == "s" and o.value + o.count > EXEC and o.value < 128 for o in inst.dst)


@frozen
class Block:
    """Straight code. `leaves` says how control leaves the unit: "", behind a "barrier" or "end", before a "jump" or
    a "landing".
    """

    start: int
    pcs: tuple[int, ...]
    after: int  # pc behind the last instruction
    successors: tuple[int, ...]
    leaves: str = ""


@define(eq=False)
class Flow:
    """The control flow that starts at `entry`."""

    code: Code
    entry: int
    extra: frozenset[int] = frozenset()  # blocks that shall begin a unit of their own
    landings: frozenset[int] = frozenset()  # where loads to LDS land: waits and ends
    blocks: dict[int, Block] = field(factory=dict)
    alive: dict[int, frozenset[int]] = field(factory=dict)  # at the start of each block
    owners: dict[int, int] = field(factory=dict)  # block → entry of its unit
    _effects: dict[int, Effects] = field(factory=dict)
    _everything: frozenset[int] = frozenset()
    _holders: dict[int, Block] = field(factory=dict)  # of each instruction
    _changes: dict[int, dict[int, frozenset[int]]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._find_blocks()
        self._find_alive()
        self._partition()

    def _leaders(self) -> set[int]:
        leaders, seen, pending = {self.entry}, set[int](), [self.entry]
        while pending:
            pc = pending.pop()
            while pc not in seen and pc in self.code:
                seen.add(pc)
                row, inst = self.code[pc]
                after = pc + inst.size
                if row.unit == "branch":
                    leaders |= {inst.target, after}
                    pending.append(inst.target)
                    if row.emit is None:
                        break
                elif row.unit == "end":
                    break
                elif row.unit == "barrier" or pc in self.landings or "pc" in row.destinations:
                    leaders |= {pc, after} if "pc" in row.destinations else {after}
                elif writes_exec(row, inst):
                    leaders.add(after)
                pc = after
        return leaders & seen

    def _find_blocks(self) -> None:
        leaders = self._leaders()
        for start in leaders:
            block = self.blocks[start] = self._block(start, leaders)
            self._holders |= dict.fromkeys(
                (start, *block.pcs, *((block.after,) if block.leaves == "landing" else ())), block
            )

    def _block(self, start: int, leaders: set[int]) -> Block:
        pcs, pc = list[int](), start
        while True:
            row, inst = self.code[pc]
            after = pc + inst.size
            if "pc" in row.destinations:
                return Block(start, tuple(pcs), pc, (after,) if after in self.code else (), "jump")
            if pc in self.landings:
                return Block(
                    start, tuple(pcs), pc, () if row.unit == "end" or after not in self.code else (after,), "landing"
                )
            pcs.append(pc)
            if row.unit == "end":
                return Block(start, tuple(pcs), after, (), "end")
            if row.unit == "barrier":
                return Block(start, tuple(pcs), after, (after,), "barrier")
            if row.unit == "branch":
                both = (inst.target,) if row.emit is None else (inst.target, after)
                return Block(start, tuple(pcs), after, both)
            if after in leaders:
                return Block(start, tuple(pcs), after, (after,))
            if after not in self.code:
                return Block(start, tuple(pcs), after, (), "jump")
            pc = after

    def _find_alive(self) -> None:
        """Registers whose value may still be read, backwards to a fixed point.

        A jump may read them all, and so may code that is not known.
        """
        every = [Effects.of(row, inst) for row, inst in self.code.values()]
        self._everything = frozenset(r for effects in every for r in effects.reads | effects.writes)
        self._effects = {pc: Effects.of(*self.code[pc]) for b in self.blocks.values() for pc in b.pcs}
        self.alive = dict.fromkeys(self.blocks, frozenset[int]())
        order, changed = sorted(self.blocks, reverse=True), True
        while changed:
            changed = False
            for start in order:
                live = self._alive_from(self.blocks[start], start)
                if live != self.alive[start]:
                    self.alive[start], changed = live, True

    def _alive_from(self, block: Block, pc: int) -> frozenset[int]:
        live = set(self._everything) if block.leaves == "jump" else set[int]()
        for successor in block.successors:
            live |= self.alive.get(successor, self._everything)
        for later in reversed(block.pcs):
            if later < pc:
                break
            live = (live - self._effects[later].kills) | self._effects[later].reads
        return frozenset(live)

    def to_save(self, entry: int, pc: int) -> frozenset[int]:
        """Registers that the unit at `entry` may have changed before `pc` and that may be read from there on."""
        block = self._holders.get(pc)
        if block is None:
            return frozenset(r for effects in self._effects.values() for r in effects.writes)
        changed = set(self._changed(entry).get(block.start, ()))
        for earlier in block.pcs:
            if earlier < pc:
                changed |= self._effects[earlier].writes
        return frozenset(changed & (self._alive_from(block, pc) | {EXEC_PAIR}))

    def _changed(self, entry: int) -> dict[int, frozenset[int]]:
        """What a unit may have written before each block that it reaches."""
        if entry in self._changes:
            return self._changes[entry]
        changed: dict[int, frozenset[int]] = {entry: frozenset()}
        pending = [entry]
        while pending:
            block = self.blocks[pending.pop()]
            after = changed[block.start].union(*(self._effects[pc].writes for pc in block.pcs))
            for successor in block.successors:
                known = changed.get(successor)
                if known is None or not after <= known:
                    changed[successor] = after | (known or frozenset())
                    if self.owners.get(successor) == entry and not block.leaves:
                        pending.append(successor)
        self._changes[entry] = changed
        return changed

    def _partition(self) -> None:
        """Give every block to one unit: the entry, what follows a barrier or a call, and what several of them reach."""
        entries = {self.entry, *self.extra}
        entries |= {s for b in self.blocks.values() if b.leaves for s in b.successors}
        entries &= self.blocks.keys()  # none of code that begins with what has no meaning
        while True:
            owners: dict[int, int] = {}
            shared = set[int]()
            for entry in sorted(entries):
                pending = [entry]
                while pending:
                    start = pending.pop()
                    if owners.get(start) == entry or start in shared or (start in entries and start != entry):
                        continue
                    if start in owners:
                        shared.add(start)
                        continue
                    owners[start] = entry
                    block = self.blocks[start]
                    pending += () if block.leaves else (s for s in block.successors if s in self.blocks)
            if not shared:
                self.owners = owners
                return
            entries |= shared

    @property
    def entries(self) -> list[int]:
        return sorted(set(self.owners.values()))

    def unit(self, entry: int) -> list[Block]:
        """The blocks of one unit, its entry first."""
        mine = sorted(start for start, owner in self.owners.items() if owner == entry)
        return [self.blocks[entry], *(self.blocks[s] for s in mine if s != entry)]
