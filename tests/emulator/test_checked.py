"""The checked mode reports what hardware lets pass."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from rocmkern.emulator import program as programs
from rocmkern.emulator.machine import Machine
from rocmkern.emulator.observers.checker import CHECKED
from rocmkern.errors import MemoryFault
from tests.emulator.device import TARGETS, Bench, bench, kept_file
from tests.emulator.test_control import RDNA, SOURCE
from tests.samples import compile_hip

FAULTY = """
typedef unsigned u32;
static __attribute__((device)) inline void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
KERNEL void copy(const u32 *x, u32 *out, u32 shift) {
    u32 t = __builtin_amdgcn_workitem_id_x();
    out[t] = x[t + shift];
}
KERNEL void swap(u32 *out, u32 with_barrier) {
    __attribute__((shared)) static u32 part[128];
    u32 t = __builtin_amdgcn_workitem_id_x();
    part[t] = t;
    if (with_barrier) barrier();
    out[t] = part[127 - t];
}
KERNEL void overwrite(u32 *out, u32 with_barrier) {
    __attribute__((shared)) static u32 part[128];
    u32 t = __builtin_amdgcn_workitem_id_x();
    part[t] = t;
    barrier();
    u32 seen = part[127 - t];
    if (with_barrier) barrier();
    part[t] = seen + 1;
    out[t] = part[t];
}
KERNEL void unwritten(u32 *out) {
    __attribute__((shared)) static volatile u32 part[128];
    u32 t = __builtin_amdgcn_workitem_id_x();
    if (t < 64) part[t] = t;
    out[t] = part[(t + 64) & 127];
}
KERNEL void count(u32 *out) {
    __attribute__((shared)) static u32 total;
    if (__builtin_amdgcn_workitem_id_x() == 0) total = 0;
    barrier();
    __atomic_fetch_add(&total, 1u, __ATOMIC_RELAXED);
    barrier();
    out[__builtin_amdgcn_workitem_id_x()] = total;
}
"""


@cache
def checked(source: str, target: str, compiled: bool = False) -> Bench:
    on = Machine(target, CHECKED, timeout_s=60, compiles=False)
    return Bench(on, on.load(compile_hip(source, target)), compiled)


BOTH_TIERS = [(target, compiled) for target in (*TARGETS, *RDNA) for compiled in (False, True)]


@pytest.fixture(params=BOTH_TIERS, ids=[f"{target}-tier{compiled:d}" for target, compiled in BOTH_TIERS])
def gpu(request: pytest.FixtureRequest) -> Bench:
    """One that runs in tier 0, and one that runs in tier 1 what did no wrong before."""
    target, compiled = request.param
    return checked(FAULTY, target, compiled)


def test_access_past_an_allocation(gpu: Bench) -> None:
    """One element too far is an error that says how far, although the memory behind is the device's."""
    x, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    gpu.run("copy", x, out, np.uint32(0))
    assert np.array_equal(out, x)
    fact = (
        r"copy: load of 4 bytes at 0x[0-9a-f]+ outside every allocation by lane \d+ of wave \d, .*0 bytes past the end"
    )
    with pytest.raises(MemoryFault, match=fact):
        gpu.run("copy", x, out, np.uint32(1))


def test_use_after_free(gpu: Bench) -> None:
    """A load from freed memory names the allocation that it was, and where that was made."""
    address = gpu.machine.alloc(256)
    gpu.machine.view(address, 256)
    gpu.machine.free(address)
    fact = rf"in memory that was freed by lane 0 .* 0 bytes into the 256 bytes at {address:#x} made by .*test_checked"
    with pytest.raises(MemoryFault, match=fact):
        gpu.run("copy", address, np.zeros(64, np.uint32), np.uint32(0))


def test_read_of_unwritten_memory(gpu: Bench) -> None:
    """Memory that neither host nor kernel wrote must not be read; what a kernel wrote may be."""
    source, copy = gpu.machine.alloc(256), gpu.machine.alloc(256)
    with pytest.raises(MemoryFault, match=r"load of 4 bytes at 0x[0-9a-f]+ of memory that nothing wrote"):
        gpu.run("copy", source, copy, np.uint32(0))
    gpu.machine.view(source, 256)[:] = bytes(256)
    gpu.run("copy", source, copy, np.uint32(0))
    gpu.run("copy", copy, np.zeros(64, np.uint32), np.uint32(0))


@pytest.mark.parametrize("kernel", ["swap", "overwrite"])
def test_lds_race(gpu: Bench, kernel: str) -> None:
    """Two waves that touch a byte of LDS with no barrier between, one writing: reported, and not with the barrier."""
    out = np.zeros(128, np.uint32)
    gpu.run(kernel, out, np.uint32(1), block=128)
    assert np.array_equal(out, 127 - np.arange(128) + (kernel == "overwrite"))
    # Without the first barrier a wave may also come before the one that writes what it reads.
    what = "that races with another wave" if kernel == "overwrite" else "of memory that nothing wrote"
    with pytest.raises(MemoryFault, match=rf"{kernel}: \w+ of 4 bytes at 0x[0-9a-f]+ {what}.* 512 bytes of LDS"):
        gpu.run(kernel, out, np.uint32(0), block=128)


def test_read_of_unwritten_lds(gpu: Bench) -> None:
    """LDS holds nothing when a workgroup starts."""
    with pytest.raises(MemoryFault, match=r"unwritten: load of 4 bytes at 0x[0-9a-f]+ of memory that nothing wrote"):
        gpu.run("unwritten", np.zeros(128, np.uint32), block=128)


def test_atomics_do_not_race(gpu: Bench) -> None:
    """Atomics of several waves on one word are in order."""
    out = np.zeros(256, np.uint32)
    gpu.run("count", out, block=256)
    assert (out == 256).all()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1100"])
def test_right_kernels_pass(target: str, compiled: bool) -> None:
    """No complaint about kernels that do nothing wrong."""
    gpu = checked(SOURCE, target, compiled)
    x = np.arange(1024, dtype=np.uint32)
    bins, total = np.zeros(64, np.uint32), np.zeros(4, np.float32)
    gpu.run("histogram", x, bins, grid=4, block=256)
    gpu.run("block_sum", x.astype(np.float32), total, grid=4, block=256)
    reversed_ = x.copy()
    gpu.run("reverse", reversed_, grid=1, block=1024, shared_bytes=4096)
    local = np.zeros_like(x)
    gpu.run("local_array", x, local, grid=16)
    assert (bins == 16).all()
    assert total.tolist() == x.reshape(4, 256).sum(1).tolist()
    assert np.array_equal(reversed_, x[::-1])
    assert local[0] == sum(k * k for k in range(0, 40, 3)) + 1000


def test_what_is_kept_of_a_kernel_is_not_of_the_checked_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """That neither uses what other processes keep nor keeps anything."""
    monkeypatch.setattr(programs, "_noted", [])
    x, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    plain = bench.__wrapped__(FAULTY, "gfx942")
    plain.run("copy", x, out, np.uint32(0))
    plain.module.program._keep(plain.module.kernel("copy").kernel)
    kept = kept_file(plain, "copy").read_bytes()
    with pytest.raises(MemoryFault, match="outside every allocation"):
        checked.__wrapped__(FAULTY, "gfx942").run("copy", x, out, np.uint32(1))
    programs.keep_notes()
    assert kept_file(plain, "copy").read_bytes() == kept
