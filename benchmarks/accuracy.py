"""How far functions are from the exact value, in units in the last place of the dtype.

    python benchmarks/accuracy.py [--device cuda:0] [--dtype float32] [--stride N] [--seconds S] [--function NAME]

float32 and the short floats: every value, or every N-th pattern of bits, against the function in float64 on the same
device; of two numbers 2²⁶ random pairs, or every N-th of them. float64: random numbers of all magnitudes against the
host's long double, which has eleven bits more on x86-64, erf and gelu against mpmath; ten million, or as many as S
seconds a function allow.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import mpmath
import numpy as np

import rocmkern as rk
from rocmkern.cli.output import console, table
from rocmkern.dtypes import dtype as as_dtype

Array = np.ndarray[Any, Any]
CHUNK: Final = 1 << 24
PAIRS: Final = 1 << 26
BATCH: Final = 1 << 14
MOST: Final = 10**7

SLOPE: Final = np.longdouble("1.59576912160573071175978423973752747")  # 2 sqrt(2 / pi)


def by_mpmath(exact: Callable[[Any], Any]) -> Callable[[Array], Array]:
    """A function that NumPy has not."""

    def of(x: Array) -> Array:
        with mpmath.workprec(120):
            found = [exact(mpmath.mpf(value)) for value in x.astype(np.float64).tolist()]
            heads = [float(value) for value in found]
            rests = [float(value - head) for value, head in zip(found, heads, strict=True)]
        exactly: Array = np.array(heads, np.longdouble) + rests
        return exactly

    return of


def gelu_tanh(x: Array) -> Array:
    falling: Array = 1 + np.exp(-SLOPE * (x + np.longdouble("0.044715") * x**3))
    return x / falling


ONE: Final[dict[str, Callable[[Array], Array]]] = {
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x, "exp": np.exp,
    "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": by_mpmath(mpmath.erf), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": by_mpmath(lambda x: x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2), "gelu_tanh": gelu_tanh,
    "cube": lambda x: x * x * x,
}  # fmt: skip
TWO: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "logaddexp": np.logaddexp,
}  # fmt: skip


def function(name: str) -> Callable[..., rk.Tensor]:
    return (lambda x: rk.pow(x, 3)) if name == "cube" else getattr(rk, name)


def units_on_device(got: rk.Tensor, wanted: rk.Tensor) -> float:
    """The largest distance from numbers in float64, in units in the last place; infinite where one is NaN alone."""
    nearest = wanted.astype(got.dtype)
    size = rk.abs(nearest)
    above = rk.nextafter(size, rk.full((), float("inf"), dtype=got.dtype, device=got.device))
    unit = above.astype(rk.float64) - size.astype(rk.float64)
    apart = rk.abs(got.astype(rk.float64) - wanted) / unit
    ends = rk.isfinite(got) != rk.isfinite(nearest)
    same = (got == nearest) & ~rk.isfinite(got) | (rk.isnan(got) & rk.isnan(nearest))
    return float(rk.max(rk.where(same, 0.0, rk.where(ends, _units_at_the_end(got, nearest), apart))))


def _units_at_the_end(got: rk.Tensor, nearest: rk.Tensor) -> rk.Tensor:
    """One unit between the largest number and infinity, infinitely many to NaN."""
    largest = float(rk.finfo(got.dtype).max)
    ends = (rk.abs(got) >= largest) & (rk.abs(nearest) >= largest)
    return rk.where(ends, 1.0, float("inf")).astype(rk.float64)


def patterns(dtype: rk.DType, stride: int) -> Iterator[tuple[Array, ...]]:
    """Every stride-th pattern of bits, a chunk at a time."""
    bits = np.dtype(f"u{dtype.itemsize}")
    for first in range(0, 1 << dtype.bits, CHUNK * stride):
        chosen = np.arange(first, min(first + CHUNK * stride, 1 << dtype.bits), stride, dtype=np.uint64)
        yield (chosen.astype(bits).view(dtype.numpy),)


def random_pairs(name: str, dtype: rk.DType, stride: int) -> Iterator[tuple[Array, ...]]:
    """Pairs of random patterns of bits, a chunk at a time."""
    bits = np.dtype(f"u{dtype.itemsize}")
    for seed in range(0, PAIRS, CHUNK * stride):
        rng = np.random.default_rng(seed)
        count = min(CHUNK, PAIRS // stride)
        yield paired(name, rng.integers(0, 1 << dtype.bits, count, bits).view(dtype.numpy), rng)


def paired(name: str, x: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """First operands and second ones, such that powers are in range and logarithms of sums far from 0."""
    if name == "pow":
        with np.errstate(all="ignore"):
            size = np.abs(x.astype(np.float64))
            spread = rng.uniform(-1, 1, x.size) * np.log(float(rk.finfo(as_dtype(x.dtype)).max))
            return size.astype(x.dtype), (spread / np.log(size)).astype(x.dtype)
    if name == "logaddexp":
        return rng.uniform(1, 50, x.size).astype(x.dtype), rng.uniform(-50, 50, x.size).astype(x.dtype)
    return x, rng.permutation(x)


def against_float64(
    names: list[str], dtype: rk.DType, device: rk.Device, chunks: Iterator[tuple[Array, ...]]
) -> dict[str, tuple[float, int]]:
    worst, count = dict.fromkeys(names, 0.0), 0
    for chunk in chunks:
        count += chunk[0].size
        given = [rk.asarray(v, device=device) for v in chunk]
        wide = [v.astype(rk.float64) for v in given]
        for name in names:
            worst[name] = max(worst[name], units_on_device(function(name)(*given), function(name)(*wide)))
    return {name: (units, count) for name, units in worst.items()}


def samples(name: str, seed: int) -> tuple[Array, ...]:
    """Numbers around 1, of some hundreds, below 1 and of all magnitudes."""
    rng, part = np.random.default_rng(seed), BATCH // 4
    wide = np.ldexp(rng.uniform(-1, 1, part), rng.integers(-300, 300, part))
    x = np.concatenate([rng.standard_normal(part), rng.standard_normal(part) * 100, rng.uniform(-1, 1, part), wide])
    return paired(name, x, rng) if name in TWO else (x,)


def units_on_host(got: Array, wanted: Array) -> float:
    """The largest distance in units in the last place; infinite where one is NaN alone. The ends of the range are left
    to the shorter floats.
    """
    if (np.isnan(got) != np.isnan(wanted)).any():
        return float("inf")
    inside = np.isfinite(got) & (np.abs(got) >= np.finfo(float).tiny)
    return float((np.abs(wanted - got) / np.spacing(np.abs(got)))[inside].max(initial=0))


def against_long_double(names: list[str], device: rk.Device, seconds: float) -> dict[str, tuple[float, int]]:
    found = {}
    for name in names:
        worst, count, begun = 0.0, 0, time.monotonic()
        while count < MOST and time.monotonic() - begun < seconds:
            given = samples(name, count)
            got = function(name)(*(rk.asarray(g, device=device) for g in given)).numpy()
            with np.errstate(all="ignore"):
                wanted = (ONE | TWO)[name](*(g.astype(np.longdouble) for g in given))
                worst, count = max(worst, units_on_host(got, wanted)), count + BATCH
        found[name] = worst, count
    return found


def measured(names: list[str], dtype: rk.DType, device: rk.Device, stride: int, seconds: float) -> list[list[str]]:
    """A row of the table for each function."""
    if dtype is rk.float64:
        found = against_long_double(names, device, seconds)
    else:
        every = stride if dtype is rk.float32 else 1
        found = against_float64([n for n in names if n in ONE], dtype, device, patterns(dtype, every))
        for name in [n for n in names if n in TWO]:
            found |= against_float64([name], dtype, device, random_pairs(name, dtype, stride))
    return [[name, dtype.name, f"{units:.3f}", f"{count:,}"] for name, (units, count) in found.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None, help="cuda:0, hip:0 or emulator:TARGET")
    parser.add_argument("--dtype", action="append", choices=["float16", "bfloat16", "float32", "float64"])
    parser.add_argument("--stride", type=int, default=1, help="every so many-th float32, or pair")
    parser.add_argument("--seconds", type=float, default=10.0, help="for a function of float64")
    parser.add_argument("--function", action="append", choices=[*ONE, *TWO])
    options = parser.parse_args()
    device = rk.Device(options.device)
    names = options.function or [*ONE, *TWO]
    dtypes = map(as_dtype, options.dtype or ["float16", "bfloat16", "float32", "float64"])
    rows = [row for dtype in dtypes for row in measured(names, dtype, device, options.stride, options.seconds)]
    console().print(table(f"accuracy on {device.name}", ("function", "dtype", "ULP at most", "values"), rows))


if __name__ == "__main__":
    main()
