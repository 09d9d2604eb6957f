"""HIP's library over the emulator: programs on the real hip-python, and this package's own HIP driver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rocmkern import hip_on_cpu
from rocmkern.build import jit
from rocmkern.errors import DeviceNotFound
from rocmkern.hip_on_cpu import binding
from rocmkern.hip_on_cpu.calls import Calls

ROOT = Path(__file__).parents[2]
SOURCE = """
__device__ int constant_of_7 = 7;
extern "C" __global__ void scale(float *x, int n, float by) {
    if (threadIdx.x < n) {
        x[threadIdx.x] *= by;
    }
}
"""


def run(*arguments: str) -> str:
    """What a process of its own prints: the stand-in of HIP's library has the same name in this one."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_program_on_hip_python(tmp_path: Path) -> None:
    """`rocmkern run-hip` runs it: memory, launches, events, two devices, and HIP's own statuses for what is wrong."""
    files = []
    for target in ("gfx942", "gfx90a"):
        files.append(tmp_path / f"{target}.hsaco")
        files[-1].write_bytes(jit.compiled(SOURCE, target))
    client = ROOT / "tests" / "data" / "hip_client.py"
    devices = ("--device", "gfx942", "--device", "gfx1100")
    shown = run("-m", "rocmkern", "run-hip", *devices, str(client), *map(str, files))
    assert shown.endswith("all right\n")


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_own_driver_on_it(target: str) -> None:
    """The driver's tests that are written for any device pass through the real bindings."""
    command = ("-m", "pytest", "-p", "no:cacheprovider", "--device", "hip:0", "--hip-target", target)
    shown = run(*command, "tests/kernels/test_affine.py", "tests/kernels/test_fill.py", "tests/tensor/test_creation.py")
    assert "passed" in shown or "100%" in shown


def test_every_call_that_is_answered_is_declared() -> None:
    """A method that no row of the table names could never be called."""
    declared = {name for name, _ in binding.rows()}
    answered = {name for name in vars(Calls) if name.startswith("hip")}
    assert answered <= declared


def test_targets_are_checked() -> None:
    """Before anything is loaded."""
    with pytest.raises(DeviceNotFound, match="activate: no target 'gfx1'; there are gfx1"):
        hip_on_cpu.activate("gfx1")


def test_program_on_the_run_time_compiler() -> None:
    """It compiles with headers and names of templates, links, and answers with its own results for what is wrong."""
    client = str(ROOT / "tests" / "data" / "hiprtc_client.py")
    for target in ("gfx942", "gfx1100"):
        assert run("-m", "rocmkern", "run-hip", "--device", target, client).endswith("7\nall right\n")
