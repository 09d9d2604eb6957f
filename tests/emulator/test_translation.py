"""Code is translated as execution reaches it: what is not reached costs nothing and can't fail."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import numpy as np
import pytest

from rocmkern.emulator import program as programs
from rocmkern.emulator.machine import Machine
from rocmkern.emulator.native import DIGEST_BYTES, native
from rocmkern.emulator.pieces import Pieces, pieces
from rocmkern.emulator.translation import WRITTEN
from rocmkern.errors import UnsupportedInstruction
from tests.emulator.device import Bench, bench, machine
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
        asm volatile("s_trap 2");
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
    words = r"instruction bf920002 \(s_trap\) has no meaning yet, at pc 0x[0-9a-f]+ of paths for gfx942"
    with pytest.raises(UnsupportedInstruction, match=words):
        device.run("paths", NUMBERS, np.zeros(128, np.uint32), np.uint32(3), block=128)


def test_every_path_is_translated_when_it_is_first_run() -> None:
    """Each adds code and computes what it should, and an unknown instruction is an error of the path that has it."""
    device, sizes = bench.__wrapped__(PATHS), [0]
    for which in range(3):
        check(device, which)
        sizes.append(written(device))
    assert sizes == sorted(set(sizes))
    check_trap(device)
    for which in range(3):
        check(device, which)


def test_compiled_code_goes_on_where_nothing_is_translated() -> None:
    """One path is compiled before any other ran."""
    device = bench.__wrapped__(PATHS)
    check(device, 1)
    device.module.program.compile(device.module.kernel("paths").kernel)
    for _ in range(2):
        check_trap(device)
        for which in range(3):
            check(device, which)


def test_code_of_an_earlier_process_goes_on_where_nothing_is_translated() -> None:
    """What it compiled takes over at once, with no more translated than it consists of."""
    before, image = bench.__wrapped__(PATHS), compile_hip(PATHS)
    check(before, 1)
    before.module.program.compile(before.module.kernel("paths").kernel)
    on = Machine("gfx942")
    later = Bench(on, on.load(image))
    check(later, 1)
    assert later.module.program.heat(later.module.kernel("paths").kernel).entries
    assert written(later) == written(before)
    check_trap(later)
    for which in range(3):
        check(later, which)


def test_threads_translate_the_same_code_at_once() -> None:
    """Launches of one kernel that nothing has translated, on different paths."""
    device, begin = bench.__wrapped__(PATHS), threading.Barrier(6)

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


def test_notes_of_a_kernel_spare_a_later_process_its_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of the instructions is kept at the end of a process, and what is damaged is not used."""
    monkeypatch.setattr(programs, "_noted", [])
    source = PATHS.replace("n = 7", "n = 8")  # of which no notes are kept yet
    check(bench.__wrapped__(source), 1)
    programs.keep_notes()

    def decodes(*_: object) -> NoReturn:
        raise AssertionError("decoded")

    with monkeypatch.context() as later:
        pieces.cache_clear()
        later.setattr("rocmkern.emulator.pieces.decode", decodes)
        device = bench.__wrapped__(source)
        check(device, 1)
        with pytest.raises(AssertionError, match="decoded"):
            check(device, 2)
    check(device, 2)
    store, key = native().store, f"pieces_{device.module.program._key(device.module.kernel('paths').kernel)}"
    file = store.folder / key
    whole = file.read_bytes()
    assert store.recall(key) == whole[DIGEST_BYTES:]
    file.write_bytes(whole[:-1])
    assert store.recall(key) is None
    file.unlink()


@pytest.mark.parametrize(("target", "wave_size"), [("gfx942", 64), ("gfx1201", 32)])
def test_notes_say_what_decoding_says(target: str, wave_size: int) -> None:
    """Of every instruction of a module."""
    on = machine(target)
    program = on.load(compile_hip(SUMS.replace("RETURNING", RETURNING[target]), target)).program
    decoded, told = Pieces(on.isa, wave_size, False), Pieces(on.isa, wave_size, False)
    text, places = program.translation.text, [p for k in program.code.kernels.values() for p in program.flow(k).code]
    for place in places:
        next(decoded.straight(text, place))
    told.learn(decoded.notes(text, places))
    assert len(places) > 50
    assert told._kept.keys() == decoded._kept.keys()
    for words, piece in decoded._kept.items():
        same = told._kept[words]
        assert same.form.facts == piece.form.facts
        (row, inst), (_, first) = same.form.first(), piece.form.first()
        assert (row.name, inst.name, len(inst.src), inst.mods) == (first.name, first.name, len(first.src), first.mods)
        assert (same.body, same.size, same.target, same.parts_blocks, same.indexing) == (
            piece.body, piece.size, piece.target, piece.parts_blocks, piece.indexing
        )  # fmt: skip
