"""Global and flat memory instructions: atomics, narrow access, address forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.emulator.cases import TARGETS, active, floats, integers, masks, seeds
from tests.emulator.instructions import SCALAR_RESULTS, VECTOR_RESULTS, Dialect, bench, knows

Array = NDArray[Any]
SHORT = ("gfx1100", "gfx1201")
RETURNS = {"gfx90a": "glc", "gfx950": "sc0", "gfx1030": "glc", "gfx1100": "glc", "gfx1201": "th:TH_ATOMIC_RETURN"}
ROWS = 4  # of memory behind the results
FIRST = len(VECTOR_RESULTS) + len(SCALAR_RESULTS)


def steps(target: str, *lines: str) -> str:
    wait = Dialect(target).wait
    if target not in ("gfx90a", "gfx950"):
        wait += "\n s_wait_storecnt 0x0" if target == "gfx1201" else "\n s_waitcnt_vscnt null, 0x0"
    return "\n ".join(part for line in lines for part in (line, wait))


def load(target: str, bits: int) -> str:
    return f"global_load_b{bits}" if target in SHORT else "global_load_dword" + ("x2" if bits == 64 else "")


def store(target: str, bits: int) -> str:
    return load(target, bits).replace("load", "store")


def wide(register: int, bits: int) -> str:
    return f"v{register}" if bits == 32 else f"v[{register}:{register + bits // 32 - 1}]"


def exchange(target: str, bits: int, name: str, data: str, start: int) -> str:
    """Stores the registers from `start`, calls the atomic for the old value in v10, and loads the new one to v12."""
    return steps(
        target,
        f"{store(target, bits)} v2, {wide(start, bits)}, s[18:19]",
        f"{name} {wide(10, bits)}, v2, {data}, s[18:19] {RETURNS[target]}",
        f"{load(target, bits)} {wide(12, bits)}, v2, s[18:19]",
    )


def place(lanes: int) -> Array:
    """Byte offsets behind the results, eight bytes a lane, in another order than the lanes'."""
    return (FIRST * lanes * 4 + np.arange(lanes)[::-1] * 8).astype(np.uint32)


INTEGER: dict[tuple[str, str], Callable[[int, int], int]] = {
    ("swap", "swap_b"): lambda old, data: data,
    ("add", "add_u"): lambda old, data: old + data,
    ("sub", "sub_u"): lambda old, data: old - data,
    ("umin", "min_u"): min,
    ("umax", "max_u"): max,
    ("and", "and_b"): lambda old, data: old & data,
    ("or", "or_b"): lambda old, data: old | data,
    ("xor", "xor_b"): lambda old, data: old ^ data,
    ("inc", "inc_u"): lambda old, data: 0 if old >= data else old + 1,
    ("dec", "dec_u"): lambda old, data: data if old == 0 or old > data else old - 1,
}


def signed_of(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def signed(choose: Callable[[int, int], int], bits: int) -> Callable[[int, int], int]:
    return lambda old, data: choose(signed_of(old, bits), signed_of(data, bits))


def atomics(target: str, bits: int) -> dict[str, Callable[[int, int], int]]:
    table = INTEGER | {("smin", "min_i"): signed(min, bits), ("smax", "max_i"): signed(max, bits)}
    if target in SHORT:
        return {f"global_atomic_{new}{bits}": f for (_, new), f in table.items()}
    return {f"global_atomic_{old}{'_x2' if bits == 64 else ''}": f for (old, _), f in table.items()}


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=5, deadline=None)
@given(seed=seeds, mask=masks)
def test_global_atomics_return_the_old_value_and_store_the_new(target: str, bits: int, seed: int, mask: int) -> None:
    """Each lane on a place of its own; inactive lanes do nothing."""
    functions = atomics(target, bits)
    on = bench(target, {name: exchange(target, bits, name, wide(4, bits), 6) for name in functions})
    rng = np.random.default_rng(seed)
    x, before, kept = (integers(rng, f"u{bits}", on.lanes) for _ in range(3))
    before = np.where(rng.random(on.lanes) < 0.2, x, before)
    lanes = active(mask, on.lanes)
    inputs = {2: place(on.lanes), 4: x, 6: before, 10: kept, 12: kept}
    for name, function in functions.items():
        outcome = on.run(name, inputs, exec_mask=mask, more=ROWS)
        after = [function(int(before[i]), int(x[i])) & ((1 << bits) - 1) for i in range(on.lanes)]
        np.testing.assert_array_equal(outcome.vector(10, x.dtype.type), np.where(lanes, before, kept), name)
        wanted = np.where(lanes, np.array(after, x.dtype), kept)
        np.testing.assert_array_equal(outcome.vector(12, x.dtype.type), wanted, name)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=8, deadline=None)
