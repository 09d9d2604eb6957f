"""Kernels of Triton's: arguments, geometry and memory of their own, by a stand-in for what `triton.compile` returns.

`scripts/triton_kernels.py` does the same with Triton itself.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.errors import ArgumentError, ArgumentRangeError, CodeObjectError, TargetNotBuilt
from tests.samples import compile_hip

# As Triton lowers a kernel: its arguments, then two pointers of the compiler's own.
SOURCE = """
KERNEL void scaled(const float *x, float *out, int n, float a, int *scratch, int *profile) {
    int block = __builtin_amdgcn_workgroup_id_x(), i = block * 128 + __builtin_amdgcn_workitem_id_x();
    if (scratch) scratch[block] = block;
    if (i < n) out[i] = a * x[i] + (scratch ? scratch[block] : 0) + (profile ? 1000 : 0);
}
"""
SIGNATURE = {"x": "*fp32", "out": "*fp32", "n": "i32", "a": "fp32", "BLOCK": "constexpr"}


def compiled(target: str = "gfx942", **changes: Any) -> SimpleNamespace:
    about = {"name": "scaled", "num_warps": 2, "warp_size": 64, "shared": 0, "global_scratch_size": 0, "num_ctas": 1}
    signature = changes.pop("signature", SIGNATURE)
    asm = changes.pop("asm", {"hsaco": compile_hip(SOURCE, target)})
    return SimpleNamespace(
        asm=asm, metadata=SimpleNamespace(**about | changes), src=SimpleNamespace(signature=signature)
    )


def run(kernel: Any, **more: Any) -> Any:
    x = rk.arange(300, dtype=rk.float32, device="emulator:gfx942")
    out = rk.zeros_like(x)
    kernel(x, out, n=300, a=0.5, grid=3, **more)
    return out.numpy()


def test_a_kernel_is_launched_as_it_was_compiled() -> None:
    """By so many waves, with names and Python numbers, without its constants and with null for memory of its own."""
    kernel = rk.from_triton(compiled(), "emulator:gfx942")
    assert (kernel.block, kernel.shared_bytes) == (128, 0)
    assert kernel.signature.startswith("scaled(x: pointer to float32, out: pointer to float32, n: int32, a: float32")
    np.testing.assert_array_equal(run(kernel), np.arange(300, dtype=np.float32) / 2)


def test_on_a_stream() -> None:
    stream = rk.Device("emulator:gfx942").create_stream()
    found = run(rk.from_triton(compiled(), "emulator:gfx942"), stream=stream)
    np.testing.assert_array_equal(found, np.arange(300, dtype=np.float32) / 2)


def test_memory_of_a_launch_is_given_to_it() -> None:
    """As many bytes as its metadata asks for, for each program of the grid: an access beyond them is a fault."""
    device = rk.Device("emulator:gfx942", checked=True)
    x = rk.arange(300, dtype=rk.float32, device=device)
    out = rk.zeros_like(x)
    rk.from_triton(compiled(global_scratch_size=4), device)(x, out, n=300, a=0.5, grid=3)
    np.testing.assert_array_equal(out.numpy(), np.arange(300) / 2 + np.arange(300) // 128)
    with pytest.raises(rk.errors.MemoryFault):
        rk.from_triton(compiled(global_scratch_size=1), device)(x, out, n=300, a=0.5, grid=3)
        device.synchronize()


def test_local_memory_is_asked_for() -> None:
    """What the metadata calls shared, at each launch."""
    kernel = rk.from_triton(compiled(shared=1 << 20), "emulator:gfx942")
    with pytest.raises(rk.errors.LaunchError, match="1048576"):
        run(kernel)


def test_arguments_are_checked() -> None:
    """Against the signature that it was compiled with."""
    kernel = rk.from_triton(compiled(), "emulator:gfx942")
    x = rk.zeros(4, dtype=rk.float16, device="emulator:gfx942")
    with pytest.raises(ArgumentError, match="points to float16, float32 was wanted"):
        kernel(x, x, n=4, a=1.0, grid=1)
    wide = x.astype(rk.float32)
    with pytest.raises(ArgumentRangeError):
        kernel(wide, wide, n=1 << 31, a=1.0, grid=1)
    with pytest.raises(ArgumentError, match="BLOCK"):
        kernel(wide, wide, n=4, a=1.0, grid=1, BLOCK=256)


def test_what_is_not_for_the_device() -> None:
    """Code of another target, and of another vendor."""
    with pytest.raises(TargetNotBuilt):
        rk.from_triton(compiled("gfx1100"), "emulator:gfx942")
    with pytest.raises(CodeObjectError, match=r"scaled has no hsaco; compile it for GPUTarget\('hip'"):
        rk.from_triton(compiled(asm={"ptx": ""}), "emulator:gfx942")


@pytest.mark.parametrize("kind", ["tensordesc<fp32[16,16]>", "*fp8e5b16", "nonsense"])
def test_types_without_a_dtype(kind: str) -> None:
    """Are told with the argument."""
    with pytest.raises(ArgumentError, match="scaled's x is of type"):
        rk.from_triton(compiled(signature=SIGNATURE | {"x": kind}), "emulator:gfx942")


@pytest.mark.parametrize("given", [7, None, SimpleNamespace(metadata=None)])
def test_what_triton_did_not_compile_is_refused(given: Any) -> None:
    """With what to give instead."""
    with pytest.raises(ArgumentError, match=r"is no compiled kernel; give what triton\.compile\(\) returned"):
        rk.from_triton(given)
