"""Loads that hand each lane a column of what a group of lanes has read, and loads and stores of blocks of registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.emulator.cases import active, masks, seeds
from tests.emulator.instructions import bench

Array = NDArray[Any]


def elements(rows: Array, bits: int) -> Array:
    """Registers (row, lane) as elements (lane, number)."""
    stream = np.unpackbits(np.ascontiguousarray(rows.T).view(np.uint8), axis=1, bitorder="little")
    return (stream.reshape(rows.shape[1], -1, bits) * (1 << np.arange(bits))).sum(-1)


def columns(rows: Array, bits: int, group: int) -> Array:
    """The elements that each lane gets: its column of the matrix that its group has read, row after row."""
    read = elements(rows, bits)
    return np.concatenate([part.reshape(-1, group).T for part in read.reshape(-1, group, read.shape[1])])


@pytest.mark.parametrize(("bits", "registers"), [(16, 2), (8, 2), (4, 2), (6, 3)])
@settings(max_examples=3, deadline=None)
@given(seed=seeds)
def test_lds_is_read_transposed(bits: int, registers: int, seed: int) -> None:
    """gfx950: 16 lanes read a matrix of 16 columns, each a part of a row or the whole, at any address."""
    texts = {
        f"k{b}": f"ds_write_b{32 * r} v8, v[2:{1 + r}]\n s_waitcnt lgkmcnt(0)\n"
        f"ds_read_b{32 * r}_tr_b{b} v[10:{9 + r}], v8"
        for b, r in ((16, 2), (8, 2), (4, 2), (6, 3))
    }
    on, rng = bench("gfx950", texts), np.random.default_rng(seed)
    rows = rng.integers(0, 2**32, (registers, on.lanes), np.uint32)
    place = rng.permutation(on.lanes).astype(np.uint32) * np.uint32(16)
    outcome = on.run(f"k{bits}", {2 + i: row for i, row in enumerate(rows)} | {8: place})
    found = np.array([outcome.vector(10 + i) for i in range(registers)])
    np.testing.assert_array_equal(elements(found, bits), columns(rows, bits, 16))


@settings(max_examples=4, deadline=None)
@given(seed=seeds, mask=masks)
def test_memory_is_read_transposed(seed: int, mask: int) -> None:
    """gfx12: eight lanes exchange eight 16-bit elements each. Lanes that are off keep what they had."""
    text = (
        "global_store_b128 v8, v[2:5], s[18:19] offset:0x680\n s_wait_storecnt 0x0\n s_mov_b32 exec_lo, s24\n"
        "global_load_tr_b128 v[10:13], v8, s[18:19] offset:0x680"
    )
    on, rng = bench("gfx1201", {"k": text}), np.random.default_rng(seed)
    rows = rng.integers(0, 2**32, (4, on.lanes), np.uint32)
    old = rng.integers(0, 2**32, (4, on.lanes), np.uint32)
    place = rng.permutation(on.lanes).astype(np.uint32) * np.uint32(16)
    inputs = {2 + i: row for i, row in enumerate(rows)} | {10 + i: row for i, row in enumerate(old)} | {8: place}
    outcome = on.run("k", inputs, more=4, scalars=(mask & 0xFFFFFFFF,))
    found = elements(np.array([outcome.vector(10 + i) for i in range(4)]), 16)
    lanes = active(mask, on.lanes)
    on_both = np.repeat(np.repeat(lanes.reshape(-1, 8).all(1), 8)[:, None], 8, 1)
    np.testing.assert_array_equal(found[on_both], columns(rows, 16, 8)[on_both])
    np.testing.assert_array_equal(found[~lanes], elements(old, 16)[~lanes])


@settings(max_examples=4, deadline=None)
@given(seed=seeds, mask=masks, chosen=st.integers(0, 0xFF))
def test_blocks_of_registers_have_holes_where_m0_has(seed: int, mask: int, chosen: int) -> None:
    """gfx12: register i and the i-th dword at each lane's address, for the bits of M0; both directions."""
    store = "global_store_block v8, v[2:33], s[18:19] offset:0x680"
    load = "global_load_block v[10:41], v8, s[18:19] offset:0x680"
    text = f"v_lshlrev_b32 v8, 3, v1\n s_mov_b32 m0, s24\n {store}\n s_wait_storecnt 0x0\n s_mov_b32 m0, s25\n {load}"
    on, rng = bench("gfx1201", {"k": text}), np.random.default_rng(seed)
    rows = rng.integers(0, 2**32, (12, on.lanes), np.uint32)
    loaded = int(rng.integers(0, 16))
    inputs = {2 + i: row for i, row in enumerate(rows)}
    outcome = on.run("k", inputs, exec_mask=mask, more=8, scalars=(chosen & 0x3F, loaded))
    lanes, memory = active(mask, on.lanes), outcome.words[13:].reshape(on.lanes, 8).T
    wanted = np.array([np.where(lanes & bool(chosen & 0x3F & 1 << i), rows[i], 0) for i in range(8)])
    np.testing.assert_array_equal(memory, wanted)
    for i in range(4):
        kept = np.where(lanes & bool(loaded & 1 << i), wanted[i], rows[8 + i])
        np.testing.assert_array_equal(outcome.vector(10 + i), kept)
