"""Code is translated as execution reaches it: what is not reached costs nothing and can't fail."""

from __future__ import annotations

import ctypes
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import msgpack
import numpy as np
import pytest
from attrs import astuple

from rocmkern.emulator import program as programs
from rocmkern.emulator.machine import Machine
from rocmkern.emulator.observers.seam import NOBODY
from rocmkern.emulator.pieces import pieces
from rocmkern.emulator.program import Program
from rocmkern.emulator.scan import Words
from rocmkern.emulator.snapshot import Snapshot
from rocmkern.emulator.translation import WRITTEN
from rocmkern.errors import UnsupportedInstruction
from tests.emulator.device import Bench, bench, kept_file, machine, unknown
from tests.samples import compile_hip

PATHS = """
typedef unsigned u32;
static __attribute__((device)) inline void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__attribute__((device, noinline)) u32 cube(u32 v) { return v * v * v; }
KERNEL void paths(const u32 *x, u32 *out, u32 which) {
    __attribute__((shared)) static u32 part[128];
    u32 t = __builtin_amdgcn_workitem_id_x(), v = x[t], n = 0;
    if (which == 0) {
        for (u32 left = v; left; left &= left - 1) n++;
    } else if (which == 1) {
        for (u32 k = 0; k < 5; ++k) { part[t] = v + k; barrier(); n += part[127 - t]; barrier(); }
    } else if (which == 2) {
        n = cube(v);
    } else {
        asm volatile("s_rfe_b64 s[2:3]");
        n = 7;
    }
    out[t] = n + v;
}
"""
NUMBERS = np.random.default_rng(3).integers(0, 1 << 32, 128, dtype=np.uint32)
SUM = 5 * NUMBERS[::-1] + np.uint32(10)
BITS = np.array([n.bit_count() for n in NUMBERS.tolist()], np.uint32)
RESULTS = (BITS, SUM, NUMBERS**3)


def check(device: Bench, which: int) -> None:
    out = np.zeros(128, np.uint32)
    device.run("paths", NUMBERS, out, np.uint32(which), block=128)
    np.testing.assert_array_equal(out, RESULTS[which] + NUMBERS)


def written(device: Bench) -> int:
    return sum(mark & WRITTEN for mark in device.module.program.translation._marks)


def check_trap(device: Bench) -> None:
    words = r"instruction be801f02 \(s_rfe_b64\) has no meaning yet, at pc 0x[0-9a-f]+ of paths for gfx942"
    with pytest.raises(UnsupportedInstruction, match=words):
        device.run("paths", NUMBERS, np.zeros(128, np.uint32), np.uint32(3), block=128)


def test_every_path_is_translated_when_it_is_first_run() -> None:
    """Each adds code and computes what it should, and an unknown instruction is an error of the path that has it."""
    device, sizes = unknown(PATHS), [0]
    for which in range(3):
        check(device, which)
        sizes.append(written(device))
    assert sizes == sorted(set(sizes))
    check_trap(device)
    for which in range(3):
        check(device, which)


def test_compiled_code_goes_on_where_nothing_is_translated() -> None:
    """One path is compiled before any other ran."""
    device = unknown(PATHS)
    check(device, 1)
    device.module.program.compile(device.module.kernel("paths").kernel)
    for _ in range(2):
        check_trap(device)
        for which in range(3):
            check(device, which)


def test_code_of_an_earlier_process_goes_on_where_nothing_is_translated() -> None:
    """What it compiled takes over at once, with no more translated than it consists of."""
    source = PATHS.replace("n = 7", "n = 8")  # of its own: others keep other paths
    before, image = unknown(source), compile_hip(source)
    check(before, 1)
    before.module.program._compile_in_background(before.module.kernel("paths").kernel, set())
    on = Machine("gfx942")
    later = Bench(on, on.load(image))
    check(later, 1)
    assert later.module.program.heat(later.module.kernel("paths").kernel).entries
    assert written(later) == written(before)
    check_trap(later)
    for which in range(3):
        check(later, which)


