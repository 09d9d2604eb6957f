"""Every matrix instruction of every target equals the product of matrices, in f64 or in integers, in both tiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.matrix_bench import TYPES, Array, Form, names, run

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
INTEGERS = ("i8", "iu8", "iu4")


def forms(target: str) -> list[Form]:
    """Each instruction plain, and with the modifiers that change what it computes."""
    found = []
    for name in names(target):
        plain = Form(target, name)
        if "f8f6f4" in name:
            pairs = [(i, (i + step) % 5) for step in ((0, 2) if "scale_f32_16" in name else (2,)) for i in range(5)]
            scales = [" op_sel_hi:[0,0,0]", " op_sel:[1,0,0] op_sel_hi:[0,1,0]"] if plain.parts[2] else [""]
            found += [
                Form(
                    target,
                    name,
                    f"{scales[(a + b) % len(scales)]} cbsz:{a} blgp:{b}".replace("cbsz:0", "").replace("blgp:0", ""),
                )
                for a, b in pairs
            ]
            continue
        found.append(plain)
        if not plain.is_sparse:
            found.append(Form(target, name, constant="1.0" if plain.result != "i32" else "-7"))
        found += [Form(target, name, suffix) for suffix in modifiers(plain)]
    return found


def modifiers(form: Form) -> list[str]:
    """What an instruction's encoding allows, one or two of each."""
    family, kind = form.parts[1], form.kinds[0]
    if family == "smfmac":
        return ["cbsz:1 abid:1", "abid:1"] if index_sets(form) > 1 else []
    if family == "mfma":
        if form.result == "f64":
            return ["neg:[1,0,1]" if form.target != "gfx90a" else "blgp:5"]
        found = ["cbsz:1 abid:1"] if form.blocks > 1 else []
        return found + (
            ["blgp:1", "blgp:3", "blgp:6"]
            if kind in ("f32", "f16", "bf16") and form.size == 32 and form.blocks > 1
            else []
        )
    found = ["index_key:1"] if family == "swmmac" and index_sets(form) > 1 else []
    if kind in INTEGERS:
        return [*found, "neg_lo:[1,1,0]", "neg_lo:[0,1,0] clamp", "neg_lo:[1,0,0]"]
    if family == "wmma":
        found += ["neg_lo:[0,0,1] neg_hi:[0,0,1]"]
        if kind in ("f16", "bf16"):
            found += ["neg_lo:[1,0,0] neg_hi:[1,1,0]"]
        if form.target == "gfx1100" and form.result in ("f16", "bf16"):
            found += ["op_sel:[0,0,1]"]
    return found


def index_sets(form: Form) -> int:
    """Parts of the index register of which an instruction uses one."""
    return 32 // form.per_lane


FORMS = {target: tuple(forms(target)) for target in TARGETS}
EACH = [form for target in TARGETS for form in FORMS[target]]

# compiled code calls the same function of registers in memory: one per kind of instruction tells
COMPILED = {(f.target, f.parts[1], f.result, f.size): f for f in EACH}.values()
CONSTANT = {(f.target, f.parts[1], f.result, f.size): f for f in EACH if f.constant}.values()


def numbers(rng: np.random.Generator, form: Form, kind: str, shape: tuple[int, ...]) -> Array:
    """Values of a type as f64 or int64: all integers; floats of moderate size with zeros and subnormals."""
    if kind in (*INTEGERS, "i32"):
        half = 1 << (TYPES[kind][0] - 1)
        return rng.integers(-half, half, shape)
    scale = np.exp2(rng.integers(-2, 3, shape)) * np.where(rng.random(shape) < 0.05, 2.0**-14, 1)
    value = rng.standard_normal(shape) * scale * (rng.random(shape) < 0.95)
    if kind == "xf32":
        return (value.astype(np.float32).view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64)
    return value.astype(form.dtype(kind)).astype(np.float64)


def signed_as(values: Array, kind: str, is_signed: bool) -> Array:
    """The same bits read as unsigned, where the instruction says so."""
    return values if kind == "i8" or is_signed else values & ((1 << TYPES[kind][0]) - 1)


