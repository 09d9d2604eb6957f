"""Whole kernels, compiled by clang, run on the emulated device."""

from __future__ import annotations

import _thread
import re
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern.codeobject import Kernel
from rocmkern.emulator import program
from rocmkern.emulator.flow import Flow
from rocmkern.emulator.machine import Machine
from rocmkern.emulator.program import Program
from rocmkern.emulator.tier1 import Hot
from rocmkern.errors import BarrierDeadlock, KernelNotFound, KernelTimeout, MemoryFault
from tests.emulator.device import TARGETS, Bench, bench
from tests.samples import compile_hip

AFFINE = """
KERNEL void affine(unsigned n, const float *x, float *out, float mul, float add) {
    unsigned i = __builtin_amdgcn_workgroup_id_x() * 64u + __builtin_amdgcn_workitem_id_x();
    if (i < n) out[i] = x[i] * mul + add;
}
"""


SIZES = """
KERNEL void sizes(unsigned *out) {
    out[__builtin_amdgcn_workitem_id_x()] = __builtin_amdgcn_workgroup_size_x();
}
"""

# few enough bits that the sum below is exact in f64: rounding twice would differ from the fused operation
EXACT = st.integers(-8192, 8192).map(lambda i: i / 1024)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=20, deadline=None)
@given(n=st.integers(0, 700), mul=EXACT, add=EXACT)
def test_affine_equals_numpy(target: str, n: int, mul: float, add: float) -> None:
    """Every element below n is the fused multiply-add of its input, and no other is touched."""
    x = np.linspace(-50, 50, 704, dtype=np.float32)
    out = np.full(704, np.float32(-7))
    bench(AFFINE, target).run("affine", np.uint32(n), x, out, np.float32(mul), np.float32(add), grid=11)
    fused = (x.astype(np.float64) * np.float32(mul) + np.float32(add)).astype(np.float32)
    np.testing.assert_array_equal(out[:n], fused[:n])
    assert (out[n:] == -7).all()


def test_equal_launches_are_equal_whatever_ran_between() -> None:
    """What is kept of a launch follows the memory of the waves, which a larger workgroup replaces."""
    on = Machine("gfx942", compiles=False)
    device = Bench(on, on.load(compile_hip(AFFINE + SIZES, "gfx942")))
    x = np.arange(64, dtype=np.float32)
    for block in (64, 1024, 64, 1024, 128):
        out, sizes = np.zeros(64, np.float32), np.zeros(block, np.uint32)
        device.run("affine", np.uint32(64), x, out, np.float32(block), np.float32(1))
        device.run("sizes", sizes, block=block, shared_bytes=block * 60)
        np.testing.assert_array_equal(out, x * block + 1)
        assert (sizes == block).all()


def test_store_outside_every_allocation_is_a_fault() -> None:
    """The error names kernel, kind, size, lane and workgroup, and the device goes on working."""
    x = np.ones(64, np.float32)
    device = bench(AFFINE)
    with pytest.raises(
        MemoryFault, match=r"affine: store of 4 bytes at 0x1000 by lane 0 of wave 0, workgroup \(0, 0, 0\)"
    ):
        device.run("affine", np.uint32(64), x, 0x1000, np.float32(1), np.float32(0))
    out = np.zeros(64, np.float32)
    device.run("affine", np.uint32(64), x, out, np.float32(3), np.float32(0))
    assert (out == 3).all()


@pytest.mark.parametrize(
    ("pointer", "words"),
    [
        (0, "it is a null pointer"),
        (0x4B200, "it is 307712 bytes past a null pointer"),
        (0xDEADBEEF00000000, "it is no address of the device's memory"),
    ],
)
def test_faults_far_from_all_memory_say_what_they_are(pointer: int, words: str) -> None:
    """How far the nearest allocation is tells nobody anything there: most often a pointer is missing."""
    with pytest.raises(MemoryFault, match=words):
        bench(AFFINE).run("affine", np.uint32(64), pointer, np.zeros(64, np.float32), np.float32(1), np.float32(0))


def test_loads_behind_the_highest_allocation_find_mapped_memory() -> None:
    """Kernels of others read whole tiles, past the last row; on a GPU that is the same page. Past it nothing is."""
    on = Machine("gfx942", compiles=False)
    device, out = Bench(on, on.load(compile_hip(AFFINE, "gfx942"))), np.zeros(64, np.float32)
    device.run("affine", np.uint32(64), on.arena.base + (1 << 20), out, np.float32(0), np.float32(5))
    assert (out == 5).all()
    with pytest.raises(MemoryFault, match="affine: load of 4 bytes"):
        device.run("affine", np.uint32(64), on.arena.base + (2 << 20), out, np.float32(0), np.float32(5))