def test_what_other_launches_run_is_compiled_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier process compiled one path; this one runs another for long, a block with other lanes among it."""
    monkeypatch.setattr(programs, "HOT_S_PER_INSTRUCTION", 1e-9)
    monkeypatch.setattr(programs, "S_PER_INSTRUCTION", 1.0)
    source = PATHS.replace("n = 7", "n = 9")
    before, image = unknown(source), compile_hip(source)
    check(before, 1)
    before.module.program._compile_in_background(before.module.kernel("paths").kernel, set())
    on = Machine("gfx942")
    later = Bench(on, on.load(image))
    kernel, program = later.module.kernel("paths").kernel, later.module.program
    check(later, 1)
    known = program.heat(kernel).versions
    assert known and known == before.module.program.heat(kernel).versions

    def warmed() -> frozenset[tuple[int, bool]]:
        program.warm(kernel, 1.0)
        programs.settle()
        return program.heat(kernel).versions

    assert warmed() == known
    out = np.zeros(128, np.uint32)
    for which, block in ((0, 128), (1, 20)):
        later.run("paths", NUMBERS, out, np.uint32(which), block=block)
        more = warmed()
        assert more > known
        assert warmed() == more
        known = more
    for which in range(3):
        check(later, which)


def test_threads_translate_the_same_code_at_once() -> None:
    """Launches of one kernel that nothing has translated, on different paths."""
    device, begin = unknown(PATHS), threading.Barrier(6)

    def run(which: int) -> None:
        begin.wait(10)
        check(device, which)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(run, [0, 1, 2, 2, 1, 0]))


SUMS = """
typedef unsigned u32;
#define ADD asm volatile("global_atomic_add_f32 %0, %1, off" : : "v"(out), "v"(1.0f) : "memory")
__attribute__((device, noinline)) void put(float *out) { ADD; }
KERNEL void behind(float *out, u32 n) { if (n) { __builtin_amdgcn_s_barrier(); ADD; } }
KERNEL void calls(float *out, u32 n) { if (n) { __builtin_amdgcn_s_barrier(); put(out); } }
KERNEL void adds(float *out, u32 n) { if (n) ADD; }
KERNEL void waits(float *out, u32 n) { if (n) { __builtin_amdgcn_s_barrier(); out[1] = 1; } }
KERNEL void old(float *out, u32 n) {
    float was = 0;
    if (n) { __builtin_amdgcn_s_barrier(); asm volatile("RETURNING" : "=v"(was) : "v"(out), "v"(1.0f)); }
    out[1] = was;
}
"""
RETURNING = {
    "gfx942": "global_atomic_add_f32 %0, %1, %2, off sc0",
    "gfx1201": "global_atomic_add_f32 %0, %1, %2, off th:TH_ATOMIC_RETURN",
}


@pytest.mark.parametrize("target", RETURNING)
def test_who_sums_behind_a_barrier_is_known_before_it_runs(target: str) -> None:
    """Whether that is on a path that will run or not, and in the kernel itself or in what it calls."""
    on = machine(target)
    module = on.load(compile_hip(SUMS.replace("RETURNING", RETURNING[target]), target))
    expecting = {
        name for name in module.program.code.kernels if module.program.expects_zeros(module.kernel(name).kernel)
    }
    assert expecting == {"behind", "calls"}


def test_what_is_kept_of_a_kernel_spares_a_later_process_its_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ran is kept at the end of a process, what ran later is added, and what is damaged is not used."""
    monkeypatch.setattr(programs, "_noted", [])
    source = PATHS.replace("n = 7", "n = 9")
    first = unknown(source)
    file = kept_file(first, "paths")
    check(first, 1)
    programs.keep_notes()

    def decodes(*_: object) -> NoReturn:
        raise AssertionError("decoded")

    with monkeypatch.context() as later:
        pieces.cache_clear()
        pieces("gfx942", 64, NOBODY)
        later.setattr("rocmkern.emulator.pieces.decode", decodes)
        device = bench.__wrapped__(source)
        check(device, 1)
        assert written(device) == written(first)
        with pytest.raises(AssertionError, match="decoded"):
            check(device, 0)
    check(device, 0)
    programs.keep_notes()
    for damage, is_used in ((0, True), (1, False)):
        file.write_bytes(file.read_bytes()[damage:])
        later = bench.__wrapped__(source)
        later.module.program.entry(later.module.kernel("paths").kernel, 64)
        assert (written(later) == written(device)) == is_used
    check(later, 1)


def operations(program: Program) -> dict[int, tuple[object, ...]]:
    """Of each place in the code: whether a block begins there, and the operation, with the code for an address."""
    text = program.translation
    base = {text.table[pc >> 2]: pc for pc in range(0, len(text.text), 4)}
    found = dict[int, tuple[object, ...]]()
    for pc in range(0, len(text.text), 4):
        if not text.is_written(pc):
            continue
        known = pieces(text.isa, 64 if text.isa == "gfx940" else 32, NOBODY)
        _, piece, _ = next(known.straight(text.text, pc))
        where, words = text.table[pc >> 2], list[object]()
        for form in (*[known.count.form] * text.is_counted(pc), piece.form):
            content = np.frombuffer(ctypes.string_at(where, form.operation_bytes), np.uint64).tolist()
            target = base.get(content[1], content[1])
            words += [content[0], target, content[2] - text.address, *content[3:]]
            where += form.operation_bytes
        found[pc] = text.is_counted(pc), *words
    return found


@pytest.mark.parametrize(("target", "wave_size"), [("gfx942", 64), ("gfx1201", 32)])
def test_restored_operations_are_those_that_were_translated(target: str, wave_size: int) -> None:
    """Of every instruction of a module, at another address; taking them over twice is refused."""
    on, image = machine(target), compile_hip(SUMS.replace("RETURNING", RETURNING[target]), target)
    first, later = on.load(image).program, on.load(image).program
    for kernel in first.code.kernels.values():
        start, end = first.extent(kernel)
        first.translation.mark((start, *Words(first.isa, first.translation.text, start, end).branch_targets()))
        for pc in first.flow(kernel).code:
            first.translation.operation(pc, wave_size, kernel.name)
    assert first.base != later.base
    for kernel in first.code.kernels.values():
        kept = first.translation.snapshot(*first.extent(kernel), wave_size)
        kept = Snapshot(*msgpack.unpackb(msgpack.packb(astuple(kept)), use_list=False))
        assert later.translation.restore(kept, wave_size)
        assert not later.translation.restore(kept, wave_size)
    wanted = operations(first)
    assert len(wanted) > 50
    assert operations(later) == wanted