@given(seed=seeds, mask=masks)
def test_global_compare_and_swap(target: str, bits: int, seed: int, mask: int) -> None:
    """The data registers hold the new value, then the one to compare with."""
    name = f"global_atomic_cmpswap_b{bits}" if target in SHORT else "global_atomic_cmpswap" + "_x2" * (bits == 64)
    on = bench(target, {"k": exchange(target, bits, name, wide(4, 2 * bits), 8)})
    rng = np.random.default_rng(seed)
    new, comparand, before, kept = (integers(rng, f"u{bits}", on.lanes) for _ in range(4))
    before = np.where(rng.random(on.lanes) < 0.5, comparand, before)
    inputs = {2: place(on.lanes), 4: new, 4 + bits // 32: comparand, 8: before, 10: kept, 12: kept}
    outcome = on.run("k", inputs, exec_mask=mask, more=ROWS)
    lanes = active(mask, on.lanes)
    after = np.where(before == comparand, new, before)
    np.testing.assert_array_equal(outcome.vector(10, new.dtype.type), np.where(lanes, before, kept))
    np.testing.assert_array_equal(outcome.vector(12, new.dtype.type), np.where(lanes, after, kept))


FLOATS: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "global_atomic_add_f32": ("f32", np.add),
    "global_atomic_add_f64": ("f64", np.add),
    "global_atomic_min_f64": ("f64", np.minimum),
    "global_atomic_max_f64": ("f64", np.maximum),
    "global_atomic_fmin_x2": ("f64", np.minimum),
    "global_atomic_fmax_x2": ("f64", np.maximum),
    "global_atomic_fmin": ("f32", np.minimum),
    "global_atomic_fmax": ("f32", np.maximum),
    "global_atomic_min_f32": ("f32", np.minimum),
    "global_atomic_max_f32": ("f32", np.maximum),
    "global_atomic_min_num_f32": ("f32", np.minimum),
    "global_atomic_max_num_f32": ("f32", np.maximum),
}


@pytest.mark.parametrize(("target", "name"), [(t, n) for t in TARGETS for n in FLOATS if knows(t, n)])
@settings(max_examples=5, deadline=None)
@given(seed=seeds, mask=masks)
def test_global_float_atomics(target: str, name: str, seed: int, mask: int) -> None:
    """Numbers only: what NaN gives differs between the targets' generations."""
    kind, function = FLOATS[name]
    bits = int(kind[1:])
    on = bench(target, {"k": exchange(target, bits, name, wide(4, bits), 6)})
    rng = np.random.default_rng(seed)
    x, before = (np.nan_to_num(floats(rng, kind, on.lanes), nan=1.5, posinf=2.5, neginf=-2.5) for _ in range(2))
    inputs = {2: place(on.lanes), 4: x, 6: before}
    outcome = on.run("k", inputs, exec_mask=mask, more=ROWS)
    lanes = active(mask, on.lanes)
    with np.errstate(all="ignore"):
        after = function(before, x)
    np.testing.assert_array_equal(outcome.vector(10, x.dtype.type)[lanes], before[lanes])
    np.testing.assert_array_equal(outcome.vector(12, x.dtype.type)[lanes], after[lanes])


