"""gfx950's conversions with the scale of a block, against ml_dtypes to nearest and exact remainders at random."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.emulator.cases import active, floats, masks, seeds
from tests.emulator.instructions import bench

Array = NDArray[Any]
SMALL: dict[str, Any] = {
    "fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2, "fp6": ml_dtypes.float6_e2m3fn,
    "bf6": ml_dtypes.float6_e3m2fn, "fp4": ml_dtypes.float4_e2m1fn,
}  # fmt: skip
WIDE: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
SMALL |= {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
BITS = {"fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4, "f16": 16, "bf16": 16}
LARGEST = {"fp8": 0x7E, "bf8": 0x7B, "fp6": 31, "bf6": 31, "fp4": 7, "f16": 0x7BFF, "bf16": 0x7F7F}
TARGET = "gfx950"
SCALE, RANDOM = "v8", "v9"


def scales(rng: np.random.Generator, lanes: int) -> Array:
    """f32 whose exponents bring most numbers into the formats' ranges; the smallest and NaN too."""
    exponent = rng.choice(np.array([*range(110, 145), 0, 1, 254, 255]), lanes).astype(np.uint32)
    return exponent << np.uint32(23) | rng.integers(0, 1 << 23, lanes, np.uint32)


def powers(scale: Array) -> Array:
    exponent = (scale >> 23 & 255).astype(np.int64)
    return np.where(exponent == 255, np.nan, np.exp2(exponent.astype(np.float64) - 127))


def numbers(rng: np.random.Generator, kind: str, lanes: int) -> Array:
    """Bit patterns of every sort, and numbers of few digits, many of them halfway between small ones."""
    with np.errstate(invalid="ignore"):
        wide = floats(rng, {"bf16": "f32"}.get(kind, kind), lanes).astype(WIDE[kind])
    few = (rng.integers(-64, 64, lanes) * np.exp2(rng.integers(-12, 8, lanes))).astype(WIDE[kind])
    return np.where(rng.random(lanes) < 0.5, few, wide)


def number(codes: Array, name: str) -> Array:
    return codes.astype(f"u{np.dtype(SMALL[name]).itemsize}").view(SMALL[name]).astype(np.float64)


def nearest(values: Array, scale: Array, name: str) -> Array:
    """Codes of the quotients; where a format has numbers only, what is none becomes the largest."""
    with np.errstate(all="ignore"):
        quotients = values.astype(np.float64) / powers(scale)
        small = quotients.astype(SMALL[name])
        codes = small.view(f"u{small.dtype.itemsize}").astype(np.uint32)
    if BITS[name] < 8:
        signs = np.signbit(values).astype(np.uint32) << np.uint32(BITS[name] - 1)
        codes = np.where(np.isfinite(quotients), codes, signs | LARGEST[name])
    return codes


def at_random(values: Array, scale: Array, random: Array, name: str) -> Array:
    """Codes of the quotients' neighbours: away from zero where the part that is lost and random / 2³² reach 1."""
    table = number(np.arange(LARGEST[name] + 1), name)
    table = np.append(table, 2 * table[-1] - table[-2])
    with np.errstate(all="ignore"):
        size = np.abs(values.astype(np.float64)) / powers(scale)
    inside = size < table[-1]
    below = np.searchsorted(table, np.where(inside, size, 0), side="right") - 1
    lost = (np.where(inside, size, 0) - table[below]) / (table[below + 1] - table[below])
    code = below + (lost >= 1 - random.astype(np.float64) / 2**32)
    over = LARGEST[name] + (BITS[name] >= 8)
    code = np.where(inside & (code <= LARGEST[name]), code, over).astype(np.uint32)
    code |= np.signbit(values).astype(np.uint32) << np.uint32(BITS[name] - 1)
    return np.where(np.isfinite(size), code, nearest(values, scale, name))


def same(found: Array, wanted: Array, name: str, what: str) -> None:
    """Equal codes; a NaN is a NaN."""
    is_nan = [np.isnan(number(c, name)) for c in (found, wanted)]
    np.testing.assert_array_equal(np.where(is_nan[0], 0x7F, found), np.where(is_nan[1], 0x7F, wanted), what)


def prng(x: Array) -> Array:
    return x << np.uint32(1) ^ np.where(x >> 31, np.uint32(197), np.uint32(0))


def joined(low: Array, high: Array) -> Array:
    """Two 16-bit numbers as registers."""
    return low.view(np.uint16).astype(np.uint32) | high.view(np.uint16).astype(np.uint32) << np.uint32(16)


