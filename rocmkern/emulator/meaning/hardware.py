"""Hardware registers and the split barrier."""

from __future__ import annotations

from typing import Final

from rocmkern.emulator.ir import Value
from rocmkern.emulator.isa.model import Inst, Operand
from rocmkern.emulator.meaning.api import Context, Result, State, control, salu, state
from rocmkern.emulator.mode import DENORMALS, ROUNDING, SKIPS_VECTORS

MODE: Final = 1
SCRATCH_BASES: Final = (20, 21)  # gfx10 to gfx12: scratch is the wave's own, wherever its base is said to be


def hardware_field(imm: int) -> tuple[int, int, int]:
    """Register number, mask of the field in place, and shift."""
    shift, width = imm >> 6 & 31, (imm >> 11 & 31) + 1
    return imm & 63, ((1 << width) - 1) << shift, shift


def _unknown_register(inst: Inst, isa: str, wave_size: int) -> str:
    register, mask, _ = hardware_field(inst.imm)
    if register == MODE or (register in SCRATCH_BASES and isa in ("gfx10", "gfx11", "gfx12")):
        return ""
    return f"({inst.name}) sets bits {mask:#x} of hardware register {register}, which the emulator has not"


@state("s_setreg_b32 s_setreg_imm32_b32", fault=_unknown_register)
def set_register(s: State) -> None:
    """Sets bits of MODE; writes of scratch bases do nothing; other registers are not known."""
    register, mask, shift = hardware_field(s.inst.imm)
    if register == MODE:
        _set_mode(s, mask, s.scalar(0).shl(shift))


def _set_mode(s: State, mask: int, bits: Value) -> None:
    w = s.context.writer
    w.store((w.load(s.mode(), "i32", 0, 4) & (mask ^ 0xFFFFFFFF)) | (bits & mask), s.mode(), 4)


@state("s_getreg_b32")
def get_register(s: State) -> None:
    """MODE; clock and place in the device read as 0, there is only this wave."""
    register, mask, shift = hardware_field(s.inst.imm)
    w = s.context.writer
    word = w.load(s.mode(), "i32", 0, 4) if register == MODE else w.constant("i32", 0)
    s.write_scalar((word & mask).lshr(shift))


@state("s_round_mode")
def set_rounding(s: State) -> None:
    """Sets the four bits of MODE that say how results are rounded."""
    _set_mode(s, ROUNDING, s.context.writer.constant("i32", s.inst.imm & 0xF))


@state("s_denorm_mode")
def set_denormals(s: State) -> None:
    """Sets the four bits of MODE that say which denormals count."""
    _set_mode(s, DENORMALS, s.context.writer.constant("i32", s.inst.imm << 4 & DENORMALS))


@salu("s_set_gpr_idx_on", "m0 = b32 m0")
def index_registers(c: Context, index: Value, old: Value) -> Result:
    """The index and what it is added to; the translator marks the instructions up to s_set_gpr_idx_off."""
    return (old & ~0xF0FF) | (index & 0xFF) | (c.mods.gpr_index << 12)


@salu("s_set_gpr_idx_mode", "m0 = m0")
def index_mode(c: Context, old: Value) -> Result:
    """What the index is added to."""
    return (old & ~0xF000) | (c.mods.gpr_index << 12)


@salu("s_set_gpr_idx_idx", "m0 = b32 m0")
def index_value(c: Context, index: Value, old: Value) -> Result:
    """The index alone."""
    return (old & ~0xFF) | (index & 0xFF)


control("s_set_gpr_idx_off", "nop")


@state("s_setvskip", "= b32 b32")
def set_skipping(s: State) -> None:
    """Sets the bit of MODE that says to skip vector instructions; the translator marks those that follow."""
    bit = s.scalar(0).lshr(s.scalar(1) & 31) & 1
    _set_mode(s, 1 << SKIPS_VECTORS, bit.shl(SKIPS_VECTORS))


# Who signals waits before it goes on to anything that depends on it, so the wait is the whole barrier.
control("s_barrier_wait", "barrier")


def _other_barrier(inst: Inst, isa: str, wave_size: int) -> str:
    return "" if inst.src[0] == Operand("int", -1) else f"({inst.name}) is for another barrier than -1, the workgroup's"


def _signal(s: State) -> Value:
    """How many waves had signalled before this one."""
    w = s.context.writer
    count = w.load(s.signals(), "i64", 0, 8)
    w.store(count + 1, s.signals(), 8)
    return count


@state("s_barrier_signal", fault=_other_barrier)
def signal(s: State) -> None:
    """Counts the wave."""
    _signal(s)


@state("s_barrier_signal_isfirst", "scc = b32", fault=_other_barrier)
def signal_first(s: State) -> None:
    """SCC: no wave of the workgroup has signalled before."""
    s.write_scc(_signal(s).eq(0))


control("s_wakeup s_ttracedata_imm s_gl1_inv s_version s_dcache_inv_vol s_dcache_wb_vol", "nop")
