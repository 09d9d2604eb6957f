"""The targets agree bit for bit where docs/semantics.md leaves no rounding open, from the files that ship."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import rocmkern as rk
from rocmkern.kernels import families
from rocmkern.runtime import Function

Array = NDArray[Any]

REFERENCE = "gfx942"
OTHERS = ("gfx90a", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201")
FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 1e-7, 6.1e-5, 65504.0, 65520.0, 3.4e38, -(2.0**31), 2e63)


def floats(dtype: Any, *shape: int) -> Array:
    """Of every magnitude, with zeros, subnormals, infinities and NaN among them."""
    rng = np.random.default_rng(sum(shape))
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-8, 8, shape)
    with np.errstate(over="ignore"):
        return np.where(rng.random(shape) < 0.3, rng.choice(np.array(SPECIAL), shape), values).astype(dtype)


def whole(dtype: Any, *shape: int) -> Array:
    """Small whole numbers, whose sums and products are exact in any order."""
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(dtype)


def integers(dtype: Any, *shape: int) -> Array:
    info, rng = np.iinfo(dtype), np.random.default_rng(sum(shape))
    values = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.2, rng.choice(np.array([0, 1, info.min, info.max], dtype), shape), values)


class Case:
    """A function of arrays put on a device, and of whatever else."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        self.function, self.arguments, self.options = function, arguments, options

    def run(self, device: rk.Device) -> tuple[Array, ...]:
        arguments = (rk.asarray(a, device=device) if isinstance(a, np.ndarray) else a for a in self.arguments)
        found = self.function(*arguments, **self.options)
        return tuple(t.numpy() for t in (found if isinstance(found, tuple) else (found,)))

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        kinds = (f"{a.dtype}{list(a.shape)}" if isinstance(a, np.ndarray) else repr(a) for a in self.arguments)
        return f"{name}({', '.join(kinds)}, {self.options})"


def affine(x: rk.Tensor) -> rk.Tensor:
    return x * 3 + 1


def filled(x: rk.Tensor) -> rk.Tensor:
    return rk.full_like(x, 0.1)


def blocks(x: rk.Tensor, format: str) -> rk.Tensor:
    return rk.quantize(x, format).dequantize()


def block_product(x: rk.Tensor, weight: rk.Tensor, format: str) -> rk.Tensor:
    return rk.quantize(weight, format).matmul(x)


def drawn(x: rk.Tensor) -> rk.Tensor:
    return rk.random.default_rng(9, device=x.device).random(x.shape, x.dtype)


def exact_square(n: int) -> Array:
    """A matrix whose Cholesky factor has whole numbers, and powers of two on its diagonal."""
    lower = np.tril(whole(np.float64, n, n), -1) + np.diag(np.resize([1.0, 2, 4], n))
    return lower @ lower.T


