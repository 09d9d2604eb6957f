"""Both tiers leave the same bytes in device memory, for kernels of every family as the library launches them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import rocmkern as rk
from rocmkern.emulator.launch import Dims
from rocmkern.emulator.machine import Entry, Machine

TARGETS = ("gfx942", "gfx1100")
SAMPLE = 1  # operations of a family and target in each run; the slow test takes them all
FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
Array = NDArray[Any]
Operation = Callable[[rk.Device, np.random.Generator], object]
_launch = Machine.launch


def launch_in_both(machine: Machine, entry: Entry, grid: Dims, block: Dims, shared_bytes: int, kernarg: bytes) -> None:
    """Launch in tier 0, put memory back, compile what ran, launch that: memory must come out the same."""
    arena, program = machine.arena, entry.module.program
    program.compiles = False  # by itself, and what earlier processes compiled
    start, size = arena.base, arena.end - arena.base
    before = bytes(arena.view(start, size))
    program.withdraw()
    _launch(machine, entry, grid, block, shared_bytes, kernarg)
    cold = bytes(arena.view(start, size))
    arena.view(start, size)[:] = before
    program.compile(entry.kernel)
    _launch(machine, entry, grid, block, shared_bytes, kernarg)
    hot = bytes(arena.view(start, size))
    program.withdraw()
    if cold != hot:
        (places,) = np.nonzero(np.frombuffer(cold, np.uint8) != np.frombuffer(hot, np.uint8))
        where = arena.describe(start + int(places[0]))
        pytest.fail(f"{entry.kernel.name} of {machine.target}: {len(places)} bytes differ, the first one: {where}")


@pytest.fixture
def both_tiers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """While it is in use every launch is made in both tiers; the names of the kernels."""
    seen = list[str]()

    def launch(machine: Machine, entry: Entry, *how: Any) -> None:
        seen.append(entry.kernel.name)
        launch_in_both(machine, entry, *how)

    monkeypatch.setattr(Machine, "launch", launch)
    yield seen


def numbers(rng: np.random.Generator, dtype: Any, *shape: int) -> Array:
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def on(device: rk.Device, rng: np.random.Generator, dtype: Any, *shape: int) -> rk.Tensor:
    return rk.asarray(numbers(rng, dtype, *shape), device=device)


def of_one(
    operation: Callable[..., object], dtype: Any, *shape: int, more: tuple[Any, ...] = (), **options: Any
) -> Operation:
    return lambda device, rng: operation(on(device, rng, dtype, *shape), *more, **options)


def of_two(operation: Callable[..., object], dtype: Any, one: tuple[int, ...], two: tuple[int, ...]) -> Operation:
    return lambda device, rng: operation(on(device, rng, dtype, *one), on(device, rng, dtype, *two))


def indexed(operation: Callable[..., object], dtype: Any, **options: Any) -> Operation:
    def run(device: rk.Device, rng: np.random.Generator) -> object:
        indices = rk.asarray(rng.permutation(40)[None].repeat(30, 0), device=device)
        values = () if operation is rk.take_along_axis else (on(device, rng, dtype, 30, 40),)
        return operation(on(device, rng, dtype, 30, 40), indices, *values, axis=1, **options)

    return run


def quantized(format: str, product: bool) -> Operation:
    def run(device: rk.Device, rng: np.random.Generator) -> object:
        weight = rk.quantize(on(device, rng, np.float32, 24, 512), format)
        return weight.matmul(on(device, rng, np.float32, 5, 512)) if product else weight.dequantize()

    return run


ROWS = (7, 1100)
FAMILIES: dict[str, list[Operation]] = {
    "unary": [of_one(f, t, 3000) for f in (rk.exp, rk.erf, rk.tanh, rk.sin, rk.gelu, rk.log) for t in FLOATS],
    "binary": [of_two(f, t, (40, 50), (50,)) for f in (rk.add, rk.divide, rk.pow, rk.atan2) for t in FLOATS],
    "cast": [
        of_one(rk.astype, t, 999, more=(d,)) for t in (*FLOATS, np.int64) for d in (rk.float32, rk.float16, rk.int8)
    ],
    "reduce": [
        *(of_one(f, t, *ROWS, axis=-1) for f in (rk.sum, rk.max, rk.argmin, rk.softmax, rk.mean) for t in FLOATS),
        *(of_one(f, t, *ROWS) for f in (rk.rms_norm, rk.layer_norm) for t in FLOATS),
        *(of_one(rk.sum, t, 70, 90, axis=0) for t in FLOATS),
    ],
    "scan": [of_one(rk.cumulative_sum, t, *ROWS, axis=1) for t in (*FLOATS, np.int32)],
    "sort": [
        *(of_one(f, t, 5, 700, axis=1) for f in (rk.sort, rk.argsort) for t in (*FLOATS, np.uint8, np.int64)),
        *(of_one(rk.top_k, t, 5, 700, more=(9,)) for t in (np.float32, np.int32)),
    ],
    "conv": [
        *(of_two(partial(rk.conv2d, padding=1), t, (2, 5, 17, 19), (7, 5, 3, 3)) for t in FLOATS),
        *(of_two(rk.conv1d, t, (2, 6, 90), (4, 6, 5)) for t in FLOATS),
        *(of_two(rk.conv_transpose2d, t, (1, 5, 9, 8), (5, 4, 3, 3)) for t in (np.float16, np.float32)),
        *(of_one(f, t, 2, 3, 16, 18, more=(2,)) for f in (rk.max_pool2d, rk.avg_pool2d) for t in FLOATS),
        *(of_one(rk.interpolate, t, 2, 3, 8, 9, more=((13, 11),)) for t in (np.float16, np.float32)),
    ],
    "matmul": [
        *(of_two(rk.matmul, t, (70, 65), (65, 130)) for t in FLOATS),
        *(of_two(rk.matmul, t, (3, 33, 20), (3, 20, 34)) for t in FLOATS),
    ],
    "indexing": [indexed(f, t) for f in (rk.take_along_axis, rk.scatter, rk.scatter_add) for t in (*FLOATS, np.uint8)],
    "quantized": [quantized(f, p) for f in ("q4_0", "q5_1", "q8_0", "q4_K", "q6_K") for p in (False, True)],
}


def compare(target: str, family: str, operations: list[int], both_tiers: list[str]) -> None:
    device = rk.Device(f"emulator:{target}")
    for number in operations:
        FAMILIES[family][number](device, np.random.default_rng(number))
    assert both_tiers


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("target", TARGETS)
def test_tiers_agree_on_a_sample(target: str, family: str, both_tiers: list[str]) -> None:
    """A few operations of the family, each launch in both tiers."""
    every = range(len(FAMILIES[family]))
    compare(target, family, random.Random(target + family).sample(every, SAMPLE), both_tiers)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("target", TARGETS)
def test_tiers_agree_on_every_operation(target: str, family: str, both_tiers: list[str]) -> None:
    """The same for all of them."""
    compare(target, family, list(range(len(FAMILIES[family]))), both_tiers)
