"""The memory pool seen from tensors."""

from __future__ import annotations

import gc
from typing import Any

import rocmkern as rk


def test_freed_memory_is_used_again() -> None:
    """A tensor of a size that was freed asks the driver for nothing and lies where the old one lay."""
    first = rk.empty((12345,))
    address, before = first.address, rk.memory_statistics().driver_allocations
    del first
    gc.collect()
    second = rk.empty((12345,))
    assert second.address == address
    assert rk.memory_statistics().driver_allocations == before


def test_views_keep_memory_in_use() -> None:
    """The memory of a dropped tensor stays while a view of it lives."""
    base = rk.ones((1 << 18,))
    view = base[1:3]
    used = rk.memory_statistics().used_bytes
    del base
    gc.collect()
    assert rk.memory_statistics().used_bytes == used and view.tolist() == [1, 1]
    del view
    gc.collect()
    assert rk.memory_statistics().used_bytes <= used - (1 << 20)


def test_statistics_and_empty_cache() -> None:
    """Use, peak and cache add up; the cache goes back to the driver."""
    gc.collect()
    before = rk.memory_statistics()
    tensors = [rk.empty((1 << 20,), dtype=rk.uint8) for _ in range(3)]
    during = rk.memory_statistics()
    assert during.used_bytes - before.used_bytes == 3 << 20 and during.peak_bytes >= during.used_bytes
    assert during.allocations == before.allocations + 3
    tensors.clear()
    gc.collect()
    after = rk.memory_statistics()
    assert after.used_bytes == before.used_bytes and after.cached_bytes >= 3 << 20
    assert rk.empty_cache() == after.cached_bytes and rk.memory_statistics().cached_bytes == 0


def test_another_object_of_a_closed_device_goes_on() -> None:
    """Modules, numbers and layouts that operations keep do not close with the object through which they came."""
    name = rk.zeros(()).device.name
    calls: tuple[tuple[Any, list[Any]], ...] = (
        (rk.floor, [1, 1]), (rk.trunc, [1, 1]), (lambda x: x[::-1] + 2.5, [3.5, 3.5]),
        (lambda x: rk.full((2,), 1j, device=x.device), [1j, 1j]), (lambda x: rk.isnan(x.astype(rk.int32)), [False] * 2),
        (lambda x: rk.take(x, rk.where(x > 0, 1, 0)), [1, 1]),
    )  # fmt: skip
    for call, expected in calls * 2:
        with rk.Device(name) as device:
            assert call(rk.ones((2,), device=device)).tolist() == expected
