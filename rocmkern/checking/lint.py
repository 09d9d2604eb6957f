"""Checks the kernels of a code object without running them."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define

from rocmkern import targets
from rocmkern.checking.findings import Finding, Instruction, Report, joined
from rocmkern.checking.graph import Graph
from rocmkern.checking.interlocks import Unordered, find_unordered
from rocmkern.checking.states import TooSoon, find_missing_states
from rocmkern.checking.steps import Steps
from rocmkern.checking.waits import Unwaited, Waits
from rocmkern.codeobject import CodeObject, Kernel
from rocmkern.codeobject.lines import Lines
from rocmkern.codeobject.model import EXECUTABLE
from rocmkern.emulator.isa.text import instruction_text
from rocmkern.errors import CodeObjectError, KernelNotFound


def lint(code: CodeObject, kernel: str | None = None) -> Report:
    """Finds missing waits and missing wait states in one kernel of a code object, or in all of them.

    Raises KernelNotFound, TargetNotBuilt for a target that nothing is known of, and CodeObjectError where a kernel
    has no code.
    """
    if kernel is not None and kernel not in code.kernels:
        raise KernelNotFound(f"lint: no kernel {kernel!r} among {len(code.kernels)}; `rocmkern inspect` lists them")
    isa = targets.isa(code.target)
    lines = Lines.of(code.image)
    chosen = [code.kernels[kernel]] if kernel is not None else list(code.kernels.values())
    texts = {s.address: Steps.of(isa, s.data) for s in code.segments if s.flags & EXECUTABLE}
    return joined(code.target, (_report(isa, code, texts, one, lines) for one in chosen))


def _report(isa: str, code: CodeObject, texts: dict[int, Steps], kernel: Kernel, lines: Lines) -> Report:
    entry = kernel.entry_address
    address = next((a for a, steps in texts.items() if a <= entry < a + len(steps.text)), None)
    if address is None or not kernel.descriptor:
        raise CodeObjectError(f"lint: {kernel.name} has no instructions in the file; build the file anew")
    graph = Graph(texts[address], entry - address)
    teller = _Teller(isa, kernel, graph, lines, address)
    return Report(code.target, (kernel.name,), len(graph.steps), tuple(teller.findings()), dict(graph.unfollowed))


@define(eq=False)
class _Teller:
    """Puts what the checks found into words."""

    isa: str
    kernel: Kernel
    graph: Graph
    lines: Lines
    address: int  # of the text

    def findings(self) -> Iterator[Finding]:
        counters = self.graph.code.held
        for wait in Waits(self.graph, counters).find():
            yield self._finding(wait.kind, wait, wait.rule(), wait.remedy(counters))
        for hazard in find_missing_states(self.graph):
            yield self._finding("missing wait states", hazard, hazard.text(), hazard.remedy())
        for one in find_unordered(self.graph):
            yield self._finding("missing wait states", one, one.rule, f"{one.remedy} before it")

    def _finding(self, kind: str, one: Unwaited | TooSoon | Unordered, rule: str, remedy: str) -> Finding:
        return Finding(
            kind, self.kernel.name, one.registers, self._instruction(one.at), self._instruction(one.after), rule, remedy
        )

    def _instruction(self, pc: int) -> Instruction:
        address = self.address + pc
        text = instruction_text(self.isa, self.graph.steps[pc].inst)
        return Instruction(address - self.kernel.entry_address, text, self.lines.source(address))
