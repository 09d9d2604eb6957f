"""Decoding of AMDGPU machine code: gfx90a, gfx940, gfx950, gfx10, gfx11, gfx12."""

from rocmkern.emulator.isa.decode import Undecodable, decode, decode_range
from rocmkern.emulator.isa.model import Dpp, Inst, Mods, Operand, Sdwa, float_bits
from rocmkern.emulator.isa.text import instruction_text

__all__ = [
    "Dpp",
    "Inst",
    "Mods",
    "Operand",
    "Sdwa",
    "Undecodable",
    "decode",
    "decode_range",
    "float_bits",
    "instruction_text",
]
