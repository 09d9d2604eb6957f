"""Grid, block and LDS are checked before a launch."""

from __future__ import annotations

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.errors import KernelNotFound, LaunchError
from rocmkern.runtime import Function
from tests import samples
from tests.hip_double import Double

REQUIRED = """
KERNEL void free_size(int *out) { out[0] = 1; }
KERNEL void staged(int *out) {
    __attribute__((shared)) static int lds[4096];
    lds[__builtin_amdgcn_workitem_id_x()] = out[0];
    __builtin_amdgcn_s_barrier();
    out[1] = lds[__builtin_amdgcn_workitem_id_x() ^ 1];
}
"""


def load(name: str) -> Function:
    """A kernel with a limit of 512 threads; `slots` needs a block of 256."""
    if name == "slots":
        return rk.Module.load_data(samples.hand_written(samples.pads(3)), rk.Device("hip:0")).get_function(name)
    module = rk.Module.load_data(
        samples.compile_hip(REQUIRED, flags=("--gpu-max-threads-per-block=512",)), rk.Device("hip:0")
    )
    return module.get_function(name)


@pytest.mark.parametrize(
    ("name", "grid", "block", "shared_bytes", "words"),
    [
        ("free_size", 1, 0, 0, r"block\.x is 0; hip:0 takes 1 to 1024"),
        ("free_size", 0, 64, 0, r"grid\.x is 0; hip:0 takes 1 to 2147483647"),
        ("free_size", (1, -1), 64, 0, r"grid\.y is -1"),
        ("free_size", (1, 65537), 64, 0, r"grid\.y is 65537; hip:0 takes 1 to 65536"),
        ("free_size", 1, 2048, 0, r"block\.x is 2048; hip:0 takes 1 to 1024"),
        ("free_size", 1, 1024, 0, r"\(1024, 1, 1\) has 1024 threads, the kernel takes at most 512; use a smaller"),
        ("free_size", 1, (32, 32), 0, r"\(32, 32, 1\) has 1024 threads, the kernel takes at most 512"),
        ("slots", 1, 128, 0, r"block is \(128, 1, 1\), the kernel was compiled for exactly \(256, 1, 1\)"),
        ("free_size", 1 << 26, 64, 0, r"67108864 × 64 = 4294967296 work-items, 2³² − 1 is the most; use a smaller"),
        ("free_size", 1, 64, 65537, r"0 bytes of LDS in the kernel \+ shared_bytes=65537 is 65537, hip:0 has 65536"),
        ("staged", 1, 64, 49153, r"16384 bytes of LDS .* is 65537, hip:0 has 65536; ask for at most 49152"),
        ("free_size", 1, 64, -1, r"shared_bytes=-1"),
        ("free_size", (1, 2, 3, 4), 64, 0, r"grid is \(1, 2, 3, 4\); give one to three integers"),
        ("free_size", (), 64, 0, r"grid is \(\); give one to three integers"),
        ("free_size", 1.5, 64, 0, r"grid is 1\.5; give one to three integers"),
    ],
)  # fmt: skip
def test_geometry_that_can_not_run(
    double: Double, name: str, grid: object, block: object, shared_bytes: int, words: str
) -> None:
    """G14 and the other limits of kernel and device: the error says what came and what may be. HIP sees nothing."""
    function = load(name)
    out = function.module.device.alloc(8)
    args = (out, np.uint32(1)) if name == "slots" else (out,)
    with pytest.raises(LaunchError, match=rf"launch.*{words}"):
        function(*args, grid=grid, block=block, shared_bytes=shared_bytes)
    assert double.log("hipModuleLaunchKernel") == []
    assert issubclass(LaunchError, ValueError)


@pytest.mark.parametrize(
    ("grid", "block", "shared_bytes"),
    [
        (2**31 - 1, 1, 0),
        ((1, 65536, 65536), (1, 1, 64), 65536),
        (2**26 - 1, 64, 0),
        (1, 512, 0),
        (rk.Dim3(4, y=2), (8, 8, 8), 0),
        ([4, np.int64(2)], np.array([64]), 0),
    ],
)
def test_geometry_at_the_limits(double: Double, grid: object, block: object, shared_bytes: int) -> None:
    """What just fits is launched."""
    function = load("free_size")
    function(function.module.device.alloc(8), grid=grid, block=block, shared_bytes=shared_bytes)
    assert len(double.log("hipModuleLaunchKernel")) == 1


def test_missing_kernel_names_module_target_and_near_matches(double: Double) -> None:
    """G6: a misspelt name lists what comes near; a name whose root exists lists the dtypes that are there."""
    names = ("cast_f32_f16", "cast_f32_f64", "cast_f32_u8", "other")
    source = "".join(f"KERNEL void {name}(int *p) {{}}\n" for name in names)
    module = rk.Module.load_data(samples.compile_hip(source), rk.Device("hip:0"))
    words = "no kernel 'cast_f32_nope' in module for gfx942; it has cast_f32 for u8, f16, f64"
    with pytest.raises(KernelNotFound, match=words):
        module.get_function("cast_f32_nope")
    with pytest.raises(KernelNotFound, match="no kernel 'othr' in module for gfx942; did you mean other"):
        module.get_function("othr")
    with pytest.raises(LookupError, match="it has cast_f32_f16, cast_f32_f64, cast_f32_u8, other"):
        module.get_function("zzz")
