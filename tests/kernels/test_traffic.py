"""How much memory kernels touch, counted by the emulator: what a reader of values can't see."""

from __future__ import annotations

import numpy as np
import pytest

import rocmkern as rk
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
