"""Control flow of one kernel with the functions that it calls, by addresses that the code itself computes."""

from __future__ import annotations

from collections import Counter
from typing import Final

from attrs import define, field

from rocmkern.checking.registers import SCALAR_BITS, SCALARS
from rocmkern.checking.steps import Step, Steps
from rocmkern.emulator.isa.model import Operand
from rocmkern.errors import UnsupportedInstruction

Known = dict[int, int]  # scalar register → what it holds
WORD: Final = 0xFFFFFFFF


@define(eq=False)
class Block:
    """Straight code: nothing but its first instruction is jumped to."""

    start: int
    pcs: list[int]
    steps: list[Step]
    successors: list[int] = field(factory=list)
    predecessors: list[int] = field(factory=list)


@define(eq=False)
class Graph:
    """The blocks that control reaches from `entry`; pcs are byte offsets of the text."""

    code: Steps
    entry: int
    steps: dict[int, Step] = field(factory=dict)
    blocks: dict[int, Block] = field(factory=dict)
    order: list[int] = field(factory=list)  # blocks, each after those that lead to it but for loops
    unfollowed: Counter[str] = field(factory=Counter)
    _next: dict[int, list[int]] = field(factory=dict)  # of instructions that don't just go on
    _calls: dict[int, int] = field(factory=dict)  # pc of a call → the function
    _returns: set[int] = field(factory=set)  # jumps to an address that the code doesn't compute

    def __attrs_post_init__(self) -> None:
        self._walk()
        self._link_calls()
        self._make_blocks()
        self._sort()

    def _walk(self) -> None:
        pending = [self.entry]
        while pending:
            pc = pending.pop()
            known: Known = {}
            while pc not in self.steps:
                try:
                    step = self.code.at(pc) if pc >= 0 and not pc % 4 else None
                except (UnsupportedInstruction, IndexError):
                    step = None
                if step is None:
                    self.unfollowed["words that are no instruction"] += 1
                    break
                self.steps[pc] = step
                after = pc + step.size
                if step.unclear:
                    self.unfollowed[step.unclear] += 1
                if step.branches:
                    target = pc + 4 + 4 * step.inst.imm
                    self._next[pc] = [target] if step.ends else [after, target]
                    pending.append(target)
                elif step.jump:
                    pending += self._jump(pc, step, known)
                if step.ends or step.jump:
                    self._next.setdefault(pc, [])
                    break
                if known or step.inst.name == "s_getpc_b64":
                    _compute(step, known, after)
                pc = after

    def _jump(self, pc: int, step: Step, known: Known) -> list[int]:
        """Where to read on after a jump."""
        after = pc + step.size
        target = after + 4 * step.inst.imm if step.jump == "far call" else _pair(step.inst.src, known)
        is_call = "call" in step.jump
        if target is None:
            if is_call:
                self.unfollowed["calls of addresses in registers"] += 1
                self._next[pc] = []
                return [after]
            self._returns.add(pc)
            return []
        if not is_call:
            self._next[pc] = [target]
            return [target]
        self._calls[pc] = target
        self._next[pc] = [target]
        return [after, target]

    def _link_calls(self) -> None:
        """Let each function return behind all calls of it."""
        returns = {function: self._reached(function) & self._returns for function in set(self._calls.values())}
        unseen = self._returns.copy()
        for pc, function in self._calls.items():
            for end in returns[function]:
                self._next[end] = [*self._next[end], pc + self.steps[pc].size]
            unseen -= returns[function]
        if unseen:
            self.unfollowed["jumps to addresses in registers"] += len(unseen)

    def _reached(self, function: int) -> set[int]:
        """The instructions of a function, without those that it calls."""
        found, pending = set[int](), [function]
        while pending:
            pc = pending.pop()
            while pc not in found and pc in self.steps:
                found.add(pc)
                after = pc + self.steps[pc].size
                if pc in self._next and pc not in self._calls and self.steps[pc].jump != "call":
                    pending += self._next[pc]
                    break
                pc = after
        return found

    def _make_blocks(self) -> None:
        leaders = {self.entry} | {target for targets in self._next.values() for target in targets}
        leaders |= {pc + self.steps[pc].size for pc in self._next}
        leaders &= self.steps.keys()
        for start in leaders:
            block = self.blocks[start] = Block(start, [], [])
            pc = start
            while True:
                step = self.steps[pc]
                block.pcs.append(pc)
                block.steps.append(step)
                after = pc + step.size
                if pc in self._next:
                    block.successors = [target for target in self._next[pc] if target in self.steps]
                    break
                if after in leaders or after not in self.steps:
                    block.successors = [after] if after in leaders else []
                    break
                pc = after
        for block in self.blocks.values():
            for successor in block.successors:
                self.blocks[successor].predecessors.append(block.start)

    def _sort(self) -> None:
        """Blocks in reverse post-order; those behind calls that can't be followed begin anew."""
        seen, finished = set[int](), list[int]()
        roots = [self.entry, *sorted(start for start, block in self.blocks.items() if not block.predecessors)]
        for root in roots:
            if root in seen:
                continue
            seen.add(root)
            stack = [(root, iter(self.blocks[root].successors))]
            part = list[int]()
            while stack:
                start, rest = stack[-1]
                following = next((s for s in rest if s not in seen), None)
                if following is None:
                    part.append(start)
                    stack.pop()
                else:
                    seen.add(following)
                    stack.append((following, iter(self.blocks[following].successors)))
            finished += reversed(part)
        self.order = finished + sorted(self.blocks.keys() - seen)


