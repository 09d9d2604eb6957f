"""The fused family against NumPy: every kernel, any layout of the operands, indices outside told and not followed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

from rocmkern.dtypes import COMPLEX, REAL, DType
from rocmkern.kernels.catalogue import FLOATS as ALL_FLOATS
from rocmkern.kernels.families.fused import BITS, MOST_IN_ORDER, MOST_UNIQUE
from rocmkern.kernels.families.reduce import FLOATS
from rocmkern.runtime import Device
from tests.kernels.launching import bits, layout, run, same_bits, small_numbers
from tests.kernels.test_reduce_norms import assert_near

Array = np.ndarray[Any, Any]
INTEGERS: Final = tuple(t for t in REAL if t.is_integer)
NOWHERE: Final = 2**64 - 1
NO_OTHER: Final = (0, None, 0, 0)  # indices of a second axis
BY_BITS = pytest.mark.parametrize("t", BITS, ids=lambda t: t.short)
BY_FLOAT = pytest.mark.parametrize("t", FLOATS, ids=lambda t: t.short)


def no_answer() -> Array:
    return np.full(4, NOWHERE, np.uint64)


def type_of(ids: Array) -> int:
    """As the kernels are told an index type."""
    return -ids.itemsize if ids.dtype.kind == "i" else ids.itemsize


def as_bytes(view: Array) -> Array:
    return np.ascontiguousarray(view).reshape(-1).view(np.uint8)


@BY_BITS
def test_take_follows_indices_of_any_type(device: Device, t: DType) -> None:
    """Columns of a transposed array, negative ones counted from the end."""
    x = bits(np.random.default_rng(1), t, (5, 3)).T
    for i in INTEGERS:
        ids = np.array([4, 0, 1, 4] if i.kind == "unsigned" else [4, -5, 1, -1]).astype(i.numpy)
        out, status = np.zeros((3, 4), t.numpy), no_answer()
        info = np.array([3, 4, 1, 0, 0, 1], np.uint64)
        step, given = x.strides[1] // x.itemsize, np.array([4, 1], np.uint64)
        run(device, f"take_{t.short}", 12, 2, info, 4, 1, given, x, out, type_of(ids), as_bytes(ids), 5, step,
            *NO_OTHER, status, None, grid=1, block=64)  # fmt: skip
        assert same_bits(out, x[:, [4, 0, 1, 4]]), i
        assert status[0] == NOWHERE


def test_take_tells_of_the_first_index_outside(device: Device) -> None:
    """It reads as zero; a huge unsigned index is outside too."""
    x = np.arange(1, 4, dtype=np.uint32)
    for ids, position, value in (
        (np.array([0, -3, 3, -4], np.int8), 2, 3),
        (np.array([2, 2**64 - 1], np.uint64), 1, 2**64 - 1),
        (np.array([1, 1, 1, -4], np.int64), 3, 2**64 - 4),
    ):
        out, status, n = np.full(len(ids), 9, np.uint32), no_answer(), len(ids)
        info, given = np.array([n, 0, 1], np.uint64), np.array([n, 1], np.uint64)
        for block in (64, 128):
            run(device, "take_u32", n, 1, info, n, 1, given, x, out, type_of(ids), as_bytes(ids), 3, 1, *NO_OTHER,
                status, None, grid=1, block=block)  # fmt: skip
            assert status.tolist() == [position, value, NOWHERE, NOWHERE]
            assert out[position] == 0 and out[0] == x[int(ids[0])]


@BY_BITS
def test_take_at_indices_of_two_axes(device: Device, t: DType) -> None:
    """x[i, :, j] for a column of i and a row of j of other types; those outside are told apart, the first of each."""
    x = bits(np.random.default_rng(1), t, (4, 2, 5))
    for i, j, wrong in (
        ([3, -4, 0], [[1], [-5]], (None, None)),
        ([3, 4, -5], [[1], [0]], ((1, 4), None)),
        ([3, 0, 1], [[1], [5]], (None, (3, 5))),
    ):
        one, other = np.array(i, np.int16), np.array(j, np.int64)
        out, told = np.zeros((2, 3, 2), t.numpy), (no_answer(), no_answer())
        info = np.array([2, 3, 2, 0, 0, 5, 0, 1, 0, 1, 0, 0], np.uint64)
        given = np.array([2, 3, 0, 1, 1, 0], np.uint64)
        run(device, f"take_{t.short}", 12, 3, info, 6, 2, given, x, out, -2, as_bytes(one), 4, 10, -8,
            as_bytes(other), 5, 1, *told, grid=1, block=64)  # fmt: skip
        inside = np.broadcast_to((abs(one + 0.5) < 4.5) & (abs(other + 0.5) < 5.5), (2, 3))
        assert same_bits(out, np.where(inside[..., None], x[one % 4, :, other % 5], 0).astype(t.numpy))
        for status, first in zip(told, wrong, strict=True):
            assert status[:2].tolist() == ([NOWHERE, NOWHERE] if first is None else list(first))


def test_where_indices_of_two_axes_lead(device: Device) -> None:
    """To distances in memory from where it begins, through strides of either sign; an index outside leads nowhere."""
    one, other = np.array([2, -3, 0, 3], np.int8), np.array([1, 0, -2, 1], np.int64)
    out, told = np.zeros(4, np.uint64), (no_answer(), no_answer())
    info = np.array([4, 1, 1], np.uint64)
    run(device, "lead", 4, 1, info, 14, out, -1, as_bytes(one), 3, 10, -8, as_bytes(other), 2, 2**64 - 14, *told,
        grid=1, block=64)  # fmt: skip
    assert out.tolist() == [14 + 20 - 14, 14, 14, 1 << 63]
    assert told[0][:2].tolist() == [3, 3] and told[1][0] == NOWHERE


@BY_FLOAT
def test_cross_entropy(device: Device, t: DType) -> None:
    """The mean over rows shorter and longer than a wave, of any strides; infinities and NaN come through."""
    rng = np.random.default_rng(13)
    for rows, cols in ((1, 1), (3, 2), (40, 10), (5, 200)):
        x = (4 * rng.normal(size=(rows, cols))).astype(t.numpy)
        ids = rng.integers(-cols, cols, rows).astype(np.int32)
        wide = x.astype(np.longdouble)
        each = np.log(np.exp(wide).sum(axis=1)) - wide[np.arange(rows), ids]
        for view in (x, np.ascontiguousarray(x.T).T):
            strides = [s // view.itemsize for s in view.strides]
            for block in (64, 256):
                out, status = np.zeros(1, t.numpy), no_answer()
                run(device, f"cross_entropy_{t.short}", rows, cols, *strides, 1, -4, as_bytes(ids), view, out, status,
                    grid=1, block=block)  # fmt: skip
                assert_near(out, each.mean(keepdims=True), t, slack=8, floor=1)
                assert status[0] == NOWHERE
    inf = np.inf
    for line, expected in (([-inf, 0, -inf], inf), ([inf, 0, 1], np.nan), ([np.nan, 0, 1], np.nan), ([0, 0, -inf], 0)):
        out, status = np.zeros(1, t.numpy), no_answer()
        logits = np.array(line, np.float64).astype(t.numpy)[None]
        run(device, f"cross_entropy_{t.short}", 1, 3, 3, 1, 1, 1, np.zeros(1, np.uint8), logits, out, status, grid=1,
            block=64)  # fmt: skip
        want = np.log(2) if expected == 0 else expected
        assert_near(out, np.array([want]), t, slack=2)
    ids = np.array([0, 3], np.int64)
    run(device, f"cross_entropy_{t.short}", 2, 3, 0, 1, 1, -8, as_bytes(ids), logits, out, status, grid=1, block=64)
    assert status[:2].tolist() == [1, 3]


def test_one_hot_has_a_one_at_each_index(device: Device) -> None:
    """More elements than threads; an index outside has no one."""
    ids = np.array([3, 0, -1, 4, 2] * 20, np.int16)
    out, status = np.full((100, 4), 7, np.float32), no_answer()
    run(device, "one_hot", 100, 1, np.array([100, 1], np.uint64), -2, as_bytes(ids), 4, out, status, grid=1, block=64)
    assert (out == (ids[:, None] % 4 == np.arange(4)) * (ids[:, None] < 4)).all()
    assert status[:2].tolist() == [3, 4]


def written(x: Array, ids: Array, values: Array, join: Any) -> Array:
    """Values of (left, count, right) joined with those that ids of the same shape name, one after the other."""
    out = x.copy()
    for at in np.ndindex(*values.shape):
        place = (at[0], int(ids[at]), at[2])
        out[place] = join(out[place], values[at])
    return out


def steps(*views: Array) -> Array:
    return np.array([s // v.itemsize for v in views for s in v.strides], np.int64).view(np.uint64)


@BY_BITS
def test_the_last_of_the_writes_to_a_place_stays(device: Device, t: DType) -> None:
    """For an index a value and an index a slice."""
    rng = np.random.default_rng(2)
    x, values = bits(rng, t, (2, 5, 3)), bits(rng, t, (2, 7, 3))
    each, lines = rng.integers(-5, 5, (2, 7, 3)).astype(np.int32), rng.integers(0, 5, 7).astype(np.uint8)
    for ids in (each, np.broadcast_to(lines[None, :, None], each.shape)):
        expected = written(x, ids, values, lambda _, value: value)
        out, flat = np.zeros_like(x), as_bytes(each if ids is each else lines)
        sizes, kind = (2, 7, 5, 3), type_of(ids)
        run(device, f"write_last_{t.short}", *sizes, steps(x, ids, values, out), kind, flat, x, values, out,
            no_answer(), grid=1, block=64)  # fmt: skip
        assert same_bits(out, expected)


@BY_BITS
def test_writes_in_place_at_indices_of_two_axes(device: Device, t: DType) -> None:
    """wide[i, ::2, j] takes values, the last where pairs of indices are equal; nothing where an index is outside."""
    rng = np.random.default_rng(6)
    for i, j, first in (([3, -4, 0, -1], [1, -5, 1, 6], None), ([3, 4, -9, 0], [0, 7, 0, 0], 1)):
        wide, values = bits(rng, t, (4, 6, 7)), bits(rng, t, (4, 3))
        one, other, told = np.array(i, np.int8), np.array(j, np.int64), (no_answer(), no_answer())
        out, expected = wide.copy(), wide.copy()
        if first is None:
            expected[one, ::2, other] = values
        at, rest = np.array([4, 1, 1, 3], np.uint64), np.array([3, 14, 1], np.uint64)
        run(device, f"write_at_{t.short}", 4, 1, at, 3, 1, rest, values, out, -1, as_bytes(one), 4, 42, -8,
            as_bytes(other), 7, 1, *told, grid=1, block=64)  # fmt: skip
        assert same_bits(out, expected)
        for status, wrong in zip(told, (one, other), strict=True):
            assert status[0] == (NOWHERE if first is None else first)
            assert first is None or status[1] == wrong[first]


@BY_BITS
def test_writes_where_a_mask_is_true(device: Device, t: DType) -> None:
    """A value for each true element or one for all, in order over more elements than threads; or for another number
    of them nothing, of which it tells.
    """
    rng = np.random.default_rng(7)
    mask, x = np.asarray(rng.random((50, 3)) < 0.4).T, bits(rng, t, (3, 50, 2))
    count, values = int(mask.sum()), bits(rng, t, (200, 2))
    first, rest = layout(mask, x[..., 0]), np.array([2, 1, 1], np.uint64)
    for expected, step in ((NOWHERE, 0), (count, 2), (count + 1, 2)):
        out, want, total = x.copy(), x.copy(), np.zeros(1, np.uint64)
        want[mask] = values[0] if step == 0 else values[:count] if expected == count else x[mask]
        run(device, f"write_true_{t.short}", 150, 2, first, 2, 1, rest, expected, step,
            mask.T.view(np.uint8).reshape(-1), values, out, total, grid=1, block=64)  # fmt: skip
        assert same_bits(out, want)
        assert total[0] == (0 if step == 0 else count)


@BY_BITS
def test_slices_repeat_as_often_as_told(device: Device, t: DType) -> None:
    """More slices than threads, of either side of an axis; a number of times of any type."""
    rng = np.random.default_rng(8)
    x = bits(rng, t, (2, 100, 3))
    for i in INTEGERS:
        times = rng.integers(0, 4, 100).astype(i.numpy)
        want = np.repeat(x, times.astype(np.int64), axis=1)
        out = np.zeros_like(want)
        run(device, f"repeat_each_{t.short}", 2, 100, 3, want.shape[1], type_of(times), as_bytes(times), 1, x, out,
            grid=1, block=64)  # fmt: skip
        assert same_bits(out, want)


@pytest.mark.parametrize("t", ALL_FLOATS, ids=lambda t: t.short)
def test_quantiles_of_rows(device: Device, t: DType) -> None:
    """Of fewer blocks than rows, up to the longest row; what lies between two values is rounded once from what sums are
    carried in, each step of which rounds; a row with NaN is NaN.
    """
    rng = np.random.default_rng(9)
    for rows, cols in ((5, 1), (4, 6), (2, MOST_IN_ORDER)):
        x = rng.integers(-9, 10, (rows, cols)).astype(t.numpy)
        x[0, cols // 2] = np.nan
        ordered = np.sort(x.astype(np.float64), axis=1).astype(t.numpy)
        for low, share in ((0, 0.0), (cols - 1, 0.0), *([] if cols == 1 else [(cols // 2 - 1, 0.3)])):
            out = np.zeros(rows, t.numpy)
            run(device, f"quantile_{t.short}", rows, cols, low, share, x, out, grid=2, block=64)
            want = ordered[:, low].copy()
            if share:
                wide = ordered.astype(np.float64 if t.itemsize == 8 else np.float32)
                one, other = wide.dtype.type(1 - share), wide.dtype.type(share)
                between = wide[:, low] * one + wide[:, low + 1] * other
                want = np.where(wide[:, low] == wide[:, low + 1], wide[:, low], between).astype(t.numpy)
            want[0] = np.nan
            assert np.array_equal(out.astype(float), want.astype(float), equal_nan=True)


@pytest.mark.parametrize("t", REAL, ids=lambda t: t.short)
def test_sums_of_writes_are_rounded_once(device: Device, t: DType) -> None:
    """Integers wrap, bool is or; what f16, bf16 and f8 add is carried in f32."""
    rng = np.random.default_rng(3)
    x, values = small_numbers(rng, t, (2, 3, 2)), small_numbers(rng, t, (2, 9, 2))
    ids = rng.integers(0, 3, (2, 9, 2))
    work = np.float32 if t.is_float and t.itemsize < 4 else t.numpy
    with np.errstate(all="ignore"):
        sums = written(x.astype(work), ids, values.astype(work), lambda a, b: a + b)
        expected = sums.astype(t.numpy)
    out = np.zeros_like(x)
    run(device, f"write_sum_{t.short}", 2, 9, 3, 2, steps(x, ids, values, out), -8, as_bytes(ids), x, values, out,
        no_answer(), grid=1, block=64)  # fmt: skip
    assert same_bits(out, expected)


def test_an_index_outside_is_not_written(device: Device) -> None:
    """The others are."""
    x, values, ids = np.arange(4, dtype=np.uint32), np.array([7, 8, 9], np.uint32), np.array([1, -5, 0], np.int64)
    info = np.array([4, 1, 1, 0, 1, 0, 3, 1, 1, 4, 1, 1], np.uint64)
    out, status = np.zeros(4, np.uint32), no_answer()
    run(device, "write_last_u32", 1, 3, 4, 1, info, -8, as_bytes(ids), x, values, out, status, grid=1, block=64)
    assert out.tolist() == [9, 7, 2, 3] and status[:2].tolist() == [1, 2**64 - 5]


@BY_BITS
def test_non_zeros_are_found_in_order(device: Device, t: DType) -> None:
    """Coordinates and flat positions of a strided array; the mask leaves the sign out."""
    x = np.random.default_rng(4).integers(0, 2, (30, 7, 3)).astype(t.numpy).transpose(1, 2, 0)
    x[0, 0, :3] = 1 << (t.bits - 1)  # as negative zeros
    mask, total = (1 << (t.bits - 1)) - 1, np.zeros(1, np.uint64)
    expected = np.nonzero(x & t.numpy.type(mask))
    count = len(expected[0])
    for flat in (False, True):
        out = np.full((3, 630), -1, np.int64)
        run(device, f"non_zeros_{t.short}", 630, 3, layout(x), mask, flat, x, out, total, grid=1)
        assert total[0] == count
        wanted = [np.ravel_multi_index(expected, x.shape)] if flat else expected
        for line, want in zip(out, wanted, strict=False):
            assert (line[:count] == want).all() and (line[count:] == -1).all()


@BY_BITS
def test_slices_under_a_mask(device: Device, t: DType) -> None:
    """Those whose mask is true, one after the other; what is behind them stays."""
    rng = np.random.default_rng(5)
    x, mask, total = bits(rng, t, (300, 2)), rng.integers(0, 2, 300).astype(np.uint8), np.zeros(1, np.uint64)
    out = np.full((300, 2), 77, t.numpy)
    run(device, f"select_true_{t.short}", 300, 2, mask, x, out, total, grid=1, block=128)
    count = int(mask.sum())
    assert total[0] == count and same_bits(out[:count], x[mask != 0]) and (out[count:] == 77).all()


@pytest.mark.parametrize("t", REAL, ids=lambda t: t.short)
def test_unique(device: Device, t: DType) -> None:
    """Each NaN is distinct, -0.0 is 0.0; of lines shorter and longer than a block, with all results or the values."""
    rng = np.random.default_rng(6)
    for n in (1, 5, 64, 300, MOST_UNIQUE if t.short == "f32" else 65):
        x = small_numbers(rng, t, n)
        wide = x.astype(np.float64) if t.is_float else x
        order = np.argsort(wide, kind="stable")
        starts = np.flatnonzero(np.r_[True, wide[order][1:] != wide[order][:-1]])
        count = len(starts)
        values, total = np.zeros(n, f"u{t.itemsize}"), np.zeros(1, np.uint64)
        lines = [np.full(n, -1, np.int64) for _ in range(3)]
        run(device, f"unique_{t.short}", n, x, values, *lines, total, grid=1, block=128)
        indices, inverse, counts = lines
        assert total[0] == count and same_bits(values[:count].view(t.numpy), x[order[starts]])
        assert (indices[:count] == order[starts]).all()
        assert (inverse[order] == np.searchsorted(starts, np.arange(n), side="right") - 1).all()
        assert (counts[:count] == np.diff(np.r_[starts, n])).all()
        again = np.zeros_like(values)
        run(device, f"unique_{t.short}", n, x, again, None, None, None, total, grid=1, block=64)
        assert same_bits(again, values)


@pytest.mark.parametrize("t", REAL, ids=lambda t: t.short)
def test_is_among(device: Device, t: DType) -> None:
    """NaN is among nothing, -0.0 is 0.0; for any grid."""
    rng = np.random.default_rng(7)
    x, given = small_numbers(rng, t, 300), small_numbers(rng, t, 4)
    expected = (x[:, None] == given[None, :]).any(axis=1)
    for inverted in (False, True):
        out = np.zeros(300, np.bool_)
        run(device, f"is_among_{t.short}", 300, 4, x, given, inverted, out, grid=1, block=128)
        assert (out == (expected != inverted)).all()


@pytest.mark.parametrize("t", COMPLEX, ids=lambda t: t.short)
def test_sets_of_complex_numbers(device: Device, t: DType) -> None:
    """In order of the real parts, then of the imaginary ones; NaN in either is distinct, -0.0 is 0.0."""
    parts = np.array([-0.0, 0.0, 1.5, -2.0, np.nan, np.inf, -np.inf])
    rng = np.random.default_rng(14)
    for n in (1, 60, 300):
        x = np.empty(n, t.numpy)
        x.real, x.imag = rng.choice(parts, n), rng.choice(parts, n)
        order = np.lexsort((x.imag, x.real))
        starts = np.flatnonzero(np.r_[True, x[order][1:] != x[order][:-1]])
        count, values, total = len(starts), np.zeros_like(x), np.zeros(1, np.uint64)
        lines = [np.full(n, -1, np.int64) for _ in range(3)]
        run(device, f"unique_{t.short}", n, x, values, *lines, total, grid=1, block=128)
        indices, inverse, counts = lines
        assert total[0] == count and values[:count].tobytes() == x[order[starts]].tobytes()
        assert (indices[:count] == order[starts]).all() and (counts[:count] == np.diff(np.r_[starts, n])).all()
        assert (inverse[order] == np.searchsorted(starts, np.arange(n), side="right") - 1).all()
        out = np.zeros(n, np.bool_)
        run(device, f"is_among_{t.short}", n, 5, x, x[:5] if n > 5 else np.repeat(x, 5), False, out, grid=1, block=64)
        assert (out == (x[:, None] == x[None, :5]).any(axis=1)).all()


@BY_BITS
def test_triangles(device: Device, t: DType) -> None:
    """By packs, by elements of any layout, and with elements of two words, for every diagonal."""
    rng = np.random.default_rng(8)
    for x in (bits(rng, t, (2, 5, 16)), bits(rng, t, (2, 4, 3)), bits(rng, t, (3, 4, 2)).T):
        rows, columns = x.shape[-2:]
        contiguous = x.flags.c_contiguous
        for k in (-rows, -1, 0, 2, columns):
            for below, reference in ((True, np.tril), (False, np.triu)):
                out = np.full(x.shape, 5, t.numpy)
                info = None if contiguous else layout(x)
                run(
                    device, f"triangle_{t.short}", x.size, 3, info, rows, columns, 1, k, below, x, out, grid=1, block=64
                )
                assert same_bits(out, reference(x, k))
    pairs = bits(rng, t, (4, 3, 2))
    out = np.zeros_like(pairs)
    run(device, f"triangle_{t.short}", 24, 3, None, 4, 3, 2, 0, True, pairs, out, grid=2, block=64)
    assert same_bits(out, np.where(np.tri(4, 3, dtype=bool)[..., None], pairs, 0).astype(t.numpy))


@BY_FLOAT
def test_variance_takes_two_passes(device: Device, t: DType) -> None:
    """A mean a thousand times the spread costs no digits; rows along either axis, of one thread and several waves."""
    rng = np.random.default_rng(9)
    x = (rng.normal(size=(5, 100)) + (1000 if t.itemsize >= 4 else 4)).astype(t.numpy)
    for view in (x, x.T):
        rows, cols = view.shape
        wide = view.astype(np.longdouble)
        expected = ((wide - wide.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) / (cols - 1)
        info = None if view is x else layout(view)
        for block in ((1, 64), (64, 1), (256, 1)):
            for root in (False, True):
                out = np.zeros(rows, t.numpy)
                run(device, f"variance_{t.short}", view.size, cols, 2, info, float(cols - 1), root, view, out, grid=2,
                    block=block)  # fmt: skip
                assert_near(out, np.sqrt(expected) if root else expected, t, slack=2e4 if t.itemsize >= 4 else 64)


@BY_BITS
def test_counts_of_rows(device: Device, t: DType) -> None:
    """Along either axis."""
    x = np.random.default_rng(10).integers(0, 2, (6, 70)).astype(t.numpy)
    for view in (x, x.T):
        out = np.zeros(len(view), np.uint64)
        info = None if view is x else layout(view)
        run(device, f"count_non_zeros_{t.short}", x.size, view.shape[1], 2, info, (1 << t.bits) - 1, view, out, grid=1,
            block=(32, 8))  # fmt: skip
        assert (out == np.count_nonzero(view, axis=1)).all()


@BY_FLOAT
def test_rows_of_unit_length(device: Device, t: DType) -> None:
    """Kept in registers or read twice; a row of zeros stays one."""
    rng = np.random.default_rng(11)
    for cols in (3, 64, 1030):
        x = rng.normal(size=(3, cols)).astype(t.numpy)
        x[1] = 0
        out, wide = np.zeros_like(x), x.astype(np.longdouble)
        lengths = np.maximum(np.sqrt((wide**2).sum(axis=1, keepdims=True)), np.longdouble(1e-12))
        run(device, f"unit_rows_{t.short}", 3, cols, 1e-12, x, out, grid=2, block=(64, 2))
        assert_near(out, wide / lengths, t, slack=4)


@BY_FLOAT
def test_attention(device: Device, t: DType) -> None:
    """Two batches that share their keys, transposed values; no mask, one of truth, one to add; several team widths."""
    rng = np.random.default_rng(12)
    queries, keys, features, outputs = 5, 9, 6, 4
    q = rng.normal(size=(2, queries, features)).astype(t.numpy)
    k = np.broadcast_to(rng.normal(size=(keys, features)).astype(t.numpy), (2, keys, features))
    v = rng.normal(size=(2, outputs, keys)).astype(t.numpy).transpose(0, 2, 1)
    truth = rng.random((queries, keys)) < 0.7
    truth[:, 0] = True
    added = rng.normal(size=(queries, keys)).astype(t.numpy)
    wide_q, wide_k, wide_v = (a.astype(np.longdouble) for a in (q, k, v))
    for mask in (None, truth, added):
        scores = wide_q @ wide_k.transpose(0, 2, 1) * 0.5
        if mask is not None:
            scores = scores + (np.where(truth, 0, -np.inf) if mask is truth else added.astype(np.longdouble))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        expected = weights / weights.sum(axis=-1, keepdims=True) @ wide_v
        wide_mask = np.broadcast_to(truth if mask is None else mask, scores.shape)
        views = (q, k, v, wide_mask)
        strides = [[s // a.itemsize for s in a.strides] for a in views]
        info = np.array([2, *(s[0] for s in strides), *(n for s in strides for n in s[1:])], np.uint64)
        for width in (1, 16, 128):
            out = np.zeros((2, queries, outputs), t.numpy)
            run(device, f"attention_{t.short}", 2, queries, keys, features, outputs, 1, info, 0.5, mask is truth, q, k,
                v, None if mask is None else as_bytes(mask), out, grid=1, block=(width, 128 // width))  # fmt: skip
            assert_near(out, expected, t, slack=32, floor=1)
