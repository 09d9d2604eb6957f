"""Decoding equals LLVM's disassembler: size, mnemonic, operands, modifiers."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from rocmkern import codeobject
from rocmkern.codeobject import CodeObject
from rocmkern.emulator.isa import Inst, decode, decode_range, instruction_text
from rocmkern.emulator.isa.decode import BY_GENERATION, COMMON
from rocmkern.emulator.isa.table import CDNA, ISAS
from rocmkern.emulator.isa.target import target
from rocmkern.errors import UnsupportedInstruction
from rocmkern.kernels import families, shipped
from rocmkern.targets import BUILT
from tests.emulator.llvm_disassembler import Disassembler
from tests.samples import compile_hip

SAMPLES_PER_ENCODING = 200
GRAPHICS = ("v_interp_", "ds_gws_", "lds_param_", "lds_direct_", "ds_param_", "ds_direct_")
# LLVM spells these immediates in words; the decoder shows the number
CODED_IMMEDIATE = ("s_delay_alu", "s_waitcnt_depctr", "s_wait_alu", "s_sendmsg", "s_version", "s_set_gpr_idx_")

VARIED = """
typedef _Float16 half;
KERNEL void varied(const float *x, const half *h, double *d, float *out, int n, unsigned char b, long m) {
    __attribute__((shared)) static float staged[256];
    int lane = __builtin_amdgcn_workitem_id_x();
    int i = __builtin_amdgcn_workgroup_id_x() * 256 + lane;
    staged[lane] = i < n ? x[i] * 3.0f + (float)h[i] : b;
    __builtin_amdgcn_s_barrier();
    float sum = 0;
    for (int k = 0; k < lane; ++k) sum += staged[k] / staged[lane];
    d[i] = __builtin_sqrt(d[i]) + (double)sum * m;
    __atomic_fetch_add((int *)out, (int)sum % 7, __ATOMIC_RELAXED);
    out[i + 1] = __builtin_amdgcn_ds_bpermute(lane ^ 3, i) + (float)(h[i] * h[i + 1]);
}
"""
COMPILED = {
    "gfx90a": "gfx90a",
    "gfx942": "gfx940",
    "gfx950": "gfx950",
    "gfx1030": "gfx10",
    "gfx1100": "gfx11",
    "gfx1151": "gfx11",
    "gfx1201": "gfx12",
}


@pytest.fixture(scope="module")
def llvm() -> Iterator[Disassembler]:
    with Disassembler() as disassembler:
        yield disassembler


def normal(text: str) -> str:
    """Both spellings of what LLVM has two spellings for, or words for a number."""
    text = text.split(" ; ")[0]  # its warnings
    text = re.sub(r"\b0x[0-9a-f]+", lambda m: str(int(m[0], 16)), text)
    text = re.sub(r"\b4294967295$", "-1", text)  # a literal that could be an inline constant
    text = re.sub(r" (th|scope|format):\S+| offset:swizzle\(.*\)|hwreg\([^)]*\)", "", text)
    text = re.sub(r" offset:0$| offset:0(?= )| gds\b| nv\b| scale_offset\b", "", text)
    text = re.sub(r" offset:\d+$", "", text) if text.startswith("ds_swizzle") else text
    return text.split(" ")[0] if text.startswith(CODED_IMMEDIATE) else text


def meaningless_bits_dropped(ours: str, theirs: str) -> bool:
    """Whether the texts differ by modifiers that the instruction lacks and LLVM leaves out."""
    plain = re.sub(r"neg\(([^)]*)\)|[-|]", r"\1", ours)
    if plain == re.sub(r"neg\(([^)]*)\)|[-|]", r"\1", theirs):
        return len(ours) > len(theirs)
    halves = re.compile(r"\.[hl]\b| op_sel:\S+")
    return "op_sel" not in theirs and halves.sub("", plain) == halves.sub(
        "", re.sub(r"neg\(([^)]*)\)|[-|]", r"\1", theirs)
    )


def difference(isa: str, inst: Inst, answer: tuple[int, str]) -> str | None:
    """What tells our decoding from LLVM's, None where nothing does."""
    size, theirs = answer
    ours = instruction_text(isa, inst)
    if inst.size == size and ours == theirs:
        return None
    ours, theirs = normal(ours), normal(theirs)
    if inst.size == size and (ours == theirs or meaningless_bits_dropped(ours, theirs)):
        return None
    return f"{ours} ({inst.size} bytes) is not {theirs} ({size} bytes)"