NARROW: dict[tuple[str, str], Callable[[Array, Array], Array]] = {
    ("ubyte", "u8"): lambda w, old: w & 0xFF,
    ("sbyte", "i8"): lambda w, old: (w & 0xFF).astype(np.uint8).view(np.int8).astype(np.int32).view(np.uint32),
    ("ushort", "u16"): lambda w, old: w & 0xFFFF,
    ("sshort", "i16"): lambda w, old: (w & 0xFFFF).astype(np.uint16).view(np.int16).astype(np.int32).view(np.uint32),
    ("ubyte_d16", "d16_u8"): lambda w, old: old & 0xFFFF0000 | w & 0xFF,
    ("ubyte_d16_hi", "d16_hi_u8"): lambda w, old: old & 0xFFFF | (w & 0xFF) << 16,
    ("short_d16", "d16_b16"): lambda w, old: old & 0xFFFF0000 | w & 0xFFFF,
    ("short_d16_hi", "d16_hi_b16"): lambda w, old: old & 0xFFFF | (w & 0xFFFF) << 16,
}
STORES: dict[tuple[str, str], Callable[[Array, Array], Array]] = {
    ("byte", "b8"): lambda w, data: w & 0xFFFFFF00 | data & 0xFF,
    ("short", "b16"): lambda w, data: w & 0xFFFF0000 | data & 0xFFFF,
    ("byte_d16_hi", "d16_hi_b8"): lambda w, data: w & 0xFFFFFF00 | data >> 16 & 0xFF,
    ("short_d16_hi", "d16_hi_b16"): lambda w, data: w & 0xFFFF0000 | data >> 16,
}


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=5, deadline=None)
@given(seed=seeds, mask=masks)
def test_narrow_access_extends_and_places(target: str, seed: int, mask: int) -> None:
    """Loads of bytes and shorts, signed or not, into either half; stores out of either half."""
    which = int(target in SHORT)
    first, again = f"{store(target, 32)} v2, v4, s[18:19]", f"{load(target, 32)} v10, v2, s[18:19]"
    texts = {
        names[which]: steps(target, first, f"global_load_{names[which]} v10, v2, s[18:19]") for names in NARROW
    } | {
        "store_" + names[which]: steps(target, first, f"global_store_{names[which]} v2, v6, s[18:19]", again)
        for names in STORES
    }
    on = bench(target, texts)
    rng = np.random.default_rng(seed)
    word, data, old = (integers(rng, "u32", on.lanes) for _ in range(3))
    inputs = {2: place(on.lanes), 4: word, 6: data, 10: old}
    lanes = active(mask, on.lanes)
    for names, function in NARROW.items():
        got = on.run(names[which], inputs, exec_mask=mask, more=ROWS).vector(10)
        np.testing.assert_array_equal(got, np.where(lanes, function(word, old), old), names[which])
    for names, function in STORES.items():
        got = on.run("store_" + names[which], inputs, exec_mask=mask, more=ROWS).vector(10)
        np.testing.assert_array_equal(got, np.where(lanes, function(word, data), old), names[which])


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=5, deadline=None)
@given(seed=seeds, mask=masks)
def test_addresses_of_64_bits_with_an_offset(target: str, seed: int, mask: int) -> None:
    """A register pair plus a signed constant, through global and through flat instructions."""
    add = "v_add_co_u32 v2, vcc, s18, v2" if target.startswith("gfx9") else "v_add_co_u32 v2, vcc_lo, s18, v2"
    carry = "v_addc_co_u32" if target.startswith("gfx9") else "v_add_co_ci_u32"
    vcc = "vcc" if target.startswith("gfx9") else "vcc_lo"
    sum64 = f"v_mov_b32 v3, s19\n {add}\n {carry}_e32 v3, {vcc}, 0, v3, {vcc}"
    texts = {
        "global": steps(target, sum64, f"{store(target, 32)} v[2:3], v4, off offset:-8",
                        f"{load(target, 32)} v10, v[2:3], off offset:-8"),
        "flat": steps(target, sum64, f"{store(target, 32).replace('global', 'flat')} v[2:3], v4",
                      f"{load(target, 32).replace('global', 'flat')} v10, v[2:3]"),
    }  # fmt: skip
    on = bench(target, texts)
    rng = np.random.default_rng(seed)
    x, old = (integers(rng, "u32", on.lanes) for _ in range(2))
    lanes = active(mask, on.lanes)
    for name in texts:
        outcome = on.run(name, {2: place(on.lanes) + 8, 4: x, 10: old}, exec_mask=mask, more=ROWS)
        np.testing.assert_array_equal(outcome.vector(10), np.where(lanes, x, old), name)
        memory = outcome.words[FIRST:].ravel()
        where = (place(on.lanes) - FIRST * on.lanes * 4) // 4 + (0 if name == "global" else 2)
        np.testing.assert_array_equal(memory[where], np.where(lanes, x, 0), name)
