"""Missing waits: registers that are used while a memory operation may still read or write them.

A state says of each queue how many younger operations each one that may be under way has at least behind it (its
age). States of several paths are joined to the union with the least ages, to a fixed point over the control flow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import define, field, frozen

from rocmkern.checking.counters import LDS, Counters, wait_text
from rocmkern.checking.graph import Block, Graph
from rocmkern.checking.registers import names
from rocmkern.checking.steps import Step

State = tuple[dict[int, int], ...]  # of each queue: pc → age
IN_ORDER_UNTIL: Final = 12  # generation from which loads may write registers in another order


@frozen
class Unwaited:
    """An operation that may still be under way. `needed` is what each counter has to be waited for."""

    at: int
    after: int
    bits: int
    needed: dict[str, int]
    kind: str = "missing wait"

    @property
    def registers(self) -> str:
        return names(self.bits)

    def rule(self) -> str:
        if self.kind == "missing wait":
            return "used before it has surely ended"
        return "a barrier tells other waves of it before it has surely ended"

    def remedy(self, held: Counters) -> str:
        texts = [wait_text(held, counter, count) for counter, count in self.needed.items()]
        return f"{' and '.join(texts)} before it"


@define(eq=False)
class Running:
    """The state as a block runs: how many operations each queue was given, and which number each one had."""

    counters: Counters
    given: list[int]
    pending: list[dict[int, int]]

    @staticmethod
    def of(held: Counters, state: State) -> Running:
        return Running(held, [0] * len(state), [{pc: -age for pc, age in queue.items()} for queue in state])

    def state(self) -> State:
        found = list[dict[int, int]]()
        for queue, given, pending in zip(self.counters.queues, self.given, self.pending, strict=True):
            ages = {pc: given - number for pc, number in pending.items()}
            found.append(
                {pc: age for pc, age in ages.items() if age < queue.holds} if queue.ordered else dict.fromkeys(ages, 0)
            )
        return tuple(found)

    def run(self, pc: int, step: Step) -> None:
        operation = step.operation
        if operation is not None:
            for place in operation.queues:
                self.given[place] += 1
                if operation.result or operation.locked or operation.writes_lds:
                    self.pending[place][pc] = self.given[place]
        for counter, count in step.waits:
            self.wait(counter, count)

    def wait(self, counter: str, count: int) -> None:
        for place, queue in enumerate(self.counters.queues):
            if queue.counter != counter or not self.pending[place]:
                continue
            if count == 0:
                self.pending[place].clear()
            elif queue.ordered:
                done = self.given[place] - count
                self.pending[place] = {pc: number for pc, number in self.pending[place].items() if number > done}


@define(eq=False)
class Waits:
    """The missing waits of one control flow."""

    graph: Graph
    counters: Counters
    entries: dict[int, State] = field(factory=dict)

    def find(self) -> Iterator[Unwaited]:
        self._settle()
        for start in self.graph.order:
            yield from self._check(self.graph.blocks[start])

    def _settle(self) -> None:
        """The state at the entry of each block."""
        nothing: State = tuple({} for _ in self.counters.queues)
        place = {start: i for i, start in enumerate(self.graph.order)}
        relevant = {
            start: [(pc, step) for pc, step in zip(block.pcs, block.steps, strict=True) if step.operation or step.waits]
            for start, block in self.graph.blocks.items()
        }
        self.entries = dict.fromkeys(self.graph.order, nothing)
        pending = set(self.graph.order)
        while pending:
            start = min(pending, key=place.__getitem__)
            pending.remove(start)
            running = Running.of(self.counters, self.entries[start])
            for pc, step in relevant[start]:
                running.run(pc, step)
            state = running.state()
            for successor in self.graph.blocks[start].successors:
                joined = _joined(self.entries[successor], state)
                if joined is not None:
                    self.entries[successor] = joined
                    pending.add(successor)

    def _check(self, block: Block) -> Iterator[Unwaited]:
        running = Running.of(self.counters, self.entries[block.start])
        steps = self.graph.steps
        concerned = 0
        for queue in running.pending:
            for pc in queue:
                concerned |= _concerned(steps[pc])
        for pc, step in zip(block.pcs, block.steps, strict=True):
            if concerned & step.touches:
                yield from self._overlaps(running, pc, step)
            if step.is_barrier:
                yield from self._unwritten(running, pc)
            if step.operation is not None or step.waits:
                running.run(pc, step)
                if step.waits:
                    concerned = 0
                    for queue in running.pending:
                        for producer in queue:
                            concerned |= _concerned(steps[producer])
                else:
                    concerned |= _concerned(step)

    def _overlaps(self, running: Running, pc: int, step: Step) -> Iterator[Unwaited]:
        needed = dict[int, dict[str, int]]()
        hits = dict[int, int]()
        for place, queue in enumerate(self.counters.queues):
            for producer, number in list(running.pending[place].items()):
                age = running.given[place] - number
                operation = self.graph.steps[producer].operation
                assert operation is not None
                hit = (operation.result & step.touches) | (operation.locked & step.writes)
                if not hit or (queue.ordered and age >= queue.holds):
                    continue
                if self._comes_in_order(place, hit, step):
                    continue
                needed.setdefault(producer, {})[queue.counter] = age if queue.ordered else 0
                hits[producer] = hit
                del running.pending[place][producer]
        for producer, counts in needed.items():
            yield Unwaited(pc, producer, hits[producer], counts)

    def _comes_in_order(self, place: int, hit: int, step: Step) -> bool:
        """Whether a second load only writes what the first one writes before it."""
        if not self.counters.queues[place].ordered or self.counters.generation >= IN_ORDER_UNTIL:
            return False
        return step.operation is not None and step.operation.queues == (place,) and not hit & step.reads

    def _unwritten(self, running: Running, pc: int) -> Iterator[Unwaited]:
        place = self.counters.places[self.counters.lds, LDS]
        for producer, number in running.pending[place].items():
            operation = self.graph.steps[producer].operation
            age = running.given[place] - number
            if operation is not None and operation.writes_lds and age < self.counters.queues[place].holds:
                yield Unwaited(pc, producer, 0, {self.counters.lds: age}, "unwaited LDS write")


def _concerned(step: Step) -> int:
    operation = step.operation
    return operation.result | operation.locked if operation is not None else 0


def _joined(old: State, new: State) -> State | None:
    """Both together; None where the old one holds all of the new."""
    changed = False
    found = list[dict[int, int]]()
    for one, other in zip(old, new, strict=True):
        if other.keys() <= one.keys() and all(one[pc] <= age for pc, age in other.items()):
            found.append(one)
            continue
        changed = True
        merged = one.copy()
        for pc, age in other.items():
            merged[pc] = min(age, merged.get(pc, age))
        found.append(merged)
    return tuple(found) if changed else None
