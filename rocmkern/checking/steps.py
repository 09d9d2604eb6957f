"""What the checks know of an instruction wherever it stands: registers, memory operation, waits, where it leads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import define, field

from rocmkern.checking.counters import MEMORY_ENCODINGS, Counters, Operation, Wait, counters, operation, waits
from rocmkern.checking.registers import EXEC_BITS, IMPLICIT, M0_BIT, bits_of
from rocmkern.emulator.isa import decode
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.isa.target import target
from rocmkern.emulator.meaning import row_of

VECTOR: Final = frozenset({"VOP1", "VOP2", "VOP3", "VOPC", "VOP3P", "VOPD"})
LONGEST: Final = 16  # bytes
INDEXING: Final = ("s_set_gpr_idx", "v_movrel", "s_movrel", "v_swaprel")


Roles = tuple[tuple[int, int], ...]  # (number of the rule, registers at stake)


@define(eq=False)
class Step:
    """One instruction. `unit` is valu, matrix, memory (vector), lds, smem, salu or control."""

    inst: Inst
    size: int
    unit: str
    reads: int
    writes: int
    touches: int
    operation: Operation | None
    waits: Wait
    is_barrier: bool
    ends: bool  # nothing follows it
    branches: bool  # to `Inst.target` from its own place
    jump: str  # "call", "jump", "far call": where it goes is in registers, or for "far call" in the word; else ""
    unclear: str  # why the checks don't see all of it; "" if they do
    roles: tuple[Roles, Roles, int] | None = None  # as first and as second of wait state rules, what the first has


def _unit(inst: Inst) -> str:
    if inst.encoding in VECTOR:
        return "matrix" if inst.name.startswith(("v_mfma", "v_smfmac", "v_wmma", "v_swmmac")) else "valu"
    if inst.encoding in MEMORY_ENCODINGS:
        return "memory"
    return {"DS": "lds", "SMEM": "smem", "SOPP": "control"}.get(inst.encoding, "salu")


def _registers(isa: str, inst: Inst) -> tuple[int, int]:
    """The registers that it reads and writes."""
    row = row_of(isa, inst.name)
    reads, writes = bits_of(inst.src), bits_of(inst.dst)
    for part in inst.parts:
        part_reads, part_writes = _registers(isa, part)
        reads, writes = reads | part_reads, writes | part_writes
    if row is not None:
        for kind in row.sources:
            reads |= IMPLICIT.get(kind, 0)
            if kind.startswith("^"):
                reads |= bits_of(inst.dst[:1])
        for kind in row.destinations:
            writes |= IMPLICIT.get(kind, 0)
    if inst.encoding in VECTOR or inst.encoding in MEMORY_ENCODINGS or inst.encoding == "DS":
        reads |= EXEC_BITS
    if inst.mods.lds or "load_lds" in inst.name or "addtid" in inst.name:
        reads |= M0_BIT
    return reads, writes


JUMPS: Final = {
    "s_setpc_b64": "jump", "s_swappc_b64": "call", "s_call_b64": "far call", "s_rfe_b64": "jump",
    "s_rfe_restore_b64": "jump", "s_cbranch_join": "jump", "s_cbranch_g_fork": "jump", "s_cbranch_i_fork": "jump",
}  # fmt: skip


def _unclear(inst: Inst) -> str:
    if inst.name.startswith(INDEXING):
        return "registers chosen as the code runs"
    if inst.mods.lds or "load_lds" in inst.name:
        return "loads straight to LDS"
    return "skipped vector instructions" if inst.name == "s_setvskip" else ""


def _step(isa: str, inst: Inst, held: Counters) -> Step:
    reads, writes = _registers(isa, inst)
    name, begun = inst.name, operation(isa, inst, held)
    if begun is not None and begun.result:
        writes = begun.result
    is_control = inst.encoding == "SOPP"
    return Step(
        inst,
        inst.size,
        _unit(inst),
        reads,
        writes,
        reads | writes,
        begun,
        waits(inst, held),
        name in ("s_barrier", "s_barrier_signal", "s_barrier_signal_isfirst"),
        is_control and (name.startswith("s_endpgm") or name in ("s_branch", "s_code_end")),
        is_control and name.startswith(("s_branch", "s_cbranch")),
        JUMPS.get(name, ""),
        _unclear(inst),
    )


Tree = dict[int, "Step | Tree"]


@define(eq=False)
class Steps:
    """The instructions of one text. Equal words mean the same step, so each is decoded once."""

    isa: str
    text: bytes
    words: Sequence[int]
    held: Counters
    _known: Tree = field(factory=dict)

    @staticmethod
    def of(isa: str, text: bytes) -> Steps:
        whole = memoryview(text[: len(text) // 4 * 4]).cast("I")
        return Steps(isa, text, whole, counters(target(isa).generation))

    def at(self, pc: int) -> Step:
        """The instruction at a byte offset. Raises UnsupportedInstruction, IndexError behind the text."""
        words, i = self.words, pc >> 2
        node: Step | Tree | None = self._known.get(words[i])
        while node.__class__ is dict:
            i += 1
            node = node.get(words[i]) if i < len(words) else None
        if node is not None:
            return node  # type: ignore[return-value]
        inst = decode(self.isa, self.text[pc : pc + LONGEST], 0)
        step = _step(self.isa, inst, self.held)
        if inst.name != "v_mfma_ld_scale_b32" and inst.size < LONGEST:  # what follows says how long these are
            self._keep(pc >> 2, step)
        return step

    def _keep(self, i: int, step: Step) -> None:
        node = self._known
        for word in self.words[i : i + step.size // 4 - 1]:
            below = node.setdefault(word, {})
            assert isinstance(below, dict)
            node = below
        node[self.words[i + step.size // 4 - 1]] = step
