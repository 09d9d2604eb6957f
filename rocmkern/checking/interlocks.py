"""What RDNA's hardware does not look after by itself, as LLVM has it: the few rules that are left from gfx10.3 on.

Where GFX9 counts states, these look for what comes between two instructions. A `Window` is open from the first one on
until an instruction ends it or more of some kind came than it takes; `Rereads` follows gfx12's scalar registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from attrs import define, field, frozen

from rocmkern.checking.graph import Block, Graph
from rocmkern.checking.registers import SCALARS, VCC_BITS, VECTOR_BITS, bits_of, names
from rocmkern.checking.rules import TRANSCENDENTAL
from rocmkern.checking.steps import Step
from rocmkern.emulator.isa.model import M0, NULL

Counts = tuple[int, int]
DEPENDENCIES: Final = ("s_waitcnt_depctr", "s_wait_alu")


@frozen
class Unordered:
    """An instruction that comes too soon after another."""

    at: int
    after: int
    registers: str
    rule: str
    remedy: str


@frozen(eq=False)
class Window:
    """`then` must not come while it is open.

    spent   what an instruction takes of the two numbers in `most`
    ends    whether it closes the window
    """

    text: str
    remedy: str
    first: Callable[[Step], int]
    then: Callable[[Step], int]
    spent: Callable[[Step], Counts]
    ends: Callable[[Step], bool]
    most: Counts


def _is_vector(step: Step) -> bool:
    return step.unit in ("valu", "matrix")


def _is_transcendental(step: Step) -> bool:
    return step.unit == "valu" and step.inst.name.startswith(TRANSCENDENTAL)


def _waits_for_dependencies(step: Step, shift: int, width: int) -> bool:
    """Whether it waits until nothing that a field of its counts is under way."""
    return step.inst.name in DEPENDENCIES and not step.inst.imm >> shift & ((1 << width) - 1)


def _transcendental(step: Step) -> int:
    return step.writes & VECTOR_BITS if _is_transcendental(step) else 0


def _vector_reads(step: Step) -> int:
    return step.reads & VECTOR_BITS if _is_vector(step) else 0


def _after_vectors(step: Step) -> bool:
    """Whether vector instructions have ended before it."""
    return step.unit in ("memory", "lds") or _waits_for_dependencies(step, 12, 4)


def _product(step: Step) -> int:
    return step.writes & VECTOR_BITS if step.unit == "matrix" else 0


def _factors(step: Step) -> int:
    return bits_of(step.inst.src[:2]) & VECTOR_BITS if step.unit == "matrix" else 0


def _factors_and_index(step: Step) -> int:
    name, sources = step.inst.name, step.inst.src
    if step.unit != "matrix":
        return 0
    return bits_of((*sources[:2], *(sources[-1:] if name.startswith("v_swmmac") else ()))) & VECTOR_BITS


def _float_atomic(step: Step) -> int:
    name = step.inst.name
    return int(step.unit == "memory" and "atomic" in name and ("_f" in name or "fadd" in name or "fm" in name))


def _denormal_mode(step: Step) -> int:
    return int(step.inst.name == "s_denorm_mode")


def _compares_into_exec(step: Step) -> int:
    return int(step.inst.name.startswith("v_cmpx"))


def _permutes(step: Step) -> int:
    return int(step.inst.name.startswith("v_permlane"))


def _states(step: Step) -> Counts:
    return (step.inst.imm + 1 if step.inst.name == "s_nop" else 1), 0


GFX10: Final = (
    Window(
        "s_denorm_mode within three states of a float atomic", "s_nop 2", _float_atomic, _denormal_mode, _states,
        lambda step: _is_vector(step) or bool(step.waits), (2, 0),
    ),
    Window(
        "lanes are permuted behind a comparison that writes EXEC", "another vector instruction than v_nop",
        _compares_into_exec, _permutes, lambda step: (0, 0),
        lambda step: _is_vector(step) and step.inst.name != "v_nop", (0, 0),
    ),
)  # fmt: skip
GFX11: Final = (
    Window(
        "the result of a transcendental function is read while it may be under way",
        "s_waitcnt_depctr depctr_va_vdst(0)", _transcendental, _vector_reads,
        lambda step: (int(_is_vector(step)), int(_is_transcendental(step))), _after_vectors, (5, 1),
    ),
    Window(
        "a matrix product is multiplied at once", "v_nop", _product, _factors, lambda step: (int(_is_vector(step)), 0),
        lambda step: False, (0, 0),
    ),
)  # fmt: skip
GFX12: Final = (
    Window(
        "a matrix product is multiplied at once", "v_nop", _product, _factors_and_index,
        lambda step: (int(_is_vector(step)), 0), lambda step: False, (0, 0),
    ),
)  # fmt: skip
WINDOWS: Final = {"gfx10": GFX10, "gfx11": GFX11, "gfx12": GFX12}


def find_open_windows(graph: Graph, windows: tuple[Window, ...]) -> Iterator[Unordered]:
    """What comes within a window, on any way."""
    known = set(graph.steps.values())
    for window in windows:
        if not any(window.first(step) for step in known):
            continue
        used = {step: bits for step in known if (bits := window.then(step))}
        for start in graph.order if used else ():
            block = graph.blocks[start]
            for i, step in enumerate(block.steps):
                if step in used:
                    yield from _before(graph, window, block, i, used[step])


def _before(graph: Graph, window: Window, block: Block, index: int, bits: int) -> Iterator[Unordered]:
    """The first instructions whose window is open at one."""
    at, seen = block.pcs[index], set[tuple[int, Counts]]()
    told = set[int]()
    pending = [(block, index - 1, (0, 0))]
    while pending:
        place, i, (one, other) = pending.pop()
        while i >= 0:
            step = place.steps[i]
            if one > window.most[0] or other > window.most[1]:
                break
            shared = window.first(step) & bits
            if shared and place.pcs[i] not in told:
                told.add(place.pcs[i])
                yield Unordered(at, place.pcs[i], names(shared) if bits > 1 else "", window.text, window.remedy)
            if shared or window.ends(step):
                break
            spent = window.spent(step)
            one, other, i = one + spent[0], other + spent[1], i - 1
        else:
            for before in place.predecessors:
                if (before, (one, other)) not in seen:
                    seen.add((before, (one, other)))
                    earlier = graph.blocks[before]
                    pending.append((earlier, len(earlier.steps) - 1, (one, other)))


# gfx12's scalar registers: one that a vector instruction has read, written again, and read again.

_COUNTED: Final = ((1 << 128) - 1) & ~(3 << 126 | 1 << M0 | 1 << NULL)  # without EXEC
_EVEN: Final = sum(1 << n for n in range(0, 128, 2))
_VCC: Final = VCC_BITS >> SCALARS
CLEARING_NOPS: Final = 4  # ds_nop, of waves of 32 lanes


@frozen
class _State:
    """Scalar registers, a bit each: read by vector instructions some time, together with their neighbour in a pair;
    written since by scalar and by vector instructions that may be under way.
    """

    read: int = 0
    by_scalars: int = 0
    by_vectors: int = 0

    def joined(self, other: _State) -> _State:
        return _State(self.read | other.read, self.by_scalars | other.by_scalars, self.by_vectors | other.by_vectors)


def _scalars(bits: int) -> int:
    return bits >> SCALARS & _COUNTED


def _pairs(bits: int) -> int:
    even = (bits | bits >> 1) & _EVEN
    return even | even << 1


@define(eq=False)
class Rereads:
    """Reads of scalar registers that were written while vector instructions may still read them."""

    graph: Graph
    _entries: dict[int, _State] = field(factory=dict)

    def find(self) -> Iterator[Unordered]:
        self._entries = dict.fromkeys(self.graph.order, _State())
        self._settle()
        # What is read clears what was written: only once it is known where, no hazard is carried on that it clears.
        self._entries = {start: _State(state.read) for start, state in self._entries.items()}
        self._settle()
        for start in self.graph.order:
            block = self.graph.blocks[start]
            state = self._entries[start]
            for i in range(len(block.steps)):
                yield from self._tell(state, block, i)
                state = _after(state, block, i)

    def _settle(self) -> None:
        place = {start: i for i, start in enumerate(self.graph.order)}
        pending = set(self.graph.order)
        while pending:
            start = min(pending, key=place.__getitem__)
            pending.remove(start)
            block, state = self.graph.blocks[start], self._entries[start]
            for i in range(len(block.steps)):
                state = _after(state, block, i)
            for successor in block.successors:
                joined = self._entries[successor].joined(state)
                if joined != self._entries[successor]:
                    self._entries[successor] = joined
                    pending.add(successor)

    def _tell(self, state: _State, block: Block, index: int) -> Iterator[Unordered]:
        step = block.steps[index]
        if not _counts(step):
            return
        reads = _scalars(step.reads)
        for hit, is_scalar in (
            (reads & state.by_scalars, True), (reads & state.by_vectors if _is_vector(step) else 0, False),
        ):  # fmt: skip
            if hit:
                field_name = "sa_sdst" if is_scalar else "va_vcc" if hit & _VCC else "va_sdst"
                yield Unordered(
                    block.pcs[index], self._writer(block, index, hit, is_scalar), names(hit << SCALARS),
                    "a scalar register is read that was written while a vector instruction may still read it",
                    f"s_wait_alu depctr_{field_name}(0)",
                )  # fmt: skip

    def _writer(self, block: Block, index: int, bits: int, is_scalar: bool) -> int:
        """The last instruction ahead that wrote one, in the block if there is one."""
        ahead = [*zip(block.pcs[:index], block.steps[:index], strict=True)][::-1]
        ahead += [pair for pair in self.graph.steps.items() if pair[0] != block.pcs[index]]
        return next(pc for pc, s in ahead if _scalars(s.writes) & bits and _counts(s) and _is_vector(s) != is_scalar)


def _counts(step: Step) -> bool:
    return step.unit in ("valu", "matrix", "salu", "control")


def _after(state: _State, block: Block, index: int) -> _State:
    step = block.steps[index]
    if step.unit == "smem" or (step.unit == "memory" and step.inst.encoding not in ("FLAT", "GLOBAL", "SCRATCH")):
        return _State(state.read) if state.by_scalars | state.by_vectors else state
    if step.inst.name in DEPENDENCIES:
        scalars = 0 if _waits_for_dependencies(step, 0, 1) else state.by_scalars
        vectors = state.by_vectors & (_VCC if _waits_for_dependencies(step, 9, 3) else -1)
        return _State(state.read, scalars, vectors & ~(_VCC if _waits_for_dependencies(step, 1, 1) else 0))
    if step.inst.name == "ds_nop" and all(
        s.inst.name == "ds_nop" for s in block.steps[max(0, index - CLEARING_NOPS + 1) : index + 1]
    ):
        return _State(0, state.by_scalars, state.by_vectors) if index + 1 >= CLEARING_NOPS else state
    reads, writes = _scalars(step.reads), _scalars(step.writes)
    if not (reads | writes) or not _counts(step):
        return state
    read, scalars, vectors = state.read, state.by_scalars, state.by_vectors
    if _is_vector(step):
        read |= _pairs(reads)
        new = writes & state.read
        vectors |= new
        scalars &= ~(new & _VCC)  # of VCC the last writer counts
    else:
        used = reads & state.read
        if used & ~_VCC:
            vectors &= _VCC
        if used & vectors & _VCC:
            vectors, scalars = vectors & ~_VCC, scalars & ~_VCC
        new = writes & state.read
        scalars |= new
        vectors &= ~(new & _VCC)
    return _State(read, scalars, vectors)


def find_unordered(graph: Graph) -> Iterator[Unordered]:
    """What follows too soon on what in code of gfx10.3, gfx11 or gfx12."""
    isa = graph.code.isa
    yield from find_open_windows(graph, WINDOWS.get(isa, ()))
    if isa == "gfx12":
        yield from Rereads(graph).find()
