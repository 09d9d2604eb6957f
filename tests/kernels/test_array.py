"""The array family: assignment between layouts, writes by offset, evenly spaced numbers, copies beyond their ends."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.dtypes import REAL, DType
from rocmkern.runtime import Device
from tests.kernels.launching import run

UNSIGNED = tuple(d for d in REAL if d.kind == "unsigned")
NUMBERS = tuple(d for d in REAL if d.kind != "bool")
Mode = Literal["edge", "reflect", "symmetric", "wrap"]


@pytest.mark.parametrize("t", UNSIGNED, ids=lambda d: d.short)
def test_assign_moves_between_any_two_layouts(device: Device, t: DType) -> None:
    """From a transposed source into every other column of a target, for any grid; the rest stays."""
    source = np.arange(12).astype(t.numpy)  # four rows of three, read as three rows of four
    info = np.array([3, 4, 1, 3, 8, 2], np.uint64)
    expected = np.full((3, 8), 99, t.numpy)
    expected[:, ::2] = source.reshape(4, 3).T
    for grid in (1, 3):
        target = np.full(24, 99, t.numpy)
        run(device, f"assign_{t.short}", 12, 2, info, source, target, grid=grid)
        np.testing.assert_array_equal(target.reshape(3, 8), expected)


@pytest.mark.parametrize("t", UNSIGNED, ids=lambda d: d.short)
def test_put_writes_each_value_at_its_offset(device: Device, t: DType) -> None:
    """Offsets in any order; what no offset names stays."""
    offsets = np.array([5, 0, 9, 3], np.int64)
    values = np.array([1, 2, 3, 4], t.numpy)
    target = np.full(10, 7, t.numpy)
    expected = target.copy()
    expected[offsets] = values
    run(device, f"put_{t.short}", 4, offsets, values, target, grid=1)
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("t", NUMBERS, ids=lambda d: d.short)
def test_ramp_meets_both_ends(device: Device, t: DType) -> None:
    """start + i·step counted from the nearer end, for even and odd lengths and more elements than threads."""
    number = float if t.is_float else int
    step = 0.5 if t.is_float else 1
    for n in (1, 2, 7, 40 if t.itemsize == 1 else 600):
        out = np.zeros(n, t.numpy)
        last = number(1 + step * (n - 1))
        run(device, f"ramp_{t.short}", n, number(1), number(step), last, out, grid=1)
        expected = (1 + step * np.arange(n)).astype(t.numpy)
        np.testing.assert_array_equal(out.astype(np.float64), expected.astype(np.float64))


def test_ramp_of_integers_wraps_at_64_bits(device: Device) -> None:
    """uint64 beyond int64 keeps its bits; floats end exactly where they are told to."""
    out = np.zeros(4, np.uint64)
    run(device, "ramp_u64", 4, -4, 1, -1, out, grid=1)
    assert out.tolist() == [2**64 - 4, 2**64 - 3, 2**64 - 2, 2**64 - 1]
    floats = np.zeros(3, np.float32)
    run(device, "ramp_f32", 3, 0.0, 1 / 3, 1.0, floats, grid=1)
    assert floats[0] == 0 and floats[2] == 1


@pytest.mark.parametrize("t", UNSIGNED, ids=lambda d: d.short)
def test_copies_go_on_beyond_their_ends(device: Device, t: DType) -> None:
    """In each of NumPy's ways, by more than the length too, from a transposed source."""
    x = np.arange(35).astype(t.numpy).reshape(7, 5)
    for mode in get_args(Mode):
        got = rk.pad(rk.asarray(x, device=device).T, ((3, 11), (0, 2)), mode=mode)
        np.testing.assert_array_equal(got.numpy(), np.pad(x.T, ((3, 11), (0, 2)), mode))
