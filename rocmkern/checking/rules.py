"""Which instructions need states between them, for each target, as AMD's ISA documents and LLVM have it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from attrs import frozen

from rocmkern.checking.registers import EXEC_BITS, M0_BIT, SCALAR_BITS, VCC_BITS, VECTOR_BITS, bits_of
from rocmkern.checking.steps import Step
from rocmkern.emulator.isa.table import CDNA

Role = Callable[[Step], int]


@frozen(eq=False)
class Rule:
    """`then` must not come within so many states of `first` where the two share a bit.

    reach   the most states that it ever asks for
    states  how many these two need
    """

    text: str
    reach: int
    first: Role
    then: Role
    states: Callable[[Step, Step], int]
    is_of_registers: bool = True
    remedy: str = ""


def _fixed(text: str, states: int, first: Role, then: Role, *, is_of_registers: bool = True) -> Rule:
    return Rule(text, states, first, then, lambda one, other: states, is_of_registers)


CONSTANTS: Final = SCALAR_BITS & ~EXEC_BITS
LANES: Final = ("v_readlane", "v_readfirstlane", "v_writelane")
READS_LANE: Final = ("v_readlane", "v_readfirstlane")
TRANSCENDENTAL: Final = ("v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_")
BY_M0: Final = ("s_sendmsg", "s_movrel", "v_movrel")


def _is_vector(step: Step) -> bool:
    return step.unit in ("valu", "matrix")


def _vector_scalars(step: Step) -> int:
    """Scalar registers that a vector instruction writes, EXEC left out."""
    return step.writes & CONSTANTS if step.unit == "valu" else 0


def _vector_exec(step: Step) -> int:
    return step.writes & EXEC_BITS if step.unit == "valu" else 0


def _vector_registers(step: Step) -> int:
    return step.writes & VECTOR_BITS if step.unit == "valu" else 0


def _memory_scalars(step: Step) -> int:
    return step.reads & CONSTANTS if step.unit == "memory" else 0


def _constants(step: Step) -> int:
    return step.reads & CONSTANTS if _is_vector(step) else 0


def _division(step: Step) -> int:
    return VCC_BITS if step.inst.name.startswith("v_div_fmas") else 0


def _lane_choice(step: Step) -> int:
    return bits_of(step.inst.src[1:2]) if step.inst.name.startswith(("v_readlane", "v_writelane")) else 0


def _moved_lanes(step: Step) -> int:
    return bits_of(step.inst.src[:1]) & VECTOR_BITS if step.inst.mods.dpp else 0


def _moves_by_exec(step: Step) -> int:
    return EXEC_BITS if step.inst.mods.dpp else 0


def _lane_access(step: Step) -> int:
    return EXEC_BITS if step.inst.name.startswith(LANES) else 0


def _read_lane(step: Step) -> int:
    return step.reads & VECTOR_BITS if step.inst.name.startswith(READS_LANE) else 0


def _set_register(step: Step) -> int:
    return 1 << (step.inst.imm & 63) if step.inst.name.startswith("s_setreg") else 0


def _hardware_register(step: Step) -> int:
    return 1 << (step.inst.imm & 63) if step.inst.name.startswith(("s_setreg", "s_getreg")) else 0


def _scalar_m0(step: Step) -> int:
    return step.writes & M0_BIT if step.unit == "salu" else 0


def _use_of_m0(step: Step) -> int:
    inst = step.inst
    by_address = inst.mods.lds or "load_lds" in inst.name or "addtid" in inst.name
    return M0_BIT if inst.mods.gds or by_address or inst.name.startswith(BY_M0) else 0


def _wide_data(step: Step) -> int:
    """Vector registers of more than two dwords that a store reads after the next instruction has begun."""
    data = step.inst.src[3:] if step.inst.encoding in ("MUBUF", "MTBUF") else step.inst.src[2:]
    return bits_of(data) if step.unit == "memory" and data and data[0].count > 2 else 0


def _wide_data_at_once(step: Step) -> int:
    """The same, without buffers that have an offset in a scalar register."""
    is_buffer = step.inst.encoding in ("MUBUF", "MTBUF")
    return 0 if is_buffer and step.inst.src and step.inst.src[2].kind == "s" else _wide_data(step)


def _overwritten(step: Step) -> int:
    return step.writes & VECTOR_BITS if _is_vector(step) else 0


def _is_transcendental(step: Step) -> bool:
    return step.unit == "valu" and step.inst.name.startswith(TRANSCENDENTAL)


def _transcendental(step: Step) -> int:
    return step.writes & VECTOR_BITS if _is_transcendental(step) else 0


def _plain_reads(step: Step) -> int:
    return step.reads & VECTOR_BITS if _is_vector(step) and not _is_transcendental(step) else 0


def _vector_reads(step: Step) -> int:
    return step.reads & VECTOR_BITS if _is_vector(step) else 0


def _partial(step: Step) -> int:
    """Registers of which a part is written by a selection."""
    mods = step.inst.mods
    is_part = (mods.sdwa is not None and mods.sdwa.dst_sel != 6) or (step.inst.encoding == "VOP3" and mods.op_sel & 8)
    return step.writes & VECTOR_BITS if is_part else 0


def _swapped(step: Step) -> int:
    return step.touches & VECTOR_BITS if re.match(r"v_permlane(16|32)_swap", step.inst.name) else 0


def _is_dot(step: Step) -> bool:
    return step.inst.name.startswith("v_dot")


def _dot(step: Step) -> int:
    return step.writes & VECTOR_BITS if _is_dot(step) else 0


def _plain_registers(step: Step) -> int:
    return 0 if _is_dot(step) else _vector_registers(step)


def _matrix_exec(step: Step) -> int:
    return EXEC_BITS if step.unit == "matrix" else 0


def _matrix_reads(step: Step) -> int:
    return step.reads & VECTOR_BITS if step.unit == "matrix" else 0


def _dot_states(first: Step, then: Step) -> int:
    """None between equal ones that only add to what the first gave."""
    if then.inst.name != first.inst.name:
        return 3
    return 3 if first.writes & bits_of(then.inst.src[:2]) else 0


def _vector_touches(step: Step) -> int:
    return step.touches & VECTOR_BITS if _is_vector(step) else 0


# Matrix instructions.


def _product(step: Step) -> int:
    return step.writes & VECTOR_BITS if step.unit == "matrix" else 0


def _addend(step: Step) -> int:
    return bits_of(step.inst.src[2:3]) & VECTOR_BITS if step.unit == "matrix" else 0


def _factors(step: Step) -> int:
    return bits_of((*step.inst.src[:2], *step.inst.src[3:])) if step.unit == "matrix" else 0


def _sum_read(step: Step) -> int:
    """An addend that a multiplication of the same target may still be reading."""
    return _addend(step) if not _is_double(step) else 0


def _valu_reads(step: Step) -> int:
    return step.reads & VECTOR_BITS if step.unit == "valu" else 0


def _memory_reads(step: Step) -> int:
    return step.reads & VECTOR_BITS if step.unit in ("memory", "lds") else 0


def _valu_writes(step: Step) -> int:
    return step.writes & VECTOR_BITS if step.unit == "valu" else 0


def _is_double(step: Step) -> bool:
    return "_f64_" in step.inst.name


def _is_small(step: Step) -> bool:
    return "_4x4x" in step.inst.name


def _is_single(step: Step) -> bool:
    """Whether it multiplies f32 as such, in the slower of the two units."""
    return bool(re.match(r"v_mfma_f32_\d+x\d+x\d+_?(\d+b_)?f32", step.inst.name))


@cache
def _passes(isa: str, name: str) -> int:
    """The passes of four cycles that a matrix instruction takes, the least where its formats decide."""
    rows, _, depth = (int(n) for n in re.findall(r"(\d+)x(\d+)x(\d+)", name)[0])
    if rows == 4:
        return 2
    if isa == "gfx90a":
        return 8 if rows == 16 else 16
    if name.startswith("v_smfmac"):
        return 4 if rows == 16 else 8
    if rows == 16:
        return 4 if depth >= 8 else 8
    return 16 if depth < 4 or (depth == 4 and "xf32" not in name) else 8


def _addend_states(isa: str) -> Callable[[Step, Step], int]:
    def states(first: Step, then: Step) -> int:
        is_same = first.inst.dst[0] == then.inst.src[2]
        if _is_double(first):
            if is_same:
                return 4 if _is_small(first) and _is_small(then) else 0
            return (4 if _is_small(first) else 9) if _is_double(then) else 0
        passes = _passes(isa, first.inst.name)
        if isa == "gfx90a":
            return 0 if is_same else passes + _is_double(then)
        if is_same:
            return 2 if passes == 2 else 0
        if _is_single(first):
            return passes if _is_single(then) or _is_double(then) else 0
        return passes + 1 + (isa == "gfx950" and passes != 2)

    return states


def _use_states(isa: str, *, by_memory: bool = False, by_vector: bool = False) -> Callable[[Step, Step], int]:
    def states(first: Step, then: Step) -> int:
        if _is_double(first):
            if by_memory:
                return 9 if _is_small(first) else 18
            return 6 if _is_small(first) else 19 if isa == "gfx950" and by_vector else 11
        passes = _passes(isa, first.inst.name)
        if isa == "gfx90a":
            return passes + 3
        if _is_single(first):
            return passes + 2
        return passes + 3 + (isa == "gfx950" and passes != 2)

    return states


def _sum_states(isa: str) -> Callable[[Step, Step], int]:
    def states(first: Step, then: Step) -> int:
        return 0 if isa != "gfx90a" and _is_single(first) else _passes(isa, first.inst.name) - 1

    return states


MATRIX_REACH: Final = 20


def _matrix_rules(isa: str) -> tuple[Rule, ...]:
    use, by_vector = _use_states(isa), _use_states(isa, by_vector=True)
    by_memory = _use_states(isa, by_memory=True)
    return (
        Rule("a matrix product is added to in another place", MATRIX_REACH, _product, _addend, _addend_states(isa)),
        Rule("a matrix product is multiplied", MATRIX_REACH, _product, _factors, use),
        Rule("a matrix product is read by a vector instruction", MATRIX_REACH, _product, _valu_reads, by_vector),
        Rule("a matrix product is read by a memory instruction", MATRIX_REACH, _product, _memory_reads, by_memory),
        Rule("a matrix product is overwritten", MATRIX_REACH, _product, _valu_writes, use),
        Rule("what a matrix product is added to is overwritten", 15, _sum_read, _valu_writes, _sum_states(isa)),
    )


GFX9: Final = (
    _fixed("a vector instruction writes scalars that a memory access reads", 5, _vector_scalars, _memory_scalars),
    _fixed("a vector instruction writes VCC, v_div_fmas reads it", 4, _vector_scalars, _division),
    _fixed("a vector instruction writes the number of a lane", 4, _vector_scalars, _lane_choice),
    _fixed("a vector instruction writes what DPP moves", 2, _vector_registers, _moved_lanes),
    _fixed("a vector instruction writes EXEC before DPP", 5, _vector_exec, _moves_by_exec),
    _fixed("s_setreg and the same hardware register", 2, _set_register, _hardware_register, is_of_registers=False),
    _fixed("a scalar instruction writes M0 that is used at once", 1, _scalar_m0, _use_of_m0),
    _fixed("a vector instruction writes EXEC before a matrix product", 4, _vector_exec, _matrix_exec),
    _fixed("a vector instruction writes what a matrix product reads", 2, _plain_registers, _matrix_reads),
    Rule("another instruction takes a dot product", 3, _dot, _vector_touches, _dot_states),
)
GFX90A: Final = (
    *GFX9,
    _fixed("the data of a wide store is overwritten", 1, _wide_data_at_once, _overwritten),
)
GFX940: Final = (
    *GFX9,
    _fixed("the data of a wide store is overwritten", 2, _wide_data_at_once, _overwritten),
    _fixed("the data of a wide buffer store is overwritten", 1, _wide_data, _overwritten),
    _fixed("a vector instruction writes scalars that the next one reads", 2, _vector_scalars, _constants),
    _fixed("a vector instruction writes EXEC before access to a lane", 4, _vector_exec, _lane_access),
    _fixed("a vector instruction writes what a lane is read of", 1, _vector_registers, _read_lane),
    _fixed("the result of a transcendental function is read at once", 1, _transcendental, _plain_reads),
    _fixed("a part of a register is written and read at once", 1, _partial, _vector_reads),
)
GFX950: Final = (
    *GFX940,
    _fixed("a vector instruction writes what v_permlane_swap exchanges", 2, _vector_registers, _swapped),
)


@cache
def rules(isa: str) -> tuple[Rule, ...]:
    """The rules of gfx90a, gfx940, gfx950, gfx10, gfx11 or gfx12."""
    if isa not in CDNA:
        return ()
    return {"gfx90a": GFX90A, "gfx940": GFX940, "gfx950": GFX950}[isa] + _matrix_rules(isa)
