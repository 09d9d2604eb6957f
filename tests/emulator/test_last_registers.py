"""Instructions do with the last registers of their files what they do with others: threaded, compiled and checked.

Each runs twice: as the tests of its meaning have it, and with one operand moved to the end of its file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import numpy as np
import pytest
from attrs import frozen

from rocmkern.emulator.isa import decode
from rocmkern.emulator.machine import Machine
from rocmkern.emulator.observers.checker import CHECKED
from rocmkern.targets import isa as isa_of
from tests.emulator.encodings import encoding, rows
from tests.emulator.instructions import Bench, Dialect, bench
from tests.emulator.test_meaning_tiers import TOGETHER, Part, parts, program, results
from tests.samples import assemble

Array = np.ndarray[tuple[int, ...], np.dtype[np.uint32]]
Fields = tuple[str, str, dict[str, int]]  # an instruction's name, encoding and operands; 256 is v0
REGISTERS = re.compile(r"\b([vsa])(?:(\d+)|\[(\d+):(\d+)\])(?![\w\]])")
ENDS = {"v": 256, "a": 256, "s": 102}  # s102 to s105 have other names in some assemblers
CDNA, RDNA = ("gfx90a", "gfx942", "gfx950"), ("gfx1030", "gfx1100", "gfx1201")
SHORT = ("gfx1100", "gfx1201")
HALVES_END = 128  # where an encoding has a bit for which half of a register
SPARE = "v30"
MASKS = (-1, 0x0123456789ABCDEF)
FREE = 64  # first of the registers that no other code here uses
TARGETS = [pytest.param(t, marks=[] if t in ("gfx942", "gfx1100") else pytest.mark.slow) for t in CDNA + RDNA]
SHARES = [
    *(pytest.param(t, 1, marks=pytest.mark.slow, id=f"{t}-all") for t in CDNA + RDNA if t != "gfx942"),
    *(pytest.param(t, 16, id=f"{t}-sample") for t in ("gfx90a", "gfx1201")),
]


def copies(kind: str, to: int, source: int, count: int) -> list[str]:
    """Registers of a file into others of it."""
    if kind == "a":
        return [
            line
            for i in range(count)
            for line in (f"v_accvgpr_read_b32 {SPARE}, a{source + i}", f"v_accvgpr_write_b32 a{to + i}, {SPARE}")
        ]
    return [f"{kind}_mov_b32 {kind}{to + i}, {kind}{source + i}" for i in range(count)]


@frozen
class Probe:
    """An instruction or few, what holds their operands before, and what brings results to v10 and v11 behind."""

    name: str
    text: str
    before: str = ""
    after: str = ""

    @property
    def operands(self) -> list[re.Match[str]]:
        """Those that differ."""
        return list({match[0]: match for match in REGISTERS.finditer(self.text)}.values())

    @property
    def whole(self) -> tuple[str, str]:
        return self.name, f"{self.before}\n {self.text}\n {self.after}"

    def moved(self, operand: re.Match[str], target: str) -> tuple[str, str]:
        """With an operand at the last registers, where its values are brought and whence they are brought back."""
        kind, first = operand[1], int(operand[2] or operand[3])
        end = HALVES_END if target in SHORT and "16_e32" in self.text else ENDS[kind]
        count = int(operand[4] or first) - first + 1
        align = (1, 1, 2, 4)[min(count, 3)] if kind == "s" else 2 if count > 1 else 1
        last = (end - count) // align * align
        name = f"{kind}{last}" if operand[2] else f"{kind}[{last}:{last + count - 1}]"
        text = re.sub(rf"(?<![\w.]){re.escape(operand[0])}(?![\w\]])", name, self.text)
        lines = [self.before, *copies(kind, last, first, count), text, *copies(kind, first, last, count), self.after]
        return f"{self.name}: {operand[0]}", "\n ".join(lines)


def memory(target: str) -> list[Probe]:
    """Loads and stores of several registers, and the addresses that they take."""
    names, wait, is_short = Dialect(target).names, Dialect(target).wait, target in SHORT
    stored = {"gfx1201": "s_wait_storecnt 0x0"}.get(target, wait if target in CDNA else "s_waitcnt_vscnt null, 0x0")

    def wide(name: str, count: int) -> str:
        return names[name].replace("b32", f"b{32 * count}") if is_short else f"{names[name]}x{count}"

    write, read = ("ds_store_b128", "ds_load_b128") if is_short else ("ds_write_b128", "ds_read_b128")
    load, few, lane = wide("load", 4), "v_and_b32 v14, 0x1f0, v2", "v_lshlrev_b32 v14, 2, v1"
    fold = f"{wait}\n v_xor_b32 v10, v10, v12\n v_xor_b32 v11, v11, v13"
    off = "null" if target == "gfx1201" else "0"
    place = "s_mov_b64 s[64:65], s[16:17]\n s_movk_i32 s66, 0x200\n s_mov_b32 s67, 0x20000\n "
    return [
        Probe("load", f"{load} v[10:13], v14, s[16:17]", few, fold),
        Probe(
            "far load", f"{wide('load', 2)} v[10:11], v[14:15], off offset:64",
            "v_mov_b32 v14, s16\n v_mov_b32 v15, s17", wait,
        ),
        Probe(
            "store", f"{wide('store', 4)} v14, v[2:5], s[46:47]\n {stored}\n {load} v[10:13], v14, s[46:47]\n {wait}",
            lane, fold,
        ),
        Probe("LDS", f"{write} v14, v[2:5]\n {wait}\n {read} v[10:13], v14\n {wait}", lane, fold),
        Probe("buffer", f"{load.replace('global', 'buffer')} v[10:13], v14, s[64:67], {off} offen", place + few, fold),
        *(
            Probe(
                f"scalar load of {n}", f"{wide('load4', n)} s[{FREE}:{FREE + n - 1}], s[16:17], 0x0\n {wait}", "",
                "\n ".join(f"v_xor_b32 v{10 + i % 2}, s{FREE + i}, v{10 + i % 2}" for i in range(n)),
            )
            for n in (2, 4, 8, 16)
        ),
    ]  # fmt: skip


def matrices(target: str) -> list[Probe]:
    """Products of integers, which are exact, into as many registers as there are."""
    if target == "gfx1030":
        return []
    shapes: dict[str, tuple[int, str]] = {
        "v_wmma_i32_16x16x16_iu8": (8, "v[2:5], v[6:9]" if target == "gfx1100" else "v[2:3], v[4:5]")
    }
    if target in CDNA:
        names = ("32x32x4i8", "4x4x4i8") if target == "gfx90a" else ("32x32x4_2b_i8", "4x4x4_16b_i8")
        shapes = {f"v_mfma_i32_{name}": (count, "v2, v3") for name, count in zip(names, (32, 4), strict=True)}
    found = []
    for kind in "va" if target in CDNA else "v":
        for name, (count, factors) in shapes.items():
            sums = f"{kind}[{FREE}:{FREE + count - 1}]"
            held = [f"v_mov_b32 v{FREE + i}, v{2 + i % 8}" for i in range(count)]
            folds = [f"v_xor_b32 v{10 + i % 2}, v{FREE + i}, v{10 + i % 2}" for i in range(count)]
            if kind == "a":
                held += [f"v_accvgpr_write_b32 a{FREE + i}, v{FREE + i}" for i in range(count)]
                folds = [f"v_accvgpr_read_b32 v{FREE + i}, a{FREE + i}" for i in range(count)] + folds
            text = f"{name} {sums}, {factors}, {sums}"
            found.append(Probe(f"{name} {kind}", text, "\n ".join(held), "\n ".join(folds)))
    return found


def others(target: str) -> list[Probe]:
    """Of f64, and of single lanes."""
    held = "v_cvt_f64_u32 v[24:25], v2\n v_cvt_f64_i32 v[26:27], v3\n v_cvt_f64_u32 v[28:29], v4"
    lanes = "v_readlane_b32 s40, v2, 3\n v_writelane_b32 v10, s40, 5\n v_readfirstlane_b32 s41, v4"
    return [Probe("v_fma_f64", "v_fma_f64 v[10:11], v[24:25], v[26:27], v[28:29]", held), Probe("lanes", lanes)]


@cache
def checked(target: str) -> Machine:
    return Machine(target, CHECKED, timeout_s=60)


def outcomes(target: str, texts: dict[str, Part], masks: tuple[int, ...]) -> Iterator[dict[str, list[Array]]]:
    """What each program leaves, for each mask: threaded, then compiled, then checked."""
    cases = {name: program(target, part, False) for name, part in texts.items()}
    on = bench(target, cases)

    def all_of(device: Bench) -> dict[str, list[Array]]:
        return {name: [results(device, name, len(part), mask) for mask in masks] for name, part in texts.items()}

    yield all_of(on)
    for name in cases:
        on.module.program.compile(on.module.kernel(name).kernel)
    yield all_of(on)
    yield all_of(Bench(on.dialect, checked(target), checked(target).load(assemble(on.dialect.source(cases), target))))


def pairs(target: str, chosen: Iterable[tuple[Probe, re.Match[str]]]) -> tuple[Part, Part]:
    """Each as it is, and with that operand moved."""
    both = [(probe.whole, probe.moved(operand, target)) for probe, operand in chosen]
    return [low for low, _ in both], [last for _, last in both]


def compare(target: str, both: tuple[Part, Part], masks: tuple[int, ...]) -> None:
    """Run every case of the first part and of the second one."""
    lasts = {f"part{at}": both[1][at : at + TOGETHER] for at in range(0, len(both[1]), TOGETHER)}
    lows = {f"part{at}": both[0][at : at + TOGETHER] for at in range(0, len(both[0]), TOGETHER)}
    expected = next(outcomes(target, lows, masks))
    for mode, found in zip(("threaded", "compiled", "checked"), outcomes(target, lasts, masks), strict=True):
        for name, part in lasts.items():
            for mask, before, after in zip(masks, expected[name], found[name], strict=True):
                different = sorted({part[i][0] for i in np.nonzero((before != after).any((1, 2)))[0]})
                assert different == [], f"{mode}, {mask:#x}"


@pytest.mark.parametrize("target", TARGETS)
def test_registers_of_several_are_as_good_at_the_end(target: str) -> None:
    """Memory, scalar memory, LDS, matrices and f64, each operand of each."""
    probes = [*memory(target), *matrices(target), *others(target)]
    compare(target, pairs(target, ((probe, operand) for probe in probes for operand in probe.operands)), (-1,))


@pytest.mark.parametrize(("target", "one_of"), SHARES)
def test_results_do_not_depend_on_where_an_operand_lies(target: str, one_of: int) -> None:
    """All integer, mask and scalar instructions, with the first operand of one at the end, the second of the next."""
    probes = [Probe(*case) for some in parts(target) for case in some][::one_of]
    chosen = [(probe, probe.operands[n % len(probe.operands)]) for n, probe in enumerate(probes) if probe.operands]
    assert len(chosen) > 200 // one_of
    compare(target, pairs(target, chosen), MASKS)


def in_words(target: str, *instructions: Fields) -> str:
    """As data between the lines of an assembler."""
    isa, lines = isa_of(target), []
    for name, kind, fields in instructions:
        (opcode,) = (opcode for k, opcode, row in rows(isa) if k == kind and row.name == name)
        code = encoding(isa, kind).code(opcode, fields)
        inst = decode(isa, code, 0)
        assert inst.name == name
        lines += [f".long {int.from_bytes(code[at : at + 4], 'little'):#x}" for at in range(0, inst.size, 4)]
        lines.append(Dialect(target).wait)
    return "\n ".join(lines)


def scalar_cases(target: str) -> dict[str, tuple[list[Fields], Callable[[list[int], list[int]], list[int]]]]:
    """Instructions, and what they leave in s40 and s41 by what s24…s27 and memory hold."""
    loads = {n: f"s_load_b{32 * n}" if target in SHORT else f"s_load_dwordx{n}" for n in (2, 4, 8, 16)}

    def move(to: int, source: int) -> Fields:
        return "s_mov_b32", "SOP1", {"d0": to, "s0": source}

    def move_pair(to: int, source: int) -> Fields:
        return "s_mov_b64", "SOP1", {"d0": to, "s0": source}

    return {
        "one": (
            [move(105, 24), move(104, 25), ("s_xor_b32", "SOP2", {"d0": 40, "s0": 105, "s1": 26}), move(41, 104)],
            lambda s, m: [s[0] ^ s[2], s[1]],
        ),
        "a pair": (
            [move_pair(104, 24), ("s_and_b64", "SOP2", {"d0": 104, "s0": 104, "s1": 26}), move_pair(40, 104)],
            lambda s, m: [s[0] & s[2], s[1] & s[3]],
        ),
        "of vectors": (
            [
                ("v_readfirstlane_b32", "VOP1", {"d0": 105, "s0": 258}),
                ("v_mov_b32", "VOP1", {"d0": 255, "s0": 105}),
                ("v_readfirstlane_b32", "VOP1", {"d0": 40, "s0": 511}),
                move(41, 105),
            ],
            lambda s, m: [m[0], m[0]],
        ),
        **{
            f"a load of {n}": (
                [(loads[n], "SMEM", {"s0": 8, "s1": 37, "d0": first}), move(40, first), move(41, first + n - 1)],
                lambda s, m, last=n - 1: [m[0], m[last]],
            )
            for n, first in ((2, 104), (4, 100), (8, 96), (16, 88))
        },
    }


@pytest.mark.parametrize("target", CDNA + RDNA)
def test_scalar_registers_end_with_the_105th(target: str) -> None:
    """One, a pair, and what begins at a multiple of four, as results and as sources."""
    cases = scalar_cases(target)
    texts = {f"case{i}": in_words(target, *fields) for i, (fields, _) in enumerate(cases.values())}
    on, scalars = bench(target, texts), (3, 0xFFFFFFF0, 0x13579BDF, 0x2468ACE0)
    other = Bench(on.dialect, checked(target), checked(target).load(assemble(on.dialect.source(texts), target)))
    memory = np.arange(on.lanes, dtype=np.uint32) * 3 + 77
    for mode, device in (("threaded", on), ("compiled", on), ("checked", other)):
        for name, (case, (_, define)) in zip(texts, cases.items(), strict=True):
            if mode == "compiled":
                on.module.program.compile(on.module.kernel(name).kernel)
            found = device.run(name, {2: memory}, scalars=scalars)
            assert [found.scalar("s40"), found.scalar("s41")] == define([*scalars], memory.tolist()), (mode, case)