def _pair(operands: tuple[Operand, ...], known: Known) -> int | None:
    first = operands[0].value if operands and operands[0].kind == "s" else -1
    if first in known and first + 1 in known:
        value = known[first] | known[first + 1] << 32
        return value - (value >> 63 << 64)
    return None


def _value(operand: Operand, known: Known) -> int | None:
    if operand.kind in ("int", "literal"):
        return operand.value & WORD
    return known.get(operand.value) if operand.kind == "s" else None


CARRY: Final = -1  # stands for SCC among the registers
ADDS: Final = ("s_add_u32", "s_add_co_u32")
ADDS_WITH_CARRY: Final = ("s_addc_u32", "s_add_co_ci_u32")
SUBTRACTS: Final = ("s_sub_u32", "s_sub_co_u32")
SUBTRACTS_WITH_BORROW: Final = ("s_subb_u32", "s_sub_co_ci_u32")


def _compute(step: Step, known: Known, after: int) -> None:
    """Follow addresses made of the program counter and literals."""
    inst = step.inst
    results = dict[int, int]()
    if inst.name == "s_getpc_b64":
        first = inst.dst[0].value
        results = {first: after & WORD, first + 1: after >> 32 & WORD}
    elif inst.name == "s_sext_i32_i16" or inst.name == "s_mov_b32":
        value = _value(inst.src[0], known)
        if value is not None:
            results = {inst.dst[0].value: value if inst.name == "s_mov_b32" else _extended(value)}
    elif inst.name == "s_mov_b64" and inst.src[0].kind == "s":
        first, source = inst.dst[0].value, inst.src[0].value
        results = {first + i: known[source + i] for i in (0, 1) if source + i in known}
    elif inst.name in (*ADDS, *ADDS_WITH_CARRY, *SUBTRACTS, *SUBTRACTS_WITH_BORROW):
        a, b = (_value(operand, known) for operand in inst.src)
        carry = 0 if inst.name in (*ADDS, *SUBTRACTS) else known.get(CARRY)
        if a is not None and b is not None and carry is not None:
            total = a + b + carry if "add" in inst.name else a - b - carry
            results = {inst.dst[0].value: total & WORD, CARRY: total >> 32 & 1}
    if known:
        for register in [r for r in known if r == CARRY or step.writes >> SCALARS + r & 1]:
            if register != CARRY or step.writes & ~SCALAR_BITS:
                del known[register]
    known.update(results)


def _extended(value: int) -> int:
    low = value & 0xFFFF
    return (low | 0xFFFF0000 if low >> 15 else low) & WORD
