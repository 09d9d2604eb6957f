"""The floating-point bits of the MODE register: how results round, whether denormals count, what a NaN becomes.

Bits 0 to 1 say how f32 rounds, 2 to 3 how f16 and f64 do: 0 to nearest even, 1 up, 2 down, 3 toward zero. Bits 4 to 5
(f32) and 6 to 7 (f16 and f64) keep denormal operands and denormal results. Bit 8 lets clamp take NaN to 0, bit 9 lets
minimum and maximum give a signalling NaN (gfx12 has neither bit, and does both), bit 23 holds f16 and floats of eight
bits that overflow at the largest number.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from attrs import frozen

from rocmkern.emulator.ir import Value

ROUNDING: Final = 0x0F
DENORMALS: Final = 0xF0
CLAMPS_NAN: Final = 8
IEEE: Final = 9
HALF_OVERFLOW: Final = 23
SKIPS_VECTORS: Final = 28  # gfx9
FLOAT_BITS: Final = ROUNDING | DENORMALS | 1 << CLAMPS_NAN | 1 << IEEE | 1 << HALF_OVERFLOW
SINGLES: Final = 0x30  # of DENORMALS, those of f32
EXPONENT: Final[dict[str, int]] = {"half": 0x7C00, "float": 0x7F800000, "double": 0x7FF << 52}


def usual(isa: str) -> int:
    """The mode that compilers ask for, and that code is translated for which never changes it."""
    return DENORMALS if isa == "gfx12" else DENORMALS | 1 << CLAMPS_NAN | 1 << IEEE


KEEP: Final = 0x1F80  # MXCSR: exceptions masked, to nearest, denormals kept
FLUSH: Final = KEEP | 1 << 15 | 1 << 6


class Translated(Enum):
    """For what code is translated."""

    USUALLY = ""
    WITH_OMOD = "omod"  # which counts where f32 denormals are flushed and IEEE mode is off
    BY_MODE = "by mode"  # instructions look MODE up as they run


@frozen
class FloatMode:
    """What a kernel has of MODE."""

    initial: int  # MODE when a wave starts
    translated: Translated = Translated.USUALLY
    flushes: bool = False  # f32 denormals, as the CPU can do it all along

    @property
    def of_cpu(self) -> int:
        """MXCSR while the kernel runs."""
        return FLUSH if self.flushes else KEEP


@frozen
class Mode:
    """MODE while one instruction runs: an i32 of the emitted code."""

    word: Value
    isa: str

    def bit(self, number: int) -> Value:
        return (self.word & (1 << number)).ne(0)

    @property
    def clamps_nan(self) -> Value:
        return self.word.writer.constant("i1", 1) if self.isa == "gfx12" else self.bit(CLAMPS_NAN)

    @property
    def is_ieee(self) -> Value:
        return self.word.writer.constant("i1", 1) if self.isa == "gfx12" else self.bit(IEEE)

    def modifies_output(self, element: str) -> Value:
        """Whether omod counts: IEEE mode and denormal results make it nothing."""
        keeps = self.bit(_denormal_bit(element, 1))
        return ~keeps if self.isa == "gfx12" else ~(keeps | self.bit(IEEE))

    def taken(self, operand: Value) -> Value:
        """An operand, 0 where it is a denormal that does not count."""
        return self._flushed(operand, 0)

    def given(self, result: Value) -> Value:
        """A result, 0 where it is a denormal that does not count."""
        return self._flushed(result, 1)

    def _flushed(self, value: Value, which: int) -> Value:
        bits = value.as_int()
        small = (bits & EXPONENT[value.element]).eq(0) & ~self.bit(_denormal_bit(value.element, which))
        return small.select(bits & (1 << (value.width - 1)), bits).bits(value.element)

    def rounding(self, *, is_single: bool) -> Value:
        """0 to 3, i32."""
        return (self.word if is_single else self.word.lshr(2)) & 3


def _denormal_bit(element: str, which: int) -> int:
    return (4 if element == "float" else 6) + which
