"""How much memory kernels touch, counted by the emulator: what a reader of values can't see."""

from __future__ import annotations

import numpy as np
import pytest

import rocmkern as rk
from benchmarks import bench_traffic
from rocmkern.drivers.emulator import EmulatorDriver
from rocmkern.emulator.observers.counts import Count, Counts


def counted(device: rk.Device, symbol: str, call: object) -> list[Count]:
    """What a kernel's instructions asked for in a call."""
    assert isinstance(device.driver, EmulatorDriver) and callable(call)
    with device.driver.watched(Counts()) as (tally,):
        call()
    return list(tally.kernels[symbol].values())


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(("shape", "axis"), [((300, 70), 0), ((4, 90, 33), 1), ((3000, 5), 0)])
def test_running_totals_write_each_element_once(target: str, shape: tuple[int, ...], axis: int) -> None:
    """Along any axis but the last a thread has a part of a column of its own, whatever the shape of the block. The same
    kernel adds up the parts' totals, a hundredth of the elements."""
    device = rk.Device(f"emulator:{target}")
    values = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    x = rk.asarray(values, device=device)
    totals = list[rk.Tensor]()
    counts = counted(device, "cumsum_f32", lambda: totals.append(rk.cumulative_sum(x, axis=axis)))
    stores = sum(c.lanes for c in counts if c.kind == "vector memory" and "store" in c.name)
    assert values.size <= stores <= 1.01 * values.size
    np.testing.assert_allclose(totals[0].numpy(), np.cumsum(values, axis, np.float64), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_parts_of_columns_are_read_side_by_side(target: str) -> None:
    """Lanes side by side take the same part of neighbouring columns, so a line is touched about once."""
    device = rk.Device(f"emulator:{target}")
    x = rk.ones((2048, 64), device=device)
    counts = counted(device, "split_sum_f32", lambda: rk.sum(x, axis=0))
    lines = sum(c.lines for c in counts if c.kind == "vector memory" and "load" in c.name)
    line_bytes = 128 if target == "gfx942" else 64
    assert lines <= 2 * x.nbytes // line_bytes


# What is known to move more than the least, on matrices of 256×256: docs/profile.md says why.
MORE = {
    "var of columns": 4.3, "softmax of columns": 2.01, "stack": 2.01, "pad": 1.6, "roll": 1.15,
    "running sums of columns": 1.6, "sum of columns": 1.2, "sum of odd rows": 1.1, "sum of rows": 1.1,
    "argmax of rows": 1.1,
}  # fmt: skip


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_operations_move_each_line_once(target: str) -> None:
    """Operands are read once from memory, and results written once, by all launches of an operation together."""
    moved = {case[0]: bench_traffic.traffic(case)[1] for case in bench_traffic.cases(target, 256)}
    assert {name: part for name, part in moved.items() if part > MORE.get(name, 1.05)} == {}
    assert {name for name, part in moved.items() if part < 0.95} == set()