def negated(values: Array, form: Form, which: int, k: Array) -> Array:
    """A or B with neg_lo and neg_hi, on even and odd elements of 16 bits."""
    odd = (form.modifier("neg_hi") >> which & 1, form.modifier("neg_lo") >> which & 1)
    return values * np.where(np.where(k % 2, odd[0], odd[1]), -1, 1)


def parameter(form: Form) -> Any:
    """Left to the slow tests: what gfx950 shares with gfx942, modifiers that gfx90a shares with it, and constants but
    for one instruction of each kind.
    """
    again = form.target == "gfx950" and form.name in names("gfx942") and "p8" not in form.name and "f8" not in form.name
    again |= form.target == "gfx90a" and form.result != "f64" and bool(form.suffix or form.constant)
    again |= bool(form.constant) and form not in CONSTANT
    name = f"{form.target}-{form.key[2:]}"
    return pytest.param(form, id=name, marks=[pytest.mark.slow] if again else [])


@pytest.mark.parametrize("form", [parameter(form) for form in EACH])
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32 - 1))
def test_matrix_instruction(form: Form, seed: int) -> None:
    """D = A·B + C for every block, with the modifiers' effect on sources, index, C and result."""
    rng = np.random.default_rng(seed)
    a_kind, b_kind = form.kinds
    kept = form.k // 2 if form.is_sparse else form.k
    a = numbers(rng, form, a_kind, (form.blocks, form.size, kept))
    b = numbers(rng, form, b_kind, (form.blocks, form.k, form.size))
    c = numbers(rng, form, form.result, (form.blocks, form.size, form.size))
    block, at, k = form.source_place(a_kind, form.is_sparse)
    operands = {"a": form.pack(a[block, at, k], a_kind)}
    block, at, k = form.source_place(b_kind)
    operands["b"] = form.pack(b[block, k, at], b_kind)
    place = form.result_place()
    if not form.constant:
        operands["c"] = c_registers(rng, form, c[place])
    a, b = meant(rng, form, a, b, operands)
    c = np.full_like(c, float(form.constant)) if form.constant else c
    words = run(form, FORMS[form.target], operands)
    if form in COMPILED:
        np.testing.assert_array_equal(run(form, FORMS[form.target], operands, compiled=True), words)
    compare(form, words, (a, b, c))


def c_registers(rng: np.random.Generator, form: Form, values: Array) -> Array:
    if form.target == "gfx1100" and form.result in ("f16", "bf16"):
        half = form.pack(np.stack([values, values], -1).reshape(len(values), -1), form.result)
        other = rng.integers(0, 2**16, half.shape)
        high = form.modifier("op_sel") >> 2 & 1
        return half & 0xFFFF0000 | other if high else half & 0xFFFF | other << 16
    return form.pack(values, form.result)