INDICES = np.random.default_rng(0).permutation(400)[None].repeat(30, 0)
WHOLE = whole(np.float32, 30, 400)
CASES = (
    *(Case(f, floats(t, 40, 50), floats(t, 50)) for f in (rk.add, rk.multiply, rk.divide) for t in FLOATS[::2]),
    *(Case(f, floats(np.float64, 999), floats(np.float64, 1)) for f in (rk.divide, rk.maximum, rk.less)),
    *(Case(f, integers(np.int64, 99), integers(np.int64, 9, 1)) for f in (rk.multiply, rk.floor_divide)),
    *(Case(f, floats(t, 3000)) for f in (rk.sqrt, rk.reciprocal, rk.round) for t in (np.float32, np.float64)),
    *(Case(f, integers(np.int16, 999)) for f in (rk.abs, rk.square)),
    *(Case(rk.astype, floats(t, 2000), to) for t in FLOATS[2:] for to in (rk.int32, rk.float16, rk.float8_e4m3)),
    *(Case(rk.astype, integers(np.int64, 2000), to) for to in (rk.bfloat16, rk.float32, rk.int16)),
    Case(rk.where, floats(np.float16, 999), floats(np.float32, 999), floats(np.float32, 1)),
    *(Case(f, floats(np.float32, 5, 700), axis=1) for f in (rk.sort, rk.argsort, rk.max, rk.argmin)),
    *(Case(f, integers(np.int32, 7, 1100), axis=1) for f in (rk.sum, rk.cumulative_sum)),
    Case(rk.sum, whole(np.float16, 70, 90), axis=0),
    Case(rk.top_k, floats(np.float32, 5, 700), 9),
    Case(rk.take_along_axis, floats(np.float16, 30, 400), INDICES, axis=1),
    Case(rk.nonzero, integers(np.int8, 90, 200) > 100),
    *(Case(f, WHOLE, INDICES, WHOLE + 1, axis=1) for f in (rk.scatter, rk.scatter_add)),
    *(Case(rk.matmul, whole(t, 70, 65), whole(t, 65, 130)) for t in (*FLOATS, np.int8)),
    Case(rk.conv2d, whole(np.float32, 2, 5, 17, 19), whole(np.float32, 7, 5, 3, 3), padding=1),
    Case(rk.max_pool2d, floats(np.float32, 2, 3, 16, 18), 2),
    *(Case(blocks, whole(np.float32, 3, 512), f) for f in ("q4_0", "q8_0", "q4_k", "q6_k")),
    Case(block_product, whole(np.float32, 5, 256), whole(np.float32, 24, 256), "q8_0"),
    Case(affine, whole(np.float32, 300)),
    Case(filled, floats(np.float64, 300)),
    Case(rk.permute_dims, floats(np.float16, 33, 65), (1, 0)),
    Case(rk.multiply, whole(np.complex64, 99), whole(np.complex64, 99)),
    Case(rk.clip, floats(np.float32, 700), -1.0, 1.0),
    *(Case(f, floats(np.float16, 12, 15)) for f in (rk.tril, rk.nonzero)),
    *(Case(rk.fft.fft, whole(np.complex64, rows, 4)) for rows in (40, 400)),
    Case(rk.linalg.cross, whole(np.complex128, 30, 3), whole(np.complex128, 3)),
    Case(rk.linalg.cholesky, exact_square(40)),
    Case(drawn, np.empty((70, 70), np.float16)),
    Case(rk.linalg.eigvalsh, np.diag(whole(np.float32, 30))),
    Case(rk.linalg.solve, exact_square(5), whole(np.float64, 5, 3)),
    Case(rk.pad, floats(np.float16, 12, 15), 4, mode="reflect"),
    Case(rk.interp, floats(np.float32, 700), np.arange(9, dtype=np.float32), whole(np.float32, 9)),
    *(Case(f, floats(np.float64, 12, 15), axis=1) for f in (rk.gradient, rk.nanmax)),
    Case(rk.nansum, whole(np.float16, 70, 90), axis=0),
    Case(rk.isclose, floats(np.float32, 700), floats(np.float32, 700)),
)  # fmt: skip


@cache
def results(target: str) -> tuple[tuple[Array, ...], ...]:
    device = rk.Device(f"emulator:{target}")
    return tuple(case.run(device) for case in CASES)


def bits(x: Array) -> bytes:
    """A NaN is a NaN: its sign and payload are nobody's promise."""
    is_real_float = x.dtype.kind not in "biuc"
    return np.where(np.isnan(x), x.dtype.type(np.nan), x).tobytes() if is_real_float else x.tobytes()


def test_every_family_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of each family run among the cases."""
    launched, submit = set[str](), Function.submit

    def recorded(self: Function, *args: Any) -> None:
        launched.add(self.name)
        submit(self, *args)

    monkeypatch.setattr(Function, "submit", recorded)
    results.cache_clear()
    results(REFERENCE)
    assert [f.name for f in families.families() if not launched & set(f.by_symbol)] == []


@pytest.mark.parametrize("target", OTHERS)
def test_results_have_the_same_bits(target: str) -> None:
    """As those of gfx942, for rounding that IEEE fixes, integers, casts, moves, orders and exact sums."""
    for case, wanted, found in zip(CASES, results(REFERENCE), results(target), strict=True):
        assert [bits(x) for x in found] == [bits(x) for x in wanted], case


def test_strix_halo_runs_the_files_of_its_generation() -> None:
    """gfx1151 has its own limits and the kernels of gfx11-generic."""
    device = rk.Device("emulator:gfx1151")
    info = device.info
    assert (info.arch, info.wave_size, info.compute_units, info.lds_bytes) == ("gfx1151", 32, 40, 65536)
    assert rk.get_kernel("affine", "affine_f32", device).module.code_object.target == "gfx11-generic"
