"""What lies beyond a buffer's records is read as 0 and not written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern.emulator.isa.table import CDNA
from tests.emulator.cases import active, integers, masks, seeds
from tests.emulator.instructions import bench
from tests.emulator.test_meaning_memory import FIRST, SHORT, steps
from tests.emulator.test_typed_buffers import AS_IT_IS, RAW, isa, resource, span, word

TARGETS = ("gfx90a", "gfx1030", "gfx1100", "gfx1201")
STRIDE_SCALES = (1, 4, 8, 32)  # of gfx12's resources
ROWS = 4  # of memory behind the results


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=8, deadline=None)
@given(
    seed=seeds, stride=st.sampled_from([0, 12, 32]), way=st.integers(0, 3), records=st.sampled_from([0, 5, 9, 60]),
    soffset=st.sampled_from([0, 8]),
)  # fmt: skip
def test_range_of_records(target: str, seed: int, stride: int, way: int, records: int, soffset: int) -> None:
    """Records count strides where there is an index; RDNA's resources say which check there is."""
    text = "buffer_load_format_x v10, v[2:3], s[44:47], s48 idxen offen offset:4"
    on = bench(target, {"k": steps(target, *resource(16, stride="s27"), text)})
    rng = np.random.default_rng(seed)
    index, offset = rng.integers(0, 12, on.lanes), rng.integers(0, 4, on.lanes) * 4
    memory = integers(rng, "u32", 6 * on.lanes)
    kind = word(target, AS_IT_IS, "32", "uint") & ~RAW
    if isa(target) not in CDNA:
        kind |= way << 28
    scale = int(rng.choice([i for i, f in enumerate(STRIDE_SCALES) if stride % f == 0])) if target == "gfx1201" else 0
    kind, scaled = kind | scale << 18, stride // STRIDE_SCALES[scale]
    inputs = {2: index.astype(np.uint32), 3: offset.astype(np.uint32)}
    inputs |= {4 + i: row for i, row in enumerate(memory.reshape(6, on.lanes))}
    outcome = on.run("k", inputs, scalars=(8 * on.lanes, records, kind, scaled, soffset))
    linear = index * stride + offset + 4
    counted = stride and (isa(target) in CDNA or way < 2)
    inside = index < records if counted else linear + (0 if isa(target) in CDNA else 3) < records - soffset
    if isa(target) not in CDNA:
        inside = np.full(on.lanes, records != 0) if way == 2 else inside
        inside = inside & (offset + 4 + 4 <= stride) if counted and way == 0 else inside
    np.testing.assert_array_equal(outcome.vector(10), np.where(inside, memory[(linear + soffset) // 4], 0))


def wide(target: str, what: str, count: int) -> str:
    return f"buffer_{what}_b{32 * count}" if target in SHORT else f"buffer_{what}_dwordx{count}"


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
@settings(max_examples=6, deadline=None)
@given(seed=seeds, mask=masks, records=st.sampled_from([0, 40, 200, 201, 203, 100000]))
def test_each_dword_is_in_range_or_not(target: str, seed: int, mask: int, records: int) -> None:
    """Of two to four a lane: CDNA asks where a dword begins, RDNA where it ends. The address may be overwritten."""
    texts = {}
    for n in (2, 3, 4):
        moved, where = (span(10, n), span(4, n)), "s[44:47], s48 offen"
        texts[f"load{n}"] = steps(target, *resource(16), f"{wide(target, 'load', n)} {moved[0]}, v10, {where}")
        texts[f"store{n}"] = steps(target, *resource(18), f"{wide(target, 'store', n)} {moved[1]}, v3, {where}")
    on = bench(target, texts)
    rng, lanes = np.random.default_rng(seed), active(mask, on.lanes)
    offsets = np.arange(on.lanes) * 16 if seed % 2 else rng.permutation(on.lanes) * 16
    kind = word(target, AS_IT_IS, "32", "uint")
    data = integers(rng, "u32", 4 * on.lanes).reshape(4, on.lanes)
    for n in (2, 3, 4):
        dwords = offsets + 4 * np.arange(n)[:, None]
        inside = (dwords < records if isa(target) in CDNA else dwords + 4 <= records) & lanes
        inputs = {4 + i: row for i, row in enumerate(data)} | {r: offsets.astype(np.uint32) for r in (3, 10)}
        outcome = on.run(f"load{n}", inputs, exec_mask=mask, scalars=(8 * on.lanes, records, kind), more=ROWS)
        wanted = np.where(inside, data.ravel()[dwords // 4], 0)
        for i in range(n):
            np.testing.assert_array_equal(outcome.vector(10 + i)[lanes], wanted[i][lanes])
        scalars = (FIRST * 4 * on.lanes, records, kind)
        outcome = on.run(f"store{n}", inputs, exec_mask=mask, scalars=scalars, more=ROWS)
        memory = np.zeros(4 * on.lanes, np.uint32)
        memory[(dwords // 4)[inside]] = data[:n][inside]
        np.testing.assert_array_equal(outcome.words[FIRST:].ravel(), memory)


@pytest.mark.parametrize(("target", "stride"), [("gfx90a", 8), ("gfx1201", 0)])
def test_scalar_loads_end_with_the_records(target: str, stride: int) -> None:
    """Dwords that begin behind them are 0, in both tiers; the records count strides where there is one."""
    name = "s_buffer_load_b128" if target in SHORT else "s_buffer_load_dwordx4"
    on = bench(target, {"k": steps(target, *resource(16, stride=str(stride)), f"{name} s[40:43], s[44:47], 0x18")})
    x = integers(np.random.default_rng(5), "u32", on.lanes)
    kind, unit = word(target, AS_IT_IS, "32", "uint"), stride or 1
    for _ in range(2):
        for records in (0, 24, 29, 32, 40, 400):
            outcome = on.run("k", {4: x}, scalars=(8 * on.lanes, records // unit, kind))
            wanted = [int(x[6 + i]) if 24 + 4 * i < records // unit * unit else 0 for i in range(4)]
            assert [outcome.scalar(f"s{40 + i}") for i in range(4)] == wanted, records
        on.module.program.compile(on.module.kernel("k").kernel)


def test_scalar_stores_and_atomics_end_with_the_records() -> None:
    """Dwords behind them stay as they are; an atomic is done whole or not at all."""
    texts = {
        "store": steps("gfx90a", *resource(18), "s_buffer_store_dwordx4 s[40:43], s[44:47], 0x0"),
        "atomic": steps("gfx90a", *resource(18), "s_buffer_atomic_add_x2 s[40:41], s[44:47], 0x0 glc"),
    }
    on = bench("gfx90a", texts)
    for name, records, memory, returned in (
        ("store", 8, [5, 2, 0, 0], None), ("store", 9, [5, 2, 3, 0], None), ("store", 0, [0, 0, 0, 0], None),
        ("atomic", 8, [5, 2, 0, 0], 0), ("atomic", 7, [0, 0, 0, 0], 5 | 2 << 32),
    ):  # fmt: skip
        scalars = (FIRST * 256, records, 0, 0, 5, 2, 3, 4)  # from the fifth on those of s40 too
        outcome = on.run(name, {}, scalars=scalars, more=1)
        assert outcome.words[FIRST, :4].tolist() == memory, (name, records)
        assert returned is None or outcome.s40 == returned, (name, records)
