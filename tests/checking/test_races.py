"""Races in device memory: between waves and between workgroups, with what orders them understood."""

from __future__ import annotations

import numpy as np
import pytest

from rocmkern.checking.running import Findings
from tests.checking.kernels import NAMES
from tests.checking.launched import found

SOURCE = """
#define AGENT __MEMORY_SCOPE_DEVICE
#define GROUP __MEMORY_SCOPE_WRKGRP
KERNEL void exchange(u32 *x, u32 waits) {
    x[T] = T;
    if (waits) barrier();
    x[128 + T] = x[127 - T];
}
KERNEL void neighbours(u32 *x, u32 apart) {
    if (T == 0) {
        x[G] = G + 5;
        x[64 + G] = x[apart ? G : (G + 1) & 3];
    }
}
KERNEL void same_place(u32 *x, u32 same) {
    if (T == 0) x[0] = same ? 7 : G;
}
KERNEL void counted(u32 *x, u32 atomic) {
    if (atomic) __scoped_atomic_fetch_add(x, 1u, __ATOMIC_RELAXED, AGENT);
    else ++*(volatile u32 *)x;
}
KERNEL void bytes_apart(u8 *x, u32 apart) {
    if (T == 0) x[apart ? G : G / 2] = G + 1;
}
KERNEL void flag(u32 *x, u32 *seen) {
    if (T) return;
    if (G == 0) {
        x[1] = 42;
        __scoped_atomic_store_n(x, 1u, __ATOMIC_RELEASE, AGENT);
    } else if (__scoped_atomic_load_n(x, __ATOMIC_ACQUIRE, AGENT)) seen[0] = x[1];
}
KERNEL void flag_not_released(u32 *x, u32 *seen) {
    if (T) return;
    if (G == 0) {
        x[1] = 42;
        __scoped_atomic_store_n(x, 1u, __ATOMIC_RELAXED, AGENT);
    } else if (__scoped_atomic_load_n(x, __ATOMIC_ACQUIRE, AGENT)) seen[0] = x[1];
}
KERNEL void flag_not_acquired(u32 *x, u32 *seen) {
    if (T) return;
    if (G == 0) {
        x[1] = 42;
        __scoped_atomic_store_n(x, 1u, __ATOMIC_RELEASE, AGENT);
    } else if (__scoped_atomic_load_n(x, __ATOMIC_RELAXED, AGENT)) seen[0] = x[1];
}
KERNEL void flag_of_a_group(u32 *x, u32 *seen) {
    if (T) return;
    if (G == 0) {
        x[1] = 42;
        __scoped_atomic_store_n(x, 1u, __ATOMIC_RELEASE, GROUP);
    } else if (__scoped_atomic_load_n(x, __ATOMIC_ACQUIRE, GROUP)) seen[0] = x[1];
}
KERNEL void plain_flag(u32 *x, u32 *seen) {
    if (T) return;
    if (G == 0) {
        x[1] = 42;
        __scoped_atomic_store_n(x, 1u, __ATOMIC_RELEASE, AGENT);
    } else if (x[0]) seen[0] = 1;
}
KERNEL void read_while_counted(u32 *x, u32 *seen) {
    if (T) return;
    __scoped_atomic_fetch_add(x, 1u, __ATOMIC_RELAXED, AGENT);
    seen[G] = x[0];
}
KERNEL void last_group(u32 *x, u32 *seen) {
    if (T) return;
    x[1 + G] = G;
    if (__scoped_atomic_fetch_add(x, 1u, __ATOMIC_ACQ_REL, AGENT) == 3) {
        u32 sum = 0;
        for (int i = 0; i < 4; ++i) sum += x[1 + i];
        seen[0] = sum;
        x[0] = 0;
    }
}
KERNEL void last_group_relaxed(u32 *x, u32 *seen) {
    if (T) return;
    x[1 + G] = G;
    if (__scoped_atomic_fetch_add(x, 1u, __ATOMIC_RELAXED, AGENT) == 3) {
        u32 sum = 0;
        for (int i = 0; i < 4; ++i) sum += x[1 + i];
        seen[0] = sum;
    }
}
"""


def said(target: str, kernel: str, second: np.generic | np.ndarray, **geometry: int) -> Findings:
    return found(SOURCE, target, kernel, np.zeros(256, np.uint32), second, only=["race"], **geometry)


@pytest.mark.parametrize("target", NAMES)
def test_waves_of_a_workgroup(target: str) -> None:
    """A barrier orders them."""
    assert not said(target, "exchange", np.uint32(1), block=128)
    kinds = {one.kind for one in said(target, "exchange", np.uint32(0), block=128)}
    assert kinds == {"race, read after write", "race, write after read"}


@pytest.mark.parametrize("target", NAMES)
def test_workgroups(target: str) -> None:
    """Nothing orders them; who did the other access is told."""
    assert not said(target, "neighbours", np.uint32(1), grid=4)
    findings = said(target, "neighbours", np.uint32(0), grid=4)
    assert {one.kind for one in findings} == {"race, read after write", "race, write after read"}
    assert all(one.access and "of workgroup number" in one.access.other for one in findings)


@pytest.mark.parametrize("target", NAMES)
def test_stores_of_one_value(target: str) -> None:
    """A note where all write the same."""
    (note,) = said(target, "same_place", np.uint32(1), grid=4)
    assert (note.kind, note.is_note) == ("race, same value", True)
    (error,) = said(target, "same_place", np.uint32(0), grid=4)
    assert (error.kind, error.is_note) == ("race, write after write", False)


@pytest.mark.parametrize("target", NAMES)
def test_counters(target: str) -> None:
    """Atomics don't race with each other; loads and stores of one word do, however wide their scope."""
    assert not said(target, "counted", np.uint32(1), block=128, grid=2)
    findings = said(target, "counted", np.uint32(0), block=128, grid=2)
    assert "race, write after write" in {one.kind for one in findings.errors}


@pytest.mark.parametrize("target", NAMES)
def test_bytes_of_a_dword(target: str) -> None:
    """Several bytes of one don't race."""
    assert not said(target, "bytes_apart", np.uint32(1), grid=4)
    assert said(target, "bytes_apart", np.uint32(0), grid=4).errors


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("kernel", ["flag", "last_group"])
def test_orders_that_are_right(target: str, kernel: str) -> None:
    """Data, release, acquire, data."""
    assert not said(target, kernel, np.zeros(8, np.uint32), grid=4 if kernel == "last_group" else 2)


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize(
    "kernel",
    ["flag_not_released", "flag_not_acquired", "flag_of_a_group", "plain_flag", "read_while_counted",
     "last_group_relaxed"],
)  # fmt: skip
def test_orders_that_are_wrong(target: str, kernel: str) -> None:
    """One link is missing."""
    grid = 4 if kernel == "last_group_relaxed" else 2
    findings = said(target, kernel, np.zeros(8, np.uint32), grid=grid)
    wanted = "race, write after read" if kernel == "read_while_counted" else "race, read after write"
    assert {one.kind for one in findings.errors} == {wanted}


def test_launches_are_in_order() -> None:
    """What one launch wrote, the next one may read."""
    for _ in range(2):
        assert not said("gfx942", "neighbours", np.uint32(1), grid=4)