def put(old: Array, part: Array, bits: int, place: int) -> Array:
    mask = np.uint32(((1 << bits) - 1) << bits * place)
    return old & ~mask | part.astype(np.uint32) << np.uint32(bits * place)


def op_sel(bits: int, place: int, sources: int) -> str:
    """Names the byte or half of the destination, or of the source of a widening."""
    chosen = [place & 1, place >> 1] if bits == 8 else [place]
    return f" op_sel:[{','.join(map(str, [*[0] * sources, *chosen]))}]"


NARROW_PAIRS = [(n, k) for n in ("fp8", "bf8", "fp4") for k in WIDE]


def pair_text(name: str, kind: str, place: int, random: bool) -> str:
    part = 8 if name == "fp4" else 16
    sources = {False: "v2, v4" if kind == "f32" else "v2", True: "v[2:3]" if kind == "f32" else "v2"}[random]
    sources += f", {RANDOM}" if random else ""
    where = op_sel(part, place, 2 + (part == 16 and kind == "f32"))
    return f"v_cvt_scalef32_{'sr_' if random else ''}pk_{name}_{kind} v10, {sources}, {SCALE}{where}"


@pytest.mark.parametrize(("name", "kind"), NARROW_PAIRS)
@settings(max_examples=3, deadline=None)
@given(seed=seeds, mask=masks)
def test_two_numbers_are_narrowed_into_a_part(name: str, kind: str, seed: int, mask: int) -> None:
    """To nearest, and at random where there is such an instruction: the second number with the next random one."""
    rng, part = np.random.default_rng(seed), 8 if name == "fp4" else 16
    places = range(32 // part)
    texts = {f"p{p}": pair_text(name, kind, p, False) for p in places}
    if name == "fp4":
        texts |= {f"r{p}": pair_text(name, kind, p, True) for p in places}
    on = bench(TARGET, texts)
    values = np.array([numbers(rng, kind, on.lanes) for _ in range(2)])
    scale, old = scales(rng, on.lanes), rng.integers(0, 2**32, on.lanes, np.uint32)
    random, lanes = rng.integers(0, 2**32, on.lanes, np.uint32), active(mask, on.lanes)
    rows = {8: scale, 9: random, 10: old} | ({} if kind == "f32" else {2: joined(*values)})
    low, high = (nearest(v, scale, name) for v in values)
    for place in places:
        sources = {2: values[0], 4: values[1]} if kind == "f32" else {}
        found = on.run(f"p{place}", sources | rows, exec_mask=mask).vector(10)
        compare(found, (low, high), old, lanes, name, part, place)
    low, high = at_random(values[0], scale, random, name), at_random(values[1], scale, prng(random), name)
    for place in places if name == "fp4" else ():
        sources = {2: values[0], 3: values[1]} if kind == "f32" else {}
        found = on.run(f"r{place}", sources | rows, exec_mask=mask).vector(10)
        compare(found, (low, high), old, lanes, name, part, place)


def compare(found: Array, codes: tuple[Array, ...], old: Array, lanes: Array, name: str, part: int, place: int) -> None:
    """The codes in one part of the destination, all else as it was."""
    bits = BITS[name]
    np.testing.assert_array_equal(put(found, 0 * old, part, place), put(old, 0 * old, part, place))
    for i, code in enumerate(codes):
        new = found >> np.uint32(part * place + bits * i) & np.uint32((1 << bits) - 1)
        kept = old >> np.uint32(part * place + bits * i) & np.uint32((1 << bits) - 1)
        same(new[lanes], code[lanes], name, f"number {i}")
        np.testing.assert_array_equal(new[~lanes], kept[~lanes])


@pytest.mark.parametrize("name", ["fp8", "bf8"])
@settings(max_examples=4, deadline=None)
@given(seed=seeds, mask=masks)
def test_one_number_is_narrowed_at_random_into_a_byte(name: str, seed: int, mask: int) -> None:
    """From all three formats."""
    rng, place = np.random.default_rng(seed), seed % 4
    texts = {
        f"{k}{p}": f"v_cvt_scalef32_sr_{name}_{k} v10, v2, {RANDOM}, {SCALE}{op_sel(8, p, 2)}"
        for k in WIDE for p in range(4)
    }  # fmt: skip
    on = bench(TARGET, texts)
    scale, random, old = scales(rng, on.lanes), *rng.integers(0, 2**32, (2, on.lanes), np.uint32)
    for kind in WIDE:
        values = numbers(rng, kind, on.lanes)
        rows = {2: values.view(f"u{values.dtype.itemsize}"), 8: scale, 9: random, 10: old}
        found = on.run(f"{kind}{place}", rows, exec_mask=mask).vector(10)
        wanted = at_random(values, scale, random, name)
        compare(found, (wanted,), old, active(mask, on.lanes), name, 8, place)


@pytest.mark.parametrize("name", ["f16", "bf16"])
@settings(max_examples=4, deadline=None)
@given(seed=seeds, mask=masks)
def test_f32_is_narrowed_to_16_bits_at_random(name: str, seed: int, mask: int) -> None:
    """Into either half, without a scale."""
    rng = np.random.default_rng(seed)
    head = f"v_cvt_sr_{name}_f32 v10, v2, {RANDOM}"
    on = bench(TARGET, {"h0": head, "h1": f"{head} op_sel:[0,0,1]"})
    values, one = numbers(rng, "f32", on.lanes), np.full(on.lanes, 0x3F800000, np.uint32)
    random, old = rng.integers(0, 2**32, (2, on.lanes), np.uint32)
    for half in (0, 1):
        found = on.run(f"h{half}", {2: values, 9: random, 10: old}, exec_mask=mask).vector(10)
        codes = (at_random(values, one, random, name),)
        compare(found, codes, old, active(mask, on.lanes), name, 16, half)


def widened(codes: Array, scale: Array, name: str, kind: str) -> Array:
    with np.errstate(all="ignore"):
        return (number(codes, name) * powers(scale)).astype(np.float32).astype(WIDE[kind])


def equal(found: Array, wanted: Array) -> None:
    """The same numbers, zeros with their signs; a NaN is a NaN."""
    whole = f"u{wanted.dtype.itemsize}"
    bits = (np.where(np.isnan(v), v.dtype.type(np.nan), v).view(whole) for v in (found, wanted))
    np.testing.assert_array_equal(*bits)


@pytest.mark.parametrize(("name", "kind"), NARROW_PAIRS)
@settings(max_examples=3, deadline=None)
@given(seed=seeds)
def test_two_codes_are_widened(name: str, kind: str, seed: int) -> None:
    """Of any half, or byte, of the source."""
    rng, part = np.random.default_rng(seed), 8 if name == "fp4" else 16
    to = "v[10:11]" if kind == "f32" else "v10"
    head = f"v_cvt_scalef32_pk_{kind}_{name} {to}, v2, {SCALE}"
    on = bench(
        TARGET,
        {f"p{p}": head + op_sel(part, p, 0)[:-1] + ",0" * (2 if part == 16 else 1) + "]" for p in range(32 // part)},
    )
    source, scale = rng.integers(0, 2**32, on.lanes, np.uint32), scales(rng, on.lanes)
    for place in range(32 // part):
        outcome = on.run(f"p{place}", {2: source, 8: scale})
        bits = BITS[name]
        codes = [source >> np.uint32(part * place + bits * i) & np.uint32((1 << bits) - 1) for i in range(2)]
        for i, code in enumerate(codes):
            if kind == "f32":
                found = outcome.vector(10 + i, np.float32)
            else:
                found = (outcome.vector(10) >> np.uint32(16 * i)).astype(np.uint16).view(WIDE[kind])
            equal(found, widened(code, scale, name, kind))


@pytest.mark.parametrize("name", ["fp8", "bf8"])
@settings(max_examples=3, deadline=None)
@given(seed=seeds, mask=masks)
def test_one_code_is_widened(name: str, seed: int, mask: int) -> None:
    """Any byte, to f32 or into either half as f16."""
    rng, byte, half = np.random.default_rng(seed), seed % 4, seed >> 2 & 1
    texts = {f"f32{b}": f"v_cvt_scalef32_f32_{name} v10, v2, {SCALE} op_sel:[{b & 1},{b >> 1},0]" for b in range(4)}
    texts |= {
        f"f16{b}{h}": f"v_cvt_scalef32_f16_{name} v10, v2, {SCALE} op_sel:[{b & 1},{b >> 1},{h}]"
        for b in range(4) for h in range(2)
    }  # fmt: skip
    on = bench(TARGET, texts)
    source, old = rng.integers(0, 2**32, (2, on.lanes), np.uint32)
    scale = scales(rng, on.lanes)
    lanes = active(mask, on.lanes)
    code = source >> np.uint32(8 * byte) & np.uint32(0xFF)
    found = on.run(f"f32{byte}", {2: source, 8: scale, 10: old}, exec_mask=mask).vector(10)
    equal(found.view(np.float32)[lanes], widened(code, scale, name, "f32")[lanes])
    np.testing.assert_array_equal(found[~lanes], old[~lanes])
    found = on.run(f"f16{byte}{half}", {2: source, 8: scale, 10: old}, exec_mask=mask).vector(10)
    new = (found >> np.uint32(16 * half)).astype(np.uint16).view(np.float16)
    equal(new[lanes], widened(code, scale, name, "f16")[lanes])
    np.testing.assert_array_equal(put(found, 0 * old, 16, half), put(old, 0 * old, 16, half))


# 32 numbers at once. The sources are built from v2…v7 by masks, and what comes out is stored behind the results.
FIRST, ROW = 24, 256
XOR = np.random.default_rng(950).integers(0, 2**32, 32, np.uint32)


def built(count: int) -> str:
    return "\n".join(f"v_xor_b32 v{FIRST + i}, {XOR[i]:#x}, v{2 + i % 6}" for i in range(count))


def stored(first: int, count: int) -> str:
    lines = []
    for i in range(count):
        if i % 8 == 0:
            lines.append(f"v_add_u32 v1, {13 * ROW if i == 0 else 8 * ROW}, v1")
        lines.append(f"global_store_dword v1, v{first + i}, s[18:19] offset:{i % 8 * ROW}")
    back = 13 * ROW + (count - 1) // 8 * 8 * ROW
    return "\n".join([*lines, f"v_subrev_u32 v1, {back:#x}, v1"])


def many(kind: str) -> int:
    return 32 if kind == "f32" else 16


def wide_texts() -> dict[str, str]:
    texts = {}
    for name in ("fp6", "bf6"):
        for kind in WIDE:
            n, source = many(kind), f"v[{FIRST}:{FIRST + many(kind) - 1}]"
            texts[f"widen_{name}_{kind}"] = (
                f"v_cvt_scalef32_pk32_{kind}_{name} {source}, v[2:7], {SCALE}\n{stored(FIRST, n)}"
            )
            random = f"v_cvt_scalef32_sr_pk32_{name}_{kind} v[56:61], {source}, {RANDOM}, {SCALE}"
            texts[f"random_{name}_{kind}"] = f"{built(n)}\n{random}\n{stored(56, 6)}"
            near = (
                f"2xpk16_{name}_f32 v[56:61], v[24:39], v[40:55]"
                if n == 32
                else f"pk32_{name}_{kind} v[56:61], {source}"
            )
            texts[f"near_{name}_{kind}"] = f"{built(n)}\nv_cvt_scalef32_{near}, {SCALE}\n{stored(56, 6)}"
    return texts


def codes_of(rows: Array) -> Array:
    """The 32 codes of six bits in six registers."""
    bits = np.unpackbits(np.ascontiguousarray(rows.T).view(np.uint8), axis=1, bitorder="little")
    return (bits.reshape(-1, 32, 6) * (1 << np.arange(6))).sum(-1).T


@pytest.mark.parametrize("name", ["fp6", "bf6"])
@settings(max_examples=2, deadline=None)
@given(seed=seeds)
def test_32_numbers_at_once(name: str, seed: int) -> None:
    """Six bits each, one after the other; f32 to nearest take turns between the two sources."""
    on, rng = bench(TARGET, wide_texts()), np.random.default_rng(seed)
    base = np.array([numbers(rng, "f32", on.lanes).view(np.uint32) for _ in range(6)])
    scale, random = scales(rng, on.lanes), rng.integers(0, 2**32, on.lanes, np.uint32)
    rows = {2 + i: base[i] for i in range(6)} | {8: scale, 9: random}
    for kind in WIDE:
        n = many(kind)
        found = on.run(f"widen_{name}_{kind}", rows, more=n).words[13:]
        for i, code in enumerate(codes_of(base)):
            word = found[i] if n == 32 else (found[i // 2] >> np.uint32(16 * (i % 2))).astype(np.uint16)
            equal(word.view(WIDE[kind]), widened(code, scale, name, kind))
        sources = np.array([XOR[i] ^ base[i % 6] for i in range(n)])
        values = [w.view(WIDE[kind]) for w in sources]
        if n == 16:
            values = [h.astype(np.uint16).view(WIDE[kind]) for w in sources for h in (w & 0xFFFF, w >> np.uint32(16))]
        found = codes_of(on.run(f"random_{name}_{kind}", rows, more=6).words[13:])
        turn = random
        for i, value in enumerate(values):
            same(found[i], at_random(value, scale, turn, name), name, f"{kind} {i}")
            turn = prng(turn)
        found = codes_of(on.run(f"near_{name}_{kind}", rows, more=6).words[13:])
        order = [v for both in zip(values[:16], values[16:], strict=True) for v in both] if n == 32 else values
        for i, value in enumerate(order):
            same(found[i], nearest(value, scale, name), name, f"{kind} {i}")
