"""Atomics with two operands, by scalars and for the whole wave; LDS and memory without a vector address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from rocmkern.emulator.machine import Machine
from rocmkern.emulator.observers.checker import CHECKED
from rocmkern.errors import MemoryFault, UnsupportedInstruction
from tests.emulator.cases import active, integers, masks, seeds, values
from tests.emulator.instructions import Bench, Dialect, bench, knows
from tests.emulator.test_meaning_memory import FIRST, INTEGER, RETURNS, ROWS, SHORT, load, place, signed, steps, store
from tests.samples import assemble

Array = NDArray[Any]
TARGETS = ("gfx90a", "gfx1030", "gfx1100", "gfx1201")
ALL32 = 0xFFFFFFFF


def lds(target: str, what: str, bits: int = 32) -> str:
    old = {"load": "read", "store": "write"}[what]
    return f"ds_{what if target in SHORT else old}_b{bits}"


def whole_wave(target: str, *lines: str) -> list[str]:
    """Lines that run with all lanes on."""
    d = Dialect(target)
    bits, kept = ("b64", "s[44:45]") if d.wide else ("b32", "s44")
    lanes = d.mask("exec")
    return [f"s_mov_{bits} {kept}, {lanes}", f"s_mov_{bits} {lanes}, -1", *lines, f"s_mov_{bits} {lanes}, {kept}"]


def marked(old: int, data: int) -> int:
    """Each dword whose highest bit is set, without that bit; the others stay."""
    halves = [((old >> shift) & ALL32, (data >> shift) & ALL32) for shift in (0, 32)]
    low, high = (new & 0x7FFFFFFF if new >> 31 else kept for kept, new in halves)
    return low | high << 32


def where_equal(old: Array, comparand: Array, new: Array) -> Array:
    return np.where(old == comparand, new.view(f"u{new.itemsize}"), old.view(f"u{old.itemsize}"))


TWO: dict[str, tuple[str, Callable[[Array, Array, Array], Array]]] = {
    "ds_mskor_rtn_b32": ("u32", lambda old, a, b: old & ~a | b),
    "ds_mskor_rtn_b64": ("u64", lambda old, a, b: old & ~a | b),
    "ds_wrap_rtn_b32": ("u32", lambda old, a, b: np.where(old >= a, old - a, old + b)),
    "ds_cmpst_rtn_f32": ("f32", where_equal),
    "ds_cmpst_rtn_f64": ("f64", where_equal),
    "ds_cmpstore_rtn_f32": ("f32", lambda old, a, b: where_equal(old, b, a)),
    "ds_cmpstore_rtn_f64": ("f64", lambda old, a, b: where_equal(old, b, a)),
    "ds_condxchg32_rtn_b64": ("u64", lambda old, a, b: np.frompyfunc(marked, 2, 1)(old, a).astype(np.uint64)),
    "global_atomic_fcmpswap": ("f32", lambda old, a, b: where_equal(old, b, a)),
    "global_atomic_fcmpswap_x2": ("f64", lambda old, a, b: where_equal(old, b, a)),
    "global_atomic_cmpswap_f32": ("f32", lambda old, a, b: where_equal(old, b, a)),
}


def ordered(old: Array, data: Array, choose: Callable[[Array, Array], Array]) -> Array:
    """The bits of the smaller or larger, -0 below 0; numbers win over quiet NaNs, signalling ones are the result."""
    signed: Any = np.dtype(f"i{old.itemsize}")
    most = np.iinfo(signed).max
    x, y = (np.where(v.view(signed) < 0, v.view(signed) ^ most, v.view(signed)) for v in (old, data))
    chosen = choose(x, y)
    number = np.where(chosen < 0, chosen ^ most, chosen).view(old.dtype)
    quiet = 1 << np.finfo(old.dtype).nmant - 1
    bad = [np.isnan(v) & (v.view(signed) & quiet == 0) for v in (old, data)]
    number = np.where(np.isnan(old), data, np.where(np.isnan(data), old, number))
    return np.where(bad[0] | bad[1], np.array(np.nan, old.dtype), number)


def on_two_operands(target: str, name: str, kind: str) -> str:
    """v[6:7] to memory, the operation with v[4:5] and the registers behind them, memory to v[12:13]."""
    bits = 64 if kind.endswith("64") else 32
    start, a, b, result, again = (
        f"v[{r}:{r + 1}]" if bits == 64 else f"v{r}" for r in (6, 4, 8, 10, 12)
    )  # fmt: skip
    if name.startswith("global"):
        where, data = "s[18:19]", a if name not in TWO else "v[4:7]" if bits == 64 else "v[4:5]"
        return steps(
            target,
            f"{store(target, bits)} v2, {b}, {where}",
            f"{name} {result}, v2, {data}, {where} {RETURNS[target]}",
            f"{load(target, bits)} {again}, v2, {where}",
        )
    return steps(
        target,
        f"{lds(target, 'store', bits)} v2, {start} offset:8",
        f"{name} {result}, v2, {f'{a}, {b}' if name in TWO and 'condxchg' not in name else a} offset:8",
        f"{lds(target, 'load', bits)} {again}, v2 offset:8",
    )


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=6, deadline=None)
@given(seed=seeds, mask=masks)
def test_atomics_of_two_operands(target: str, seed: int, mask: int) -> None:
    """The old value comes back; memory holds what the ISA says, -0 equal to 0 and NaN to nothing."""
    names = [name for name in TWO if knows(target, name)]
    assert len(names) >= 3
    on = bench(target, {name: on_two_operands(target, name, TWO[name][0]) for name in names})
    rng, lanes = np.random.default_rng(seed), active(mask, on.lanes)
    for name in names:
        kind, define = TWO[name]
        bits: Any = np.uint64 if kind.endswith("64") else np.uint32
        old, a, b = (values(rng, kind, on.lanes) for _ in range(3))
        a, b = (np.where(rng.random(on.lanes) < 0.4, old, x) for x in (a, b))
        if kind[0] == "f":
            old[:2], a[:2], b[:2] = (0.0, np.nan), (-0.0, np.nan), (-0.0, np.nan)
        kept = integers(rng, f"u{kind[1:]}", on.lanes)
        inputs = {2: place(on.lanes), 4: a, 8: old, 10: kept, 12: kept, 4 + old.itemsize // 4: b}
        if not name.startswith("global"):
            inputs |= {2: place(on.lanes) % 1024, 6: old, 8: b}
        outcome = on.run(name, inputs, exec_mask=mask, more=ROWS)
        with np.errstate(invalid="ignore"):
            after = define(old, a, b)
        np.testing.assert_array_equal(outcome.vector(10, bits), np.where(lanes, old.view(bits), kept), name)
        np.testing.assert_array_equal(outcome.vector(12, bits), np.where(lanes, after, kept), name)


ORDERED = {
    name: (kind, np.minimum if "min" in name else np.maximum)
    for kind, names in (
        ("f32", "ds_{}_rtn_f32 ds_{}_num_rtn_f32 global_atomic_f{} global_atomic_{}_f32 global_atomic_{}_num_f32"),
        ("f64", "ds_{}_rtn_f64 ds_{}_num_rtn_f64 global_atomic_f{}_x2 global_atomic_{}_f64"),
    )
    for pattern in names.split()
    for name in (pattern.format("min"), pattern.format("max"))
}


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=6, deadline=None)
@given(seed=seeds, mask=masks)
def test_least_and_greatest_float(target: str, seed: int, mask: int) -> None:
    """Special values too: the sign of a zero counts, any NaN stands for any other."""
    names = [name for name in ORDERED if knows(target, name)]
    assert len(names) >= 6
    on = bench(target, {name: on_two_operands(target, name, ORDERED[name][0]) for name in names})
    rng, lanes = np.random.default_rng(seed), active(mask, on.lanes)
    for name in names:
        kind, choose = ORDERED[name]
        old, data = (values(rng, kind, on.lanes) for _ in range(2))
        old[:2], data[:2] = (0.0, -0.0), (-0.0, 0.0)
        inputs = {2: place(on.lanes) % 1024, 4: data, 6: old}
        if name.startswith("global"):
            inputs = {2: place(on.lanes), 4: data, 8: old}
        outcome = on.run(name, inputs, exec_mask=mask, more=ROWS)
        got, wanted = outcome.vector(12, old.dtype.type)[lanes], ordered(old, data, choose)[lanes]
        np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted), name)
        bits = [np.where(np.isnan(wanted), 0, v).view(f"u{old.itemsize}") for v in (got, wanted)]
        np.testing.assert_array_equal(*bits, name)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=6, deadline=None)
@given(seed=seeds, mask=masks)
def test_append_and_consume_count_active_lanes(target: str, seed: int, mask: int) -> None:
    """Once for the wave, at M0 plus the offset; active lanes get the value before."""
    texts = {
        name: steps(
            target,
            *whole_wave(target, "v_mov_b32 v3, s24", f"{lds(target, 'store')} v3, v6"),
            "s_mov_b32 m0, 20",
            f"{name} v10 offset:8",
            *whole_wave(target, f"{lds(target, 'load')} v11, v3"),
        )
        for name in ("ds_append", "ds_consume")
    }
    on = bench(target, texts)
    rng, lanes = np.random.default_rng(seed), active(mask, on.lanes)
    kept, start = integers(rng, "u32", on.lanes), int(integers(rng, "u32", 1)[0])
    for name, step in (("ds_append", 1), ("ds_consume", -1)):
        inputs = {6: np.full(on.lanes, start, np.uint32), 10: kept}
        outcome = on.run(name, inputs, exec_mask=mask, scalars=(28,))
        np.testing.assert_array_equal(outcome.vector(10), np.where(lanes, start, kept), name)
        assert set(outcome.vector(11).tolist()) == {start + step * int(lanes.sum()) & ALL32}, name


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=6, deadline=None)
@given(seed=seeds, mask=masks)
def test_addresses_by_lane(target: str, seed: int, mask: int) -> None:
    """Lane i goes 4i behind M0, or the scalar address, and the offset."""
    read, write = (named.replace("_b32", "_addtid_b32") for named in (lds(target, "load"), lds(target, "store")))
    texts = {
        "lds": steps(
            target,
            "s_mov_b32 m0, 12",
            f"{write} v4 offset:4",
            f"{lds(target, 'load')} v10, v1 offset:16",
            f"{read} v11 offset:4",
        )
    }
    if target != "gfx90a":
        read, write = (
            named.replace("_b32", "_addtid_b32").replace("dword", "dword_addtid")
            for named in (load(target, 32), store(target, 32))
        )
        texts["global"] = steps(
            target,
            f"{write} v4, s[18:19] offset:{FIRST * 128}",
            f"{load(target, 32)} v10, v1, s[18:19] offset:{FIRST * 128}",
            f"{read} v11, s[18:19] offset:{FIRST * 128}",
        )
    on = bench(target, texts)
    rng, lanes = np.random.default_rng(seed), active(mask, on.lanes)
    x, kept = (integers(rng, "u32", on.lanes) for _ in range(2))
    for name in texts:
        outcome = on.run(name, {4: x, 10: kept, 11: kept}, exec_mask=mask, more=1)
        for register in (10, 11):
            np.testing.assert_array_equal(outcome.vector(register), np.where(lanes, x, kept), name)
        if name == "global":
            np.testing.assert_array_equal(outcome.words[FIRST], np.where(lanes, x, 0))


OFFSET = FIRST * 256
SCALAR = INTEGER | {("smin", "min_i"): min, ("smax", "max_i"): max}
RESOURCE = "s_mov_b64 s[44:45], s[18:19]\n s_mov_b64 s[46:47], -1\n "


def scalar_atomic(name: str) -> str:
    """s[24:25] to memory, the operation with s[40:41] (or s[40:43], a copy of s[28:31]), memory to VCC."""
    count = (2 if "cmpswap" in name else 1) * (2 if name.endswith("_x2") else 1)
    data = "s40" if count == 1 else f"s[40:{39 + count}]"
    where = "s[44:47]" if "buffer" in name else "s[18:19]"
    return f"{RESOURCE}" + steps(
        "gfx90a",
        f"s_store_dwordx2 s[24:25], s[18:19], {OFFSET}",
        f"{name} {data}, {where}, {OFFSET} glc",
        f"s_load_dwordx2 vcc, s[18:19], {OFFSET}",
    )


@settings(max_examples=6, deadline=None)
@given(seed=seeds, mask=masks)
def test_scalar_atomics(seed: int, mask: int) -> None:
    """Once, whatever EXEC is; the old value replaces the data."""
    names = {
        f"{space}_atomic_{old}{tail}": (function if old not in ("smin", "smax") else signed(function, bits), bits)
        for space in ("s", "s_buffer")
        for (old, _), function in SCALAR.items()
        for tail, bits in (("", 32), ("_x2", 64))
    }
    swaps = {f"{s}_atomic_cmpswap{tail}": bits for s in ("s", "s_buffer") for tail, bits in (("", 32), ("_x2", 64))}
    on = bench("gfx90a", {name: scalar_atomic(name) for name in (*names, *swaps)})
    rng = np.random.default_rng(seed)
    old, new, comparand = (int(v) for v in integers(rng, "u64", 3))
    comparand = old if seed % 2 else comparand
    for name, (function, bits) in names.items():
        full, rest = (1 << bits) - 1, old >> bits << bits
        outcome = on.run(name, {}, exec_mask=mask, scalars=dwords(old, 0, new), more=1)
        assert outcome.s40 & full == old & full, name
        assert outcome.vcc == rest | function(old & full, new & full) & full, name
    for name, bits in swaps.items():
        full, rest = (1 << bits) - 1, old >> bits << bits
        data = new & full | (comparand & full) << bits
        outcome = on.run(name, {}, exec_mask=mask, scalars=dwords(old, 0, data, data >> 64), more=1)
        after = new if (old ^ comparand) & full == 0 else old
        assert outcome.s40 & full == old & full, name
        assert outcome.vcc == rest | after & full, name


def dwords(*pairs: int) -> tuple[int, ...]:
    return tuple(part for pair in pairs for part in (pair & ALL32, pair >> 32 & ALL32))


def test_scalar_scratch_counts_its_scalar_offset_in_64_bytes() -> None:
    """Base, plus the immediate offset, plus 64 times the scalar."""
    text = steps(
        "gfx90a",
        f"s_mov_b32 s44, {OFFSET // 64}",
        "s_scratch_store_dwordx2 s[24:25], s[18:19], s44",
        f"s_load_dwordx2 s[40:41], s[18:19], {OFFSET}",
        "s_scratch_load_dwordx2 s[42:43], s[18:19], s44",
    )
    on = bench("gfx90a", {"k": text})
    for _ in range(2):
        outcome = on.run("k", {}, scalars=(7, 9), more=1)
        assert (outcome.s40, outcome.pair("s42", "s43")) == (7 | 9 << 32, 7 | 9 << 32)
        on.module.program.compile(on.module.kernel("k").kernel)


FAULTY = {
    "s_atomic_add": f"s_atomic_add s24, s[18:19], {OFFSET}",
    "s_store": f"s_store_dword s24, s[18:19], {OFFSET}",
    "append": "s_mov_b32 m0, 0\n ds_append v10",
    "mskor": "ds_mskor_b32 v1, v4, v5",
    "addtid": "s_mov_b32 m0, 3968\n ds_write_addtid_b32 v4",
    "far": "s_mov_b64 s[18:19], 0\n s_atomic_add s24, s[18:19], 0x40",
}
FAULTS = {
    "s_atomic_add": r"atomic of 4 bytes at \S+ outside every allocation .* 0 bytes past the end",
    "s_store": r"store of 4 bytes at \S+ outside every allocation .* 0 bytes past the end",
    "append": "atomic of 4 bytes at .* of memory that nothing wrote",
    "mskor": "atomic of 4 bytes at .* of memory that nothing wrote",
    "addtid": "store of 4 bytes at 0x1000 of LDS by lane 32 .* 4096 bytes of LDS",
    "far": "store of 4 bytes at 0x40 by lane 0",
}


def test_checked_mode_knows_these_accesses() -> None:
    """Accesses behind an allocation, of LDS that nothing wrote, and of none at all."""
    dialect, machine = Dialect("gfx90a"), Machine("gfx90a", CHECKED, timeout_s=60)
    on = Bench(dialect, machine, machine.load(assemble(dialect.source(FAULTY), "gfx90a")))
    for name, fact in FAULTS.items():
        with pytest.raises(MemoryFault, match=f"{name}: {fact}"):
            on.run(name, {})


def test_global_data_share_is_not_taken_for_lds() -> None:
    """An access to GDS is refused with its name."""
    on = bench("gfx1030", {"k": "ds_append v10 gds"})
    with pytest.raises(UnsupportedInstruction, match=r"\(ds_append gds\) has no meaning yet, at pc"):
        on.run("k", {})
