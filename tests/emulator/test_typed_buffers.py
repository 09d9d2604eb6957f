"""Typed buffers: every format, loaded and stored, by resource and by instruction, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rocmkern.emulator.formats import codes, instruction_word
from rocmkern.emulator.isa import decode_range
from rocmkern.emulator.isa.table import CDNA
from rocmkern.emulator.machine import Machine
from rocmkern.emulator.observers.checker import CHECKED
from rocmkern.errors import MemoryFault
from rocmkern.targets import TARGETS as ALL_TARGETS
from tests.emulator.cases import active, floats, integers, masks, seeds, values
from tests.emulator.instructions import Bench, Dialect, bench
from tests.emulator.test_meaning_memory import FIRST, SHORT, steps
from tests.samples import assemble

Array = NDArray[Any]
TARGETS = ("gfx90a", "gfx1030", "gfx1100", "gfx1201")
ELEMENT_BYTES = 16  # of memory per lane
AS_IT_IS, REVERSED, CONSTANTS = (4, 5, 6, 7), (6, 5, 4, 7), (1, 4, 0, 5)
RAW = 3 << 28  # RDNA: offset and size against the records
LETTERS = ("x", "xy", "xyz", "xyzw")
FORMS = {"full": range(1, 5), "d16": range(1, 5), "d16_hi": range(1, 2)}


def isa(target: str) -> str:
    return ALL_TARGETS[target].isa


def code(target: str, layout: str, number: str) -> int:
    return next(code for code, pair in codes(isa(target)).items() if pair == (layout, number))


def word(target: str, chosen: tuple[int, ...], layout: str, number: str) -> int:
    """The last dword of a resource."""
    return selectors(chosen) | code(target, layout, number) << 12 | (0 if isa(target) in CDNA else RAW)


def name_of(target: str, what: str, form: str, count: int) -> str:
    letters = LETTERS[count - 1]
    if form == "full":
        return f"{what}_format_{letters}"
    return f"{what}_{form}_format_{letters}" if target in SHORT else f"{what}_format_{form}_{letters}"


def registers(form: str, count: int) -> int:
    return count if form == "full" else (count + 1) // 2


def span(first: int, count: int) -> str:
    return f"v[{first}:{first + count - 1}]" if count > 1 else f"v{first}"


def resource(source: int, behind: str = "s24", stride: str = "0") -> tuple[str, ...]:
    """s[44:47]: `behind` bytes behind the address in s[source], records s25, last dword s26; s48 is s28."""
    return (
        f"s_add_u32 s44, s{source}, {behind}",
        f"s_addc_u32 s45, s{source + 1}, 0",
        f"s_lshl_b32 s46, {stride}, 16",
        "s_or_b32 s45, s45, s46",
        "s_mov_b32 s46, s25",
        "s_mov_b32 s47, s26",
        "s_mov_b32 s48, s28",
    )


def access(target: str, what: str, form: str, count: int, tail: str = "offen") -> str:
    where = span(10 if "load" in what else 4, registers(form, count))
    text = f"{name_of(target, what, form, count)} {where}, v3, s[44:47], s48 {tail}"
    return steps(target, *resource(16 if "load" in what else 18), text)


def widths(layout: str) -> list[int]:
    return [int(n) for n in layout.split("_")][::-1]


def split(memory: Array, layout: str) -> list[Array]:
    """The components of elements (lane, byte), as unsigned numbers."""
    whole = [int.from_bytes(row.tobytes(), "little") for row in memory]
    parts, first = [], 0
    for width in widths(layout):
        parts.append(np.array([bits >> first & ((1 << width) - 1) for bits in whole], np.int64))
        first += width
    return parts


def joined(parts: list[Array], layout: str) -> Array:
    """The elements (lane, byte) of components."""
    whole, first = [0] * len(parts[0]), 0
    for part, width in zip(parts, widths(layout), strict=True):
        whole = [bits | int(raw) << first for bits, raw in zip(whole, part, strict=True)]
        first += width
    rows = [bits.to_bytes(ELEMENT_BYTES, "little") for bits in whole]
    return np.frombuffer(b"".join(rows), np.uint8).reshape(-1, ELEMENT_BYTES)


def toward_zero(x: Array) -> Array:
    """f32 to f16; finite stays finite."""
    near = x.astype(np.float16)
    return np.where(np.abs(near.astype(np.float32)) > np.abs(x), np.nextafter(near, np.float16(0)), near)


def signed(raw: Array, width: int) -> Array:
    return np.where(raw >> (width - 1) & 1, raw - (1 << width), raw)


def loaded(raw: Array, width: int, number: str, halves: bool) -> Array:
    """The bits that a component gives a register or half."""
    if number in ("uint", "sint"):
        return (raw if number == "uint" else signed(raw, width)) & (0xFFFF if halves else 0xFFFFFFFF)
    most, limit = (1 << width) - 1, (1 << (width - 1)) - 1
    if number == "float" and width == 32:
        single = raw.astype(np.uint32).view(np.float32)
        return toward_zero(single).view(np.uint16) if halves else raw
    value = {
        "unorm": lambda: raw / most, "snorm": lambda: np.maximum(signed(raw, width) / limit, -1),
        "uscaled": lambda: raw, "sscaled": lambda: signed(raw, width),
        "float": lambda: (raw << (15 - width if width < 16 else 0)).astype(np.uint16).view(np.float16),
    }[number]()  # fmt: skip
    single = value.astype(np.float32)
    return single.astype(np.float16).view(np.uint16) if halves else single.view(np.uint32)


def stored(bits: Array, width: int, number: str, halves: bool) -> Array:
    """The bits that a register or half becomes in memory."""
    size = 16 if halves else 32
    most, limit = (1 << width) - 1, (1 << (width - 1)) - 1
    if number == "uint":
        return np.minimum(bits.astype(np.int64), most)
    if number == "sint":
        return np.clip(signed(bits.astype(np.int64), size), -limit - 1, limit) & most
    x = bits.astype(f"u{size // 8}").view(f"f{size // 8}")
    if number == "float" and width == 32:
        return x.astype(np.float32).view(np.uint32)
    if number == "float":
        half = (x if halves else toward_zero(x)).view(np.uint16).astype(np.int64)
        return half if width == 16 else np.where(np.isnan(x), most, np.where(np.signbit(x), 0, half >> (15 - width)))
    scale, low, high = {
        "unorm": (most, 0, most), "snorm": (limit, -limit, limit), "uscaled": (1, 0, most),
        "sscaled": (1, -limit - 1, limit),
    }[number]  # fmt: skip
    return np.where(np.isnan(x), 0, np.rint(np.clip(x.astype(np.float64) * scale, low, high))).astype(np.int64) & most


def assert_same(got: Array, wanted: Array, exponent_and_mantissa: tuple[int, int] | None, what: object) -> None:
    """Equal, or both NaN of a float of that many bits."""
    if exponent_and_mantissa is not None:
        exponent, mantissa = exponent_and_mantissa
        infinity = ((1 << exponent) - 1) << mantissa
        magnitude = (1 << exponent + mantissa) - 1
        both = (got & magnitude > infinity) & (wanted & magnitude > infinity)
        got, wanted = np.where(both, 0, got), np.where(both, 0, wanted)
    np.testing.assert_array_equal(got, wanted, str(what))


SHAPE = {32: (8, 23), 16: (5, 10), 11: (5, 6), 10: (5, 5)}


def elements(rng: np.random.Generator, layout: str, number: str, lanes: int) -> Array:
    """Random elements; components are often at the ends of their range."""
    parts = []
    for width in widths(layout):
        edges = np.array([0, 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1, (1 << (width - 1)) + 1])
        raw = rng.integers(0, 1 << width, lanes)
        if number == "float" and width >= 16:
            edges = floats(rng, f"f{width}", lanes).view(f"u{width // 8}").astype(np.int64)
        parts.append(np.where(rng.random(lanes) < 0.5, raw, rng.choice(edges, lanes)))
    return joined(parts, layout)


def selectors(chosen: tuple[int, ...]) -> int:
    return sum(s << 3 * i for i, s in enumerate(chosen))


def part_of(words: Array, form: str, i: int) -> Array:
    """Component i in registers (register, lane)."""
    if form == "full":
        return words[i].astype(np.int64)
    return words[i // 2].astype(np.int64) >> (16 if i % 2 or form == "d16_hi" else 0) & 0xFFFF


def form_of(rng: np.random.Generator) -> tuple[str, int]:
    form = ("full", "d16", "d16_hi")[int(rng.choice(3, p=(0.45, 0.45, 0.1)))]
    return form, int(rng.choice(FORMS[form]))


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=2, deadline=None)
@given(seed=seeds, mask=masks, chosen=st.sampled_from([AS_IT_IS, REVERSED, CONSTANTS]))
def test_loads_by_the_resource(target: str, seed: int, mask: int, chosen: tuple[int, ...]) -> None:
    """Every format. Lanes outside get 0, or 1 where the selector says so; halves that nothing fills stay."""
    on = bench(target, {f"{f}_{n}": access(target, "buffer_load", f, n) for f, counts in FORMS.items() for n in counts})
    rng, lanes = np.random.default_rng(seed), active(mask, on.lanes)
    for layout, number in codes(isa(target)).values():
        form, count = form_of(rng)
        halves = form != "full"
        memory, kept = elements(rng, layout, number, on.lanes), integers(rng, "u32", 4 * on.lanes).reshape(4, -1)
        order = rng.permutation(on.lanes)
        inputs = {4 + i: row for i, row in enumerate(memory.view(np.uint32).reshape(4, on.lanes))}
        inputs |= {10 + i: row for i, row in enumerate(kept)} | {3: (order * ELEMENT_BYTES).astype(np.uint32)}
        scalars = (8 * on.lanes, ELEMENT_BYTES * (on.lanes - 5), word(target, chosen, layout, number))
        outcome = on.run(f"{form}_{count}", inputs, exec_mask=mask, scalars=scalars)
        one = 1 if number in ("uint", "sint") else 0x3C00 if halves else 0x3F800000
        with np.errstate(all="ignore"):
            parts = [loaded(p, w, number, halves) for p, w in zip(split(memory, layout), widths(layout), strict=True)]
        for i in range(count):
            place = chosen[i] - 4
            value = parts[place][order] if 0 <= place < len(parts) else np.zeros(on.lanes, np.int64)
            value = np.full(on.lanes, one) if chosen[i] == 1 else np.where(order < on.lanes - 5, value, 0)
            wanted = np.where(lanes, value, part_of(kept, form, i))
            shape = None if number in ("uint", "sint") else SHAPE[16 if halves else 32]
            assert_same(part_of(outcome.words, form, i), wanted, shape, (layout, number, form, i))
        if halves and count % 2:
            row, other = (count - 1) // 2, 0xFFFF if form == "d16_hi" else 0xFFFF0000
            np.testing.assert_array_equal(outcome.words[row] & other, kept[row] & other)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=2, deadline=None)
@given(seed=seeds, mask=masks, chosen=st.sampled_from([AS_IT_IS, REVERSED, CONSTANTS]))
def test_stores_by_the_resource(target: str, seed: int, mask: int, chosen: tuple[int, ...]) -> None:
    """Every format. The component that a register's selector names; others are 0, on gfx12 the first register."""
    texts = {f"{f}_{n}": access(target, "buffer_store", f, n) for f, counts in FORMS.items() for n in counts}
    on = bench(target, texts)
    rng, lanes = np.random.default_rng(seed), active(mask, on.lanes)
    for layout, number in codes(isa(target)).values():
        form, count = form_of(rng)
        halves = form != "full"
        kind = "u32" if number in ("uint", "sint") else "f16" if halves else "f32"
        size = 4 * on.lanes * (2 if kind == "f16" else 1)
        data = values(rng, kind, size)
        if kind != "u32":
            near = rng.uniform(-1.3, 1.3, size).astype(data.dtype)
            data = np.where(rng.random(size) < 0.5, near, data)
        data, order = data.view(np.uint32).reshape(4, on.lanes), rng.permutation(on.lanes)
        inputs = {4 + i: row for i, row in enumerate(data)} | {3: (order * ELEMENT_BYTES).astype(np.uint32)}
        scalars = (FIRST * 4 * on.lanes, ELEMENT_BYTES * (on.lanes - 5), word(target, chosen, layout, number))
        outcome = on.run(f"{form}_{count}", inputs, exec_mask=mask, scalars=scalars, more=4)
        brought = [part_of(data, form, i) for i in range(count)]
        filler = brought[0] if target == "gfx1201" and chosen[0] >= 4 else np.zeros(on.lanes, np.int64)
        by_place = {s - 4: v for s, v in reversed(list(zip(chosen, brought, strict=False)))}
        writes = lanes & (order < on.lanes - 5)
        got = outcome.words[FIRST:].reshape(on.lanes, 4).view(np.uint8)
        for i, (part, width) in enumerate(zip(split(got, layout), widths(layout), strict=True)):
            wanted = np.zeros(on.lanes, np.int64)
            with np.errstate(all="ignore"):
                value = stored(by_place.get(i, filler), width, number, halves)
            wanted[order] = np.where(writes, value, 0)
            shape = SHAPE[width] if number == "float" else None
            assert_same(part, wanted, shape, (layout, number, form, count, i))
        assert not got[:, sum(widths(layout)) // 8 :].any()


def spelled(target: str, layout: str, number: str) -> str:
    """A typed instruction's format in LLVM's words."""
    if isa(target) in CDNA:
        return f"[BUF_DATA_FORMAT_{layout},BUF_NUM_FORMAT_{number.upper()}]"
    return f"[BUF_FMT_{layout}_{number.upper()}]"


@pytest.mark.parametrize("target", TARGETS)
def test_typed_instructions_number_formats_as_llvm_does(target: str) -> None:
    """LLVM's names of formats give our layout and number, for all there are."""
    pairs = list(codes(isa(target)).values())
    lines = [f"tbuffer_load_format_x v10, off, s[44:47], s48 format:{spelled(target, *pair)}" for pair in pairs]
    program = bench(target, {"all": "\n ".join(lines)}).module.program
    address, size = program.code.symbols["all"]
    start, text = address + program.base - program.translation.address, program.translation.text
    found = [i for i in decode_range(isa(target), text, start, start + size) if i.encoding == "MTBUF"]
    assert [codes(isa(target))[instruction_word(isa(target), i.mods.format) >> 12] for i in found] == pairs
    assert len(pairs) >= 63


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
def test_formats_of_typed_instructions(target: str) -> None:
    """The resource's selectors and format don't count; what the format lacks is 0. In both tiers."""
    where = f"v3, s[44:47], s48 format:{spelled(target, '8_8', 'snorm')} offen"
    text = steps(
        target,
        *resource(16),
        f"tbuffer_load_format_xyzw v[10:13], {where}",
        *resource(18, "s29"),
        f"tbuffer_store_format_xy v[10:11], {where}",
    )
    on = bench(target, {"k": text})
    rng = np.random.default_rng(4)
    memory, order = elements(rng, "8_8", "snorm", on.lanes), rng.permutation(on.lanes) * ELEMENT_BYTES
    inputs = {4 + i: row for i, row in enumerate(memory.view(np.uint32).reshape(4, on.lanes))}
    scalars = (8 * on.lanes, 1 << 20, word(target, CONSTANTS, "32", "uint"), 0, 0, FIRST * 4 * on.lanes)
    inputs |= {3: order.astype(np.uint32), 10: np.full(on.lanes, 7, np.uint32)}
    moved = (memory.view(np.int8)[:, :2] / np.float32(127)).clip(-1, 1).astype(np.float32)
    for _ in range(2):
        outcome = on.run("k", inputs, scalars=scalars, more=4)
        on.module.program.compile(on.module.kernel("k").kernel)
        assert not outcome.words[2:4].any()
        got = outcome.words[FIRST:].reshape(on.lanes, 4).view(np.int8)[:, :2]
        for i in (0, 1):
            np.testing.assert_array_equal(outcome.vector(10 + i, np.float32), moved[order // ELEMENT_BYTES, i])
        np.testing.assert_array_equal(got, memory.view(np.int8)[:, :2].clip(-127))


@pytest.mark.parametrize("target", TARGETS)
def test_resources_without_format_are_unbound(target: str) -> None:
    """They read 0, or 1 where a selector says so, and take no store, wherever their base is."""
    texts = {what: access(target, what, "full", 4) for what in ("buffer_load", "buffer_store")}
    on = bench(target, texts)
    inputs = {3: np.full(on.lanes, 1 << 30, np.uint32), **{r: np.arange(on.lanes) + 5 for r in (4, 5, 6, 7, 10, 11)}}
    inputs = {register: row.astype(np.uint32) for register, row in inputs.items()}
    kind = selectors(CONSTANTS) | (0 if isa(target) in CDNA else RAW)
    for name in texts:
        outcome = on.run(name, inputs, scalars=(0, (1 << 32) - 1, kind), more=1)
        if "load" in name:
            assert [set(row.tolist()) for row in outcome.words[:4]] == [{0x3F800000}, {0}, {0}, {0}]


def test_lds_to_memory_and_back() -> None:
    """Lane after lane behind M0 in LDS; in memory a stride from one lane to the next where the resource says so."""
    ready = ("s_mov_b32 m0, 12", "ds_write_b32 v1, v4 offset:20")
    texts = {
        "store": steps(
            "gfx90a", *ready, *resource(18, stride="4"), "buffer_store_lds_dword s[44:47], s48 offset:8 lds"
        ),
        "load": steps(
            "gfx90a", *ready, *resource(16), "buffer_load_format_x v3, s[44:47], s48 offen offset:8 lds",
            "ds_read_b32 v10, v1 offset:20",
        ),
    }  # fmt: skip
    on = bench("gfx90a", texts)
    rng = np.random.default_rng(9)
    x = integers(rng, "u32", on.lanes)
    lanes = active(0x0123456789ABCDEF, on.lanes)
    scalars = (FIRST * 256, 0, 1 << 23)
    outcome = on.run("store", {4: x}, scalars=scalars, exec_mask=0x0123456789ABCDEF, more=70)
    np.testing.assert_array_equal(outcome.words[FIRST:].ravel()[2:66], np.where(lanes, x, 0))
    wide = (
        on.run("store", {4: x}, scalars=(FIRST * 256, 0, 1 << 23 | 1 << 15), exec_mask=3, more=70).words[FIRST:].ravel()
    )
    stride = 4 + (1 << 14)  # high bits of it are where formats are
    assert (wide[2], wide[2 + stride // 4], np.count_nonzero(wide)) == (x[0], x[1], np.count_nonzero(x[:2]))
    order = rng.permutation(on.lanes).astype(np.uint32)
    kind = word("gfx90a", AS_IT_IS, "8", "uscaled")
    outcome = on.run("load", {3: order, 4: x}, scalars=(8 * on.lanes - 8, 1 << 20, kind))
    np.testing.assert_array_equal(outcome.vector(10, np.float32), x.view(np.uint8)[order].astype(np.float32))


def test_checked_mode_knows_the_size_of_elements() -> None:
    """What nothing wrote, and half an element behind an allocation; a fault of no memory at all names it too."""
    where = "v3, s[44:47], s48 offen"
    texts = {
        "load": steps("gfx90a", *resource(18), f"buffer_load_format_x v10, {where}"),
        "store": steps("gfx90a", *resource(18), f"buffer_store_format_x v4, {where}"),
        "nowhere": steps("gfx90a", *resource(18), "s_mov_b64 s[44:45], 64", f"buffer_store_format_x v4, {where}"),
    }
    dialect, machine = Dialect("gfx90a"), Machine("gfx90a", CHECKED, timeout_s=60)
    on = Bench(dialect, machine, machine.load(assemble(dialect.source(texts), "gfx90a")))
    facts = {
        "load": (0, "32_32", "load of 8 bytes at .* of memory that nothing wrote"),
        "store": (
            FIRST * 256 - 2,
            "16_16",
            "store of 4 bytes at .* outside every allocation .* 3326 bytes into the allocation of 3328",
        ),
        "nowhere": (0, "16_16_16_16", "store of 8 bytes at 0x40 by lane 0"),
    }
    for name, (place, layout, fact) in facts.items():
        kind = word("gfx90a", AS_IT_IS, layout, "uint")
        with pytest.raises(MemoryFault, match=f"{name}: {fact}"):
            on.run(name, {3: np.zeros(on.lanes, np.uint32)}, scalars=(place, 1 << 20, kind))