def meant(rng: np.random.Generator, form: Form, a: Array, b: Array, operands: dict[str, Array]) -> tuple[Array, Array]:
    """A and B as the instruction reads them; adds the registers of indices and scales to `operands`."""
    a_kind, b_kind = form.kinds
    lane = np.arange(form.lanes)
    if a_kind in INTEGERS:
        a, b = (
            signed_as(v, n, bool(form.modifier("neg_lo") >> i & 1))
            for i, (v, n) in enumerate(((a, a_kind), (b, b_kind)))
        )
    elif form.parts[1] == "wmma":
        a = negated(a, form, 0, np.arange(form.k))
        b = negated(b, form, 1, np.arange(form.k)[:, None])
    elif form.parts[1] == "mfma" and form.result == "f64":
        bits = form.modifier("neg") | form.modifier("blgp")
        a, b = (-a if bits & 1 else a), (-b if bits & 2 else b)
    if form.parts[1] == "mfma" and form.result != "f64" and "f8f6f4" not in form.name:
        if form.modifier("cbsz"):
            a = a[np.arange(form.blocks) // 2 * 2 + form.modifier("abid")]
        b = b_of_lanes(form, b)
    if form.is_sparse:
        sets, width = index_sets(form), form.per_lane
        first = np.sort(np.stack([rng.permutation(4)[:2] for _ in range(form.lanes * form.per_lane // 4)]), 1)
        codes = (first[:, 0] | first[:, 1] << 2).reshape(form.lanes, -1)
        index = (codes << 4 * np.arange(codes.shape[1])).sum(1)
        chosen = form.modifier("index_key") or (0 if form.modifier("cbsz") else form.modifier("abid"))
        noise = rng.integers(0, 2**32, form.lanes)
        mask = ((1 << width) - 1) << chosen * width
        operands["x"] = ((noise & ~mask) | index << chosen * width if sets > 1 else index)[None]
        _, row, k = form.source_place(a_kind, True)
        dense = np.zeros((1, form.size, form.k))
        where = first.reshape(form.lanes, -1) + 4 * (np.arange(k.shape[1]) // 2)
        dense[0, row, lane[:, None] // form.size * form.per_lane + where] = a[0, row, k]
        a = dense
    elif form.parts[2]:
        a, b = scaled(rng, form, a, b, operands)
    return a, b


def b_of_lanes(form: Form, b: Array) -> Array:
    """BLGP: lanes of B taken from others, by the pattern's row of the manual's table."""
    pattern = form.modifier("blgp")
    if not pattern:
        return b
    lane = np.arange(64)
    source = {1: lane % 32, 2: lane % 32 + 32, 3: (lane + 16) % 64, 6: lane % 16 + 32}[pattern]
    block, at, k = form.source_place(form.kinds[1])
    moved = np.empty_like(b)
    moved[block, k, at] = b[block[source], k[source], at[source]]
    return moved


def scaled(rng: np.random.Generator, form: Form, a: Array, b: Array, operands: dict[str, Array]) -> tuple[Array, Array]:
    """Powers of two per 32 values of k, in one byte of a register of each."""
    found: list[Array] = []
    for which, (name, values) in enumerate((("x", a), ("y", b.swapaxes(1, 2)))):
        words = rng.integers(0, 2**32, form.lanes)
        exponents = rng.integers(110, 140, (form.size, form.k // 32))
        byte = 8 * ((form.modifier("op_sel") >> which & 1) + 2 * (form.modifier("op_sel_hi") >> which & 1))
        lane = np.arange(form.lanes)
        operands[name] = ((words & ~(0xFF << byte)) | exponents[lane % form.size, lane // form.size] << byte)[None]
        found.append(values * np.exp2(np.repeat(exponents, 32, 1) - 127.0))
    return found[0], found[1].swapaxes(1, 2)


def compare(form: Form, words: Array, matrices: tuple[Array, Array, Array]) -> None:
    """Integers exactly, floats within the roundings of the sum and of the result."""
    a, b, c = matrices
    place = form.result_place()
    if form.result == "i32":
        total = (a.astype(np.int64) @ b.astype(np.int64) + c.astype(np.int64))[place]
        if form.suffix.endswith("clamp"):
            total = np.clip(total, -(2**31), 2**31 - 1)
        np.testing.assert_array_equal(form.unpack(words, "i32"), total.astype(np.int32))
        return
    bits = form.modifier("neg_hi") >> 2 & 1, (form.modifier("neg_lo") | form.modifier("neg")) >> 2 & 1
    c = np.abs(c) if bits[0] else c
    c = -c if bits[1] or (form.result == "f64" and form.modifier("blgp") & 4) else c
    expected, size = (a @ b + c)[place], (np.abs(a) @ np.abs(b) + np.abs(c))[place]
    got = form.unpack(words, form.result)
    if form.target == "gfx1100" and form.result in ("f16", "bf16"):
        high = form.modifier("op_sel") >> 2 & 1
        halves = got.reshape(form.lanes, -1, 2)
        assert not halves[..., 1 - high].any()
        got = halves[..., high]
    rounding = {"f64": 2.0**-52, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}[form.result]
    sums = 2.0 ** (-53 if form.result == "f64" else -24) * form.k
    tolerance = size * sums + np.abs(expected) * rounding + 2.0**-24
    difference = np.abs(got.astype(np.float64) - expected)
    assert (difference <= (tolerance if form.result in ("f16", "bf16") else size * (sums + rounding))).all()