def test_unknown_kernel_lists_the_known_ones() -> None:
    """A wrong name is a LookupError that tells what there is."""
    with pytest.raises(KernelNotFound, match=r"no kernel 'afine' in this module; it has affine"):
        bench(AFFINE).module.kernel("afine")


SPIN = """
KERNEL void spin(volatile unsigned *flag) { while (*flag == 0) {} }
"""


def test_runaway_kernel_is_stopped() -> None:
    """A kernel that never ends raises KernelTimeout, and the device goes on working."""
    device = bench(SPIN)
    device.machine.timeout_s, before = 0.2, device.machine.timeout_s
    try:
        with pytest.raises(KernelTimeout, match=r"spin did not end within 0\.2 s"):
            device.run("spin", np.zeros(1, np.uint32), grid=40)
    finally:
        device.machine.timeout_s = before
    device.run("spin", np.ones(1, np.uint32), grid=40)


def test_failure_in_the_background_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the compiled tier fails, the next launch warns once with the kernel and the cause, and all goes on."""
    attempts = list[str]()

    def fail(_: Program, kernel: Kernel, extra: object) -> None:
        attempts.append(kernel.name)
        raise OSError("no room")

    monkeypatch.setattr(Program, "compile", fail)
    monkeypatch.setattr(program, "HOT_S", 0)
    monkeypatch.setattr(program, "HOT_S_PER_INSTRUCTION", 0)
    machine = Machine("gfx942")
    device = Bench(machine, machine.load(compile_hip(AFFINE)))
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    arguments = np.uint32(64), x, out, np.float32(3), np.float32(0)
    device.run("affine", *arguments)
    program.settle()
    with pytest.warns(RuntimeWarning, match=r"compile: affine for gfx942 stays in .* slow tier: OSError: no room"):
        device.run("affine", *arguments)
    device.run("affine", *arguments)
    program.settle()
    device.run("affine", *arguments)
    assert attempts == ["affine"]
    assert (out == 3).all()


def test_a_kernel_is_compiled_once_tier_0_has_cost_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """The price goes by the instructions that ran, in each version of their block; time ahead counts, but only once."""
    compiled = list[str]()
    monkeypatch.setattr(Program, "compile", lambda _, kernel, extra: compiled.append(kernel.name))
    monkeypatch.setattr(program, "HOT_S_PER_INSTRUCTION", 100)
    machine = Machine("gfx942")
    device = Bench(machine, machine.load(compile_hip(AFFINE)))
    code, kernel = device.module.program, device.module.kernel("affine").kernel

    def run(n: int) -> Flow:
        x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
        device.run("affine", np.uint32(n), x, out, np.float32(3), np.float32(0))
        return code.flow(kernel)

    for n in (0, 64):  # no lane behind the comparison, then all
        flow = run(n)
        ran = sum(len(flow.blocks[start].pcs) for start, _ in Hot.of(flow, code.translation.counts).versions)
        assert code.hot_instructions(kernel) == ran
    assert ran > sum(len(block.pcs) for block in flow.blocks.values())

    def after(share: float, ahead: float = 0) -> list[str]:
        code.warm(kernel, share * 100 * ran, ahead=ahead * 100 * ran)
        program.settle()
        return compiled

    assert after(0.4) == []
    assert after(0, ahead=0.5) == []
    assert after(0, ahead=0.5) == []
    assert after(0.5) == []
    assert after(0.05, ahead=0.1) == ["affine"]


MISSED_BARRIER = """
KERNEL void missed(volatile unsigned *flag) {
    if (__builtin_amdgcn_readfirstlane(__builtin_amdgcn_workitem_id_x() >> 6) == 1) {
        while (*flag == 0) {}
    }
    __builtin_amdgcn_s_barrier();
    *flag = 2;
}
"""


@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1201"])
def test_deadlocked_barrier_is_named(target: str) -> None:
    """The error says which waves wait for one that loops for ever, where each is, and the device goes on working."""
    device = bench(MISSED_BARRIER, target)
    device.machine.timeout_s, before = 1, device.machine.timeout_s
    per_64 = 64 // device.module.kernel("missed").kernel.wave_size
    waves = [f"{i} at pc 0x[0-9a-f]+" for i in range(3 * per_64)]
    at_barrier, on_their_way = [*waves[:per_64], *waves[2 * per_64 :]], waves[per_64 : 2 * per_64]
    message = (
        rf"missed did not end within 1 s: in workgroup \(\d+, 0, 0\) these waves wait at a barrier:"
        rf" {', '.join(at_barrier)}; these did not reach it: {', '.join(on_their_way)};"
    )
    try:
        with pytest.raises(BarrierDeadlock, match=message) as caught:
            device.run("missed", np.zeros(1, np.uint32), grid=40, block=192)
    finally:
        device.machine.timeout_s = before
    flow = device.module.program.flow(device.module.kernel("missed").kernel)
    waiting = {int(pc, 16) for pc in re.findall("pc (0x[0-9a-f]+)", str(caught.value).partition("; these")[0])}
    assert {flow.code[flow.entry + pc][0].unit for pc in waiting} == {"barrier"}
    flag = np.ones(1, np.uint32)
    device.run("missed", flag, grid=40, block=192)
    assert flag[0] == 2


@pytest.mark.usefixtures("interruptible")
def test_keyboard_interrupt_stops_a_kernel() -> None:
    """Ctrl-C ends a launch that never would."""
    device = bench(SPIN)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            device.run("spin", np.zeros(1, np.uint32), grid=40)
    finally:
        timer.cancel()


TWO_LOADS = """
KERNEL void two_loads(unsigned *out) {
    __attribute__((shared)) static unsigned staged[128];
    unsigned t = __builtin_amdgcn_workitem_id_x(), low, high;
    staged[t] = 3 * t;
    staged[t + 64] = 5 * t;
    unsigned at = (unsigned)(unsigned long)(__attribute__((address_space(3))) unsigned *)(staged + t);
    asm volatile("s_waitcnt lgkmcnt(0)\\n v_mov_b32 v10, %2\\n ds_read2_b32 v[10:11], v10 offset1:64\\n"
                 "s_waitcnt lgkmcnt(0)\\n v_mov_b32 %0, v10\\n v_mov_b32 %1, v11"
                 : "=v"(low), "=v"(high) : "v"(at) : "v10", "v11", "memory");
    out[t] = low;
    out[t + 64] = high;
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_two_address_load_may_write_its_address(target: str) -> None:
    """ds_read2 takes both addresses before the first result, which lands in the same register, arrives."""
    out = np.zeros(128, np.uint32)
    bench(TWO_LOADS, target).run("two_loads", out)
    assert np.array_equal(out, np.concatenate([3 * np.arange(64), 5 * np.arange(64)]))


SWAP = """
KERNEL void swap(unsigned *out) {
    unsigned t = __builtin_amdgcn_workitem_id_x(), first, second;
    asm volatile("v_mov_b32 v2, %2\\n v_add_nc_u32 v3, %2, %2\\n"
                 "v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2\\n v_mov_b32 %0, v2\\n v_mov_b32 %1, v3"
                 : "=v"(first), "=v"(second) : "v"(t) : "v2", "v3");
    out[t] = first;
    out[t + 32] = second;
}
"""


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_dual_instruction_reads_before_it_writes(target: str, compiled: bool) -> None:
    """Two moves in one instruction swap two registers."""
    out = np.zeros(64, np.uint32)
    bench(SWAP, target, compiled=compiled).run("swap", out, block=32)
    assert np.array_equal(out, np.concatenate([2 * np.arange(32), np.arange(32)]))


NARROWED = """
KERNEL void narrowed(const float *x, unsigned *out) {
    unsigned t = __builtin_amdgcn_workitem_id_x(), taken = 7;
    asm volatile("s_mov_b64 s[20:21], exec\\n v_cmpx_lt_f32 0, %1\\n v_mov_b32 %0, 1\\n s_mov_b64 exec, s[20:21]"
                 : "+v"(taken) : "v"(x[t]) : "s20", "s21", "vcc");
    out[t] = taken;
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_v_cmpx_of_floats_narrows_exec(target: str) -> None:
    """Only the lanes that compare true run what follows."""
    x, out = np.linspace(-1, 1, 64, dtype=np.float32), np.zeros(64, np.uint32)
    bench(NARROWED, target).run("narrowed", x, out)
    assert np.array_equal(out, np.where(x > 0, 1, 7))


MIRROR = """
KERNEL void mirror(unsigned *out) {
    __attribute__((shared)) static unsigned part[128];
    unsigned t = __builtin_amdgcn_workitem_id_x();
    part[t] = t;
    __builtin_amdgcn_s_barrier();
    out[t] = part[127 - t];
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_lds_address_wraps(target: str) -> None:
    """A register that holds minus a distance, plus the instruction's offset, is an address of LDS."""
    out = np.zeros(128, np.uint32)
    bench(MIRROR, target).run("mirror", out, block=128)
    assert np.array_equal(out, 127 - np.arange(128))


DENORMALS = """
KERNEL void half(const float *x, float *out) {
    out[__builtin_amdgcn_workitem_id_x()] = x[__builtin_amdgcn_workitem_id_x()] * 0.5f;
}
"""


@pytest.mark.parametrize("flush", [False, True])
def test_denormals_follow_the_kernel(flush: bool) -> None:
    """f32 denormals are kept, unless the kernel's descriptor says that they are flushed."""
    x = np.full(64, np.float32(2.0**-126))
    out = np.ones_like(x)
    flags = ("-fgpu-flush-denormals-to-zero",) if flush else ()
    bench(DENORMALS, "gfx942", flags).run("half", x, out)
    assert (out == (0 if flush else np.float32(2.0**-127))).all()
