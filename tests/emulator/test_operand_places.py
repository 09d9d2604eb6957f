"""No operand reaches past the registers: neither one that code names nor one that a row of the table is wrong about."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2s

import pytest
from attrs import evolve

from rocmkern.emulator.flow import Flow
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa import Inst, Operand, decode
from rocmkern.emulator.isa.decode import BY_GENERATION, COMMON
from rocmkern.emulator.isa.table import CDNA, ISAS
from rocmkern.emulator.isa.target import target as decoding
from rocmkern.emulator.meaning import ROWS, Row
from rocmkern.emulator.meaning.api import Context, State
from rocmkern.emulator.observers.checker import CHECKED
from rocmkern.emulator.observers.seam import NOBODY
from rocmkern.emulator.pieces import NoMeaning, meaning_of
from rocmkern.emulator.tier0 import HandlerBuilder, fields, shape
from rocmkern.emulator.tier1 import Hot, UnitBuilder
from rocmkern.errors import UnsupportedInstruction
from tests.emulator.operand_places import Site, is_known, operands, sites
from tests.emulator.test_decode import random_code

SAMPLE = 32  # of so many places one is built in the short run
SEEDS = 300
ALL = [pytest.param(1, id="all", marks=pytest.mark.slow), pytest.param(SAMPLE, id="sample")]
BORDERS = {"gfx90a": 24000, "gfx940": 25000, "gfx950": 27000, "gfx10": 17000, "gfx11": 19000, "gfx12": 20000}


def is_refused(action: Callable[[], object]) -> bool:
    """Whether it ends with the error that is documented, and not with another one."""
    try:
        action()
    except UnsupportedInstruction:
        return True
    return False


def wave_size(isa: str) -> int:
    return 64 if isa in CDNA else 32


def borders(isa: str) -> Iterator[tuple[Site, int, bytes]]:
    """Every operand around every end of its file, as code; the number of its first register."""
    for site in sites(isa):
        for first in site.borders():
            code = site.at(first)
            if code is not None:
                yield site, first, code


@pytest.mark.parametrize("isa", ISAS)
def test_operands_end_with_the_last_register(isa: str) -> None:
    """Every row decodes with every operand at the last registers of a file, and with none a register further."""
    wrong, count = [], 0
    for site, first, code in borders(isa):
        count += 1
        if is_known(isa, code) != site.is_legal(first):
            wrong.append(f"{site}, at {first}")
        elif site.is_legal(first):
            found = operands(decode(isa, code, 0))
            if site.operand(first) not in found and not any(o.kind == "off" for o in found):
                wrong.append(f"{site}, at {first}: {found}")
    assert wrong == []
    assert count > BORDERS[isa]


@pytest.mark.parametrize("isa", ISAS)
def test_any_bytes_decode_or_are_refused(isa: str) -> None:
    """With the error that is documented, also where the code ends in the middle."""
    rng = random.Random(f"bytes of {isa}")
    refused = 0
    for prefix, _ in COMMON + BY_GENERATION[decoding(isa).generation]:
        for _ in range(SEEDS):
            code = random_code(rng, prefix)
            for size in (4, 6, 8, 12, 16):
                refused += is_refused(partial(decode, isa, code[:size], 0))
    assert refused > SEEDS


@pytest.mark.parametrize(
    ("isa", "words", "fact"),
    [
        ("gfx940", "c0121f02 00000000", "(s_load_dwordx16 m0, s[4:5], 0x0) has no such operand: m0 is one dword"),
        ("gfx940", "d3d080ff 04025328", "a[255:286] reaches past a255"),
        ("gfx940", "d3c40004 04622ac1", "an inline constant stands where a vector register is wanted"),
        ("gfx940", "d3c40004 01922b14", "s[100:115] reaches past its group of scalar registers"),
        ("gfx940", "e0111000 80020001", "its data can't go to LDS"),
        ("gfx11", "dc5e0000 ff040001", "(global_load_b128 v[255:258], v1, s[4:5]) has no such operand"),
        ("gfx11", "cc4040ff 1c621100", "v[255:262] reaches past v255"),
        ("gfx940", "7e0202d1 00000000", "source code 209 is reserved"),
        ("gfx12", "7e02027d 00000000", ""),
        ("gfx940", "7e02027d 00000000", "source code 125 is reserved"),
        ("gfx940", "7e0202fa ff017001", "DPP control 0x170 is reserved"),
        ("gfx940", "7e0202f9 00070601", "the selection of bytes is reserved"),
        ("gfx950", "d3ad0500 1c420100", "number format 5 is reserved"),
    ],
)  # fmt: skip
def test_the_error_names_the_operand(isa: str, words: str, fact: str) -> None:
    """Registers past their file, constants for registers, reserved codes; what is legal beside them is not refused."""
    code = struct.pack("<4I", *(int(word, 16) for word in words.split()), 0, 0)
    if not fact:
        assert decode(isa, code, 0).src == (Operand("s", 124),)
        return
    with pytest.raises(UnsupportedInstruction) as error:
        decode(isa, code, 0)
    assert fact in str(error.value)
    assert words.split()[0] in str(error.value)


def build(row: Row, inst: Inst, isa: str, seen: set[str]) -> None:
    """Emit what carries the instruction out: threaded, checked, called from compiled code; and compiled code."""
    size = wave_size(isa)
    fields(row, inst, isa, size)
    text = shape(inst, isa, size)
    if text not in seen:
        seen.add(text)
        for observers, plain in ((NOBODY, False), (CHECKED, False), (NOBODY, True), (CHECKED, True)):
            handler = HandlerBuilder(row, inst, isa, size, observers, plain).build("handler")
            for symbol, function in handler.accesses.items():
                if symbol not in seen:
                    seen.add(symbol)
                    function.body(Writer())
    compiled(row, inst, isa)


def compiled_flow(row: Row, inst: Inst) -> Flow:
    """The control flow of an instruction and an end."""
    return Flow({0: (row, inst), inst.size: (ROWS["s_endpgm"], Inst(inst.size, 4, "s_endpgm", "SOPP"))}, 0)


def compiled(row: Row, inst: Inst, isa: str) -> None:
    """Emit compiled code, for EXEC of ones and for any."""
    flow = compiled_flow(row, inst)
    for full in (True, False):
        versions = frozenset((block, full) for block in flow.blocks)
        UnitBuilder(flow, 0, Hot(versions), isa, wave_size(isa), {0}).build()


def meant(isa: str, one_of: int) -> Iterator[tuple[Site, int, Row, Inst]]:
    """What the emulator carries out, with an operand at the last registers."""
    for site, first, code in borders(isa):
        chosen = blake2s(f"{site} {first} {isa}".encode(), digest_size=4).digest()
        if int.from_bytes(chosen, "little") % one_of or not site.is_legal(first):
            continue
        try:
            row, inst = meaning_of(isa, code, 0)
        except NoMeaning:
            continue
        if row.fault is None or not row.fault(inst, isa, wave_size(isa)):
            yield site, first, row, inst


@pytest.mark.parametrize("one_of", ALL)
@pytest.mark.parametrize("isa", ISAS)
def test_rows_address_no_more_than_their_operands(isa: str, one_of: int) -> None:
    """Code of both tiers and of the checked mode is emitted for operands at the last registers."""
    wrong, count, seen = [], 0, set[str]()
    for site, first, row, inst in meant(isa, one_of):
        count += 1
        if is_refused(partial(build, row, inst, isa, seen)):
            wrong.append(f"{site}, at {first}")
    assert wrong == []
    assert count > 15000 // one_of // 2


@pytest.mark.parametrize("one_of", ALL)
@pytest.mark.parametrize("isa", ISAS)
def test_an_operand_past_its_file_gets_no_place(isa: str, one_of: int) -> None:
    """Were one to pass the decoder, its operation could not be written."""
    missed, count = [], 0
    for site, first, row, inst in meant(isa, one_of):
        operand = site.operand(first)
        if operand not in inst.dst or operand.value in (124, 125) or inst.parts:
            continue
        past = evolve(operand, value=(128 if site.kind == "s" else 256) - (operand.count > 1))
        further = evolve(inst, dst=tuple(past if o == operand else o for o in inst.dst))
        count += 1
        if not is_refused(partial(fields, row, further, isa, wave_size(isa))):
            missed.append(f"{site}, at {past.value}")
    assert missed == []
    assert count > 3000 // one_of // 2


def _reads_a_row_too_many(s: State) -> None:
    w = s.context.writer
    w.load(w.at(s.rows(0), 4 * s.context.wave_size), "i32", s.context.wave_size)


def _writes_behind_the_last_lane(s: State) -> None:
    w = s.context.writer
    w.store(w.constant("i32", 0, 2), w.at(s.rows("dst"), 4 * (s.context.wave_size - 1)))


def _reads_at_an_unknown_lane(s: State) -> None:
    w = s.context.writer
    w.load(w.at(s.rows(0), s.scalar(1).zext("i64")), "i32")


def _reads_the_wave(s: State) -> None:
    w = s.context.writer
    w.load(w.at(s.mode(), 4), "i32")


def _two_registers(c: Context, value: Value) -> Value:
    return value


WRONG = {
    "a row too many": Row("v_wrong", "state", emit=_reads_a_row_too_many),
    "behind the last lane": Row("v_wrong", "state", emit=_writes_behind_the_last_lane),
    "an unknown lane": Row("v_wrong", "state", emit=_reads_at_an_unknown_lane),
    "the wave's own": Row("v_wrong", "state", emit=_reads_the_wave),
    "two registers for one": Row("v_wrong", "valu", ("b64",), ("b64",), _two_registers),
}


@pytest.mark.parametrize("plain", [False, True], ids=["tier 0", "called"])
@pytest.mark.parametrize("row", WRONG.values(), ids=WRONG)
def test_a_row_that_reaches_further_is_not_built(row: Row, plain: bool) -> None:
    """Whatever it is wrong about: the number of registers, of lanes, an offset, the wave's header."""
    inst = Inst(0, 4, "v_wrong", "VOP1", (Operand("v", 255),), (Operand("v", 255), Operand("s", 105)))
    with pytest.raises(UnsupportedInstruction, match="translate: "):
        HandlerBuilder(row, inst, "gfx940", 64, plain=plain).build("handler")


def test_compiled_code_takes_no_register_that_the_operand_has_not() -> None:
    """A row that says two where the encoding says one."""
    row = WRONG["two registers for one"]
    inst = Inst(0, 4, "v_wrong", "VOP1", (Operand("v", 255),), (Operand("v", 255),))
    with pytest.raises(UnsupportedInstruction, match="wants 2 registers of an operand of 1"):
        compiled(row, inst, "gfx940")
