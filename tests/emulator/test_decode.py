"""Decoding equals LLVM's disassembler."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from rocmkern.emulator.isa import decode, decode_range
from rocmkern.emulator.isa.decode import BY_GENERATION, COMMON
from rocmkern.emulator.isa.table import ISAS
from rocmkern.emulator.isa.target import target
from rocmkern.errors import UnsupportedInstruction
from tests.emulator.llvm_disassembler import Disassembler

SAMPLES_PER_ENCODING = 150


@pytest.fixture(scope="module")
def llvm() -> Iterator[Disassembler]:
    with Disassembler() as disassembler:
        yield disassembler


def random_code(rng: random.Random, prefix: str) -> bytes:
    """An instruction of the encoding; bits are zero more often than not, since many must be."""
    thin = rng.choice(((), (0,), (1,), (0, 1), (1, 1)))
    words = [rng.getrandbits(32) for _ in range(4)]
    for index in thin:
        words[index] &= rng.getrandbits(32)
    free = 32 - len(prefix)
    words[0] = int(prefix, 2) << free | words[0] & ((1 << free) - 1)
    return b"".join(word.to_bytes(4, "little") for word in words)


@pytest.mark.parametrize("isa", ISAS)
def test_random_encodings_decode_as_llvm_says(isa: str, llvm: Disassembler) -> None:
    """Name and size of every encoding that LLVM accepts."""
    rng = random.Random(f"encodings of {isa}")
    wrong = []
    for prefix, _ in COMMON + BY_GENERATION[target(isa).generation]:
        for _ in range(SAMPLES_PER_ENCODING):
            code = random_code(rng, prefix)
            answer = llvm(isa, code)
            if answer is None or "/*" in answer[1]:
                continue
            size, text = answer
            name = re.sub(r"_e64_dpp$|_e32$|_e64$|_sdwa$|_dpp$", "", text.split(" ")[0])
            try:
                inst = decode(isa, code, 0)
            except UnsupportedInstruction:
                wrong.append((code.hex(), text, "unsupported"))
                continue
            if (inst.size, inst.name) != (size, name):
                wrong.append((code.hex(), text, f"{inst.name} {inst.size}"))
    assert wrong == []


def test_unknown_instructions_name_pc_and_words() -> None:
    """An opcode that the target lacks is an error that says where and what."""
    code = bytes(4) * 2 + 0x7E00FE00.to_bytes(4, "little")
    with pytest.raises(UnsupportedInstruction, match=r"gfx90a at pc 0x8: words 7e00fe00"):
        decode("gfx90a", code, 8)


def test_code_that_ends_inside_an_instruction_is_an_error() -> None:
    """The literal of s_mov_b32 s0, 0x12345678 is missing."""
    with pytest.raises(UnsupportedInstruction, match="ends inside"):
        decode("gfx940", 0xBE8000FF.to_bytes(4, "little"), 0)


def test_a_range_is_decoded_instruction_by_instruction() -> None:
    """s_mov_b32 with a literal is 8 bytes, s_endpgm 4."""
    words = (0xBE8000FF, 0x12345678, 0xBF810000)
    code = b"".join(word.to_bytes(4, "little") for word in words)
    first, second = decode_range("gfx90a", code, 0, 12)
    assert (first.name, first.size, first.src[0].value) == ("s_mov_b32", 8, 0x12345678)
    assert (second.pc, second.name) == (8, "s_endpgm")
