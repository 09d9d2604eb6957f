"""Missing wait states: instructions that follow others sooner than the hardware of a generation looks after.

One instruction is one state, `s_nop n` n + 1. From each instruction that a rule concerns, the code is walked
backwards over all paths as far as the rule reaches.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field, frozen

from rocmkern.checking.graph import Graph
from rocmkern.checking.registers import names
from rocmkern.checking.rules import Rule, rules
from rocmkern.checking.steps import Roles, Step


@frozen
class TooSoon:
    """An instruction that comes too soon after another."""

    at: int
    after: int
    registers: str
    rule: Rule
    found: int
    needed: int

    @property
    def missing(self) -> int:
        return self.needed - self.found

    def text(self) -> str:
        return f"{self.rule.text}: {self.found} of {self.needed} wait states"

    def remedy(self) -> str:
        return self.rule.remedy or f"s_nop {self.missing - 1} before it"


@define(eq=False)
class _Search:
    graph: Graph
    rules: tuple[Rule, ...]
    _needs: dict[Step, tuple[int, Roles, int]] = field(factory=dict)  # with the farthest reach, and what is at stake

    def __attrs_post_init__(self) -> None:
        steps = set(self.graph.steps.values())
        if not self.rules:
            return
        for step in steps:
            if step.roles is None:
                step.roles = self._roles(step)
        present = {number for step in steps if step.roles for number, _ in step.roles[0]}
        for step in steps:
            if not step.roles or not step.roles[1]:
                continue
            roles = tuple(role for role in step.roles[1] if role[0] in present)
            if roles:
                bits = 0
                for _, used in roles:
                    bits |= used
                self._needs[step] = max(self.rules[number].reach for number, _ in roles), roles, bits

    def _roles(self, step: Step) -> tuple[Roles, Roles, int]:
        firsts = tuple((number, bits) for number, rule in enumerate(self.rules) if (bits := rule.first(step)))
        thens = tuple((number, bits) for number, rule in enumerate(self.rules) if (bits := rule.then(step)))
        made = 0
        for _, bits in firsts:
            made |= bits
        return firsts, thens, made

    def find(self) -> Iterator[TooSoon]:
        if not self._needs:
            return
        for start in self.graph.order:
            block = self.graph.blocks[start]
            for i, step in enumerate(block.steps):
                if step in self._needs:
                    yield from self._before(start, i, step)

    def _before(self, start: int, index: int, step: Step) -> Iterator[TooSoon]:
        """What comes too soon before one instruction: of each rule, what most states are missing to."""
        reach, roles, bits = self._needs[step]
        at = self.graph.blocks[start].pcs[index]
        told = dict[int, TooSoon]()
        least = dict[int, int]()
        pending = [(start, index - 1, 0)]
        while pending:
            name, i, states = pending.pop()
            block = self.graph.blocks[name]
            while i >= 0 and states < reach:
                earlier = block.steps[i]
                assert earlier.roles is not None
                for number, made in earlier.roles[0] if earlier.roles[2] & bits else ():
                    for other, used in roles:
                        if other == number and made & used:
                            one = self._too_soon(number, made & used, (block.pcs[i], earlier), (at, step), states)
                            if one and (number not in told or told[number].missing < one.missing):
                                told[number] = one
                states += earlier.inst.imm + 1 if earlier.inst.name == "s_nop" else 1
                i -= 1
            if states < reach:
                for before in block.predecessors:
                    if least.get(before, reach) > states:
                        least[before] = states
                        pending.append((before, len(self.graph.blocks[before].steps) - 1, states))
        yield from told.values()

    def _too_soon(
        self, number: int, bits: int, first: tuple[int, Step], then: tuple[int, Step], states: int
    ) -> TooSoon | None:
        rule = self.rules[number]
        needed = rule.states(first[1], then[1])
        if states >= needed:
            return None
        return TooSoon(then[0], first[0], names(bits) if rule.is_of_registers else "", rule, states, needed)


def find_missing_states(graph: Graph) -> Iterator[TooSoon]:
    """What follows too soon on what in a control flow."""
    return _Search(graph, rules(graph.code.isa)).find()
