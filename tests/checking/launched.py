"""Runs small HIP kernels on checked devices, all of whose faults are collected."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rocmkern.checking.running import Findings
from rocmkern.emulator.faults import collected
from rocmkern.emulator.machine import Machine
from rocmkern.emulator.observers.races import observers
from tests.emulator.device import Bench
from tests.samples import compile_hip

PRELUDE = """
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32; typedef unsigned long u64;
#define T __builtin_amdgcn_workitem_id_x()
#define G __builtin_amdgcn_workgroup_id_x()
#define SHARED __attribute__((shared)) static
#define DEVICE static __attribute__((device)) inline
DEVICE void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
"""
WORDS = 256
FLAGS = ("-gline-tables-only",)


@cache
def bench(source: str, target: str) -> Bench:
    on = Machine(target, observers(target), timeout_s=2, compiles=False)
    return Bench(on, on.load(compile_hip(PRELUDE + source, target, flags=FLAGS)))


def line_of(source: str, part: str) -> int:
    """Where a part of a source stands in what is compiled."""
    return next(i for i, line in enumerate(f"\n{PRELUDE}{source}".splitlines(), 1) if part in line)


def found(
    source: str,
    target: str,
    kernel: str,
    *arguments: NDArray[np.generic] | np.generic | int,
    grid: int = 1,
    block: int = 64,
    only: Sequence[str] = (),
    compiled: bool = False,
) -> Findings:
    """What a launch does wrong."""
    findings, device = Findings(only), bench(source, target)
    if compiled:
        device.module.program.compile(device.module.kernel(kernel).kernel)
    with collected(findings):
        device.run(kernel, *arguments, grid=grid, block=block)
    return findings


def run_case(source: str, target: str, kernel: str, grid: int, block: int) -> Findings:
    """What a kernel of the corpus does wrong."""
    device, findings = bench(source, target), Findings()
    machine = device.machine
    x, y, gone = (machine.alloc(4 * WORDS) for _ in range(3))
    machine.view(x, 4 * WORDS)[:] = np.arange(WORDS, dtype=np.uint32).tobytes()
    machine.free(gone)
    with collected(findings):
        arguments = struct.pack("<QQQI", x, y, gone, 64)
        machine.launch(device.module.kernel(kernel), (grid, 1, 1), (block, 1, 1), 0, arguments)
    return findings