def takes_what_is_not(isa: str, text: str) -> bool:
    """Whether LLVM prints an operand that the manuals exclude: null on GFX9, registers past the last, specials.

    Specials are read by scalar fields and by most of the vector ALU; LLVM takes them where registers alone may stand,
    and constants where a number of a register is added to M0.
    """
    if text.startswith("s_movrelsd_2_b32"):
        return True
    past = any(int(last) >= 256 for last in re.findall(r"\b[va]\[\d+:(\d+)\]", text))
    return past or (isa in CDNA and "null" in text) or bool(re.search(r"\bsrc_\w+", text))


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
    """Every encoding that LLVM accepts as valid, in every format, but for graphics."""
    rng = random.Random(f"encodings of {isa}")
    wrong = []
    seen = 0
    for prefix, _ in COMMON + BY_GENERATION[target(isa).generation]:
        for _ in range(SAMPLES_PER_ENCODING):
            code = random_code(rng, prefix)
            answer = llvm(isa, code)
            if answer is None or "/*" in answer[1] or answer[1].startswith(GRAPHICS):
                continue
            if isa in CDNA and answer[0] == 12 and answer[1].startswith("v_"):
                continue  # VOP3 with a literal, which GFX9 has not
            seen += 1
            try:
                found = difference(isa, decode(isa, code, 0), answer)
            except UnsupportedInstruction as error:
                is_operand = "no such operand" in str(error) and takes_what_is_not(isa, answer[1])
                found = None if is_operand else f"{answer[1]} is unsupported"
            if found:
                wrong.append(f"{code.hex()}: {found}")
    assert wrong == []
    assert seen > 600


def test_matrix_operands_of_eight_six_and_four_bits(llvm: Disassembler) -> None:
    """Their formats give the register counts; scales that stand before them make one instruction of 16 bytes."""
    rng = random.Random(8)
    wrong = []
    for _ in range(300):
        head = 0xD3AD0000 | rng.getrandbits(1) << 16 | rng.randrange(5) << 8 | 8
        tail = (256 + 20) | (256 + 40) << 9 | (256 + 60) << 18 | rng.randrange(5) << 29
        words = [head, tail]
        if rng.getrandbits(1):
            scales = [0xD3AC0000 | rng.getrandbits(2) << 11, (256 + 70) | (256 + 71) << 9 | rng.getrandbits(2) << 27]
            words = [*scales, head | 1 << 11, tail]
        code = b"".join(word.to_bytes(4, "little") for word in words) + bytes(8)
        answer = llvm("gfx950", code)
        if answer is None or "/*" in answer[1]:
            continue
        found = difference("gfx950", decode("gfx950", code, 0), answer)
        if found:
            wrong.append(found)
    assert wrong == []


BATCH = 256
_compared: dict[str, set[bytes]] = {}  # by decoder


def assert_decodes_as_llvm_says(isa: str, code_object: CodeObject, llvm: Disassembler) -> int:
    """Compare every instruction of every function, equal words once in all files; how many there were."""
    count = 0
    compared = _compared.setdefault(isa, set())
    new: list[tuple[Inst, bytes]] = []
    for segment in (s for s in code_object.segments if s.flags & 1):
        for address, size in sorted(set(code_object.symbols.values())):
            start = address - segment.address
            if not size or not 0 <= start < len(segment.data):
                continue
            for inst in decode_range(isa, segment.data, start, start + size):
                count += 1
                words = segment.data[inst.pc : inst.pc + inst.size]
                if words not in compared:
                    compared.add(words)
                    new.append((inst, segment.data[inst.pc : inst.pc + 16]))
    wrong = []
    for first in range(0, len(new), BATCH):
        part = new[first : first + BATCH]
        for (inst, code), answer in zip(part, llvm.all(isa, [code for _, code in part]), strict=True):
            found = difference(isa, inst, answer) if answer else f"{code.hex()}: LLVM knows no such instruction"
            if found:
                wrong.append(f"{inst.pc:#x}: {found}")
    assert wrong == []
    return count


@pytest.mark.parametrize("arch", COMPILED)
def test_compiled_code_decodes_as_llvm_says(arch: str, llvm: Disassembler) -> None:
    """A kernel with LDS, loops, f16, f64, atomics and divisions."""
    code_object = codeobject.read(compile_hip(VARIED, target=arch))
    assert assert_decodes_as_llvm_says(COMPILED[arch], code_object, llvm) > 200


SHIPPED = [(family, target) for target in BUILT for family in families.names()]
FAMILY = {"gfx10-3-generic": "gfx10", "gfx11-generic": "gfx11", "gfx12-generic": "gfx12", "gfx942": "gfx940"}


@pytest.mark.parametrize(("family", "target"), SHIPPED)
def test_shipped_code_decodes_as_llvm_says(family: str, target: str, llvm: Disassembler) -> None:
    """Every instruction of every shipped code object."""
    code_object = codeobject.read(shipped.pieces(family)[target].entry.data)
    assert assert_decodes_as_llvm_says(FAMILY.get(target, target), code_object, llvm) > 0


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
