"""hip_fp8.h: every byte and floats of every kind, as ml_dtypes has them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import rocmkern as rk
from rocmkern.build import jit

FORMS = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3_fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2_fnuz": ml_dtypes.float8_e5m2fnuz,
}
SOURCE = """
#include <hip/hip_fp8.h>
#define FORM(name, KIND)                                                                                           \\
    extern "C" __global__ void read_##name(const __hip_fp8_##name *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; } \\
    extern "C" __global__ void write_##name(const float *x, unsigned char *kept, unsigned char *limited,            \\
                                            unsigned char *wide, int n) {                                           \\
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                                        \\
        if (i < n) {                                                                                                \\
            kept[i] = __hip_cvt_float_to_fp8(x[i], __HIP_NOSAT, KIND);                                              \\
            limited[i] = __hip_fp8_##name(x[i]).__x;                                                                \\
            wide[i] = __hip_fp8_##name(x[i] + 1e-12 * x[i]).__x;                                                    \\
        }                                                                                                           \\
    }
FORM(e4m3, __HIP_E4M3)
FORM(e5m2, __HIP_E5M2)
FORM(e4m3_fnuz, __HIP_E4M3_FNUZ)
FORM(e5m2_fnuz, __HIP_E5M2_FNUZ)
"""


@pytest.fixture(scope="module", params=["gfx942", "gfx1100"])
def module(request: pytest.FixtureRequest) -> rk.Module:
    return rk.Module.load_data(jit.compiled(SOURCE, request.param), rk.Device(f"emulator:{request.param}"))


def values(form: type) -> np.ndarray:
    """All numbers of the form, what lies half way between them and just beside that, and floats of any exponent."""
    exact = np.arange(256, dtype=np.uint8).view(form).astype(np.float32)
    finite = np.unique(exact[np.isfinite(exact)])
    middles = (finite[1:] + finite[:-1]) / 2
    beside = np.concatenate([np.nextafter(middles, np.float32(s)) for s in (-np.inf, np.inf)])
    drawn = np.random.default_rng(0).integers(0, 2**32, 4000, dtype=np.uint32).view(np.float32)
    extremes = np.array([np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, 0.0, -0.0], np.float32)
    return np.concatenate([exact, middles, beside, drawn, extremes])


@pytest.mark.parametrize("name", FORMS)
def test_bytes_are_numbers(module: rk.Module, name: str) -> None:
    """Each of the 256."""
    codes, out = np.arange(256, dtype=np.uint8), rk.zeros(256, device=module.device)
    module.get_function(f"read_{name}")(rk.asarray(codes, device=module.device), out, grid=1, block=256)
    assert np.array_equal(np.asarray(out), codes.view(FORMS[name]).astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("name", FORMS)
def test_floats_are_rounded_to_nearest(module: rk.Module, name: str) -> None:
    """Ties to even; beyond the largest number as the caller asks; a double as if it were rounded once."""
    x, form = values(FORMS[name]), FORMS[name]
    n, device = len(x), module.device
    kept, limited, wide = (rk.zeros(n, dtype=rk.uint8, device=device) for _ in range(3))
    kernel = module.get_function(f"write_{name}")
    kernel(rk.asarray(x, device=device), kept, limited, wide, n, grid=-(-n // 256), block=256)
    most = np.float32(ml_dtypes.finfo(form).max)
    with np.errstate(all="ignore"):
        expected = x.astype(form)
        clipped = np.where(np.isnan(x), x, np.clip(x, -most, most)).astype(form)

    def same(found: rk.Tensor, wanted: np.ndarray) -> bool:
        got = np.asarray(found).view(form).astype(np.float32)
        return np.array_equal(got, wanted.astype(np.float32), equal_nan=True)

    assert same(kept, expected)
    assert same(limited, clipped)
    some = np.isfinite(x) & (np.abs(x) > 1e-30)  # where a double tells that it is beside a float
    exact = np.arange(256, dtype=np.uint8).view(form).astype(np.float64)
    finite = np.unique(exact[np.isfinite(exact)])
    nearest = finite[np.searchsorted((finite[1:] + finite[:-1]) / 2, x[some].astype(np.float64) * (1 + 1e-12))]
    assert np.array_equal(np.asarray(wide).view(form).astype(np.float64)[some], nearest)
