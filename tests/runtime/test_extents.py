"""Which memory a launch takes: as large as the kernel is told, and with strides only where it is told of them."""

from __future__ import annotations

import gc
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.errors import ArgumentError, ArgumentLayoutError, ClosedError
from rocmkern.kernels import families
from rocmkern.kernels.catalogue import FAMILY_NAMES, KernelSpec
from rocmkern.runtime import Function

DEVICE = rk.Device("emulator:gfx942")
COPY = (
    'extern "C" __global__ void cp(const float *x, float *out, int n) { if (threadIdx.x < n) out[threadIdx.x] = *x; }'
)
COUNTED = [
    spec for name in FAMILY_NAMES for spec in families.family(name).kernels if any(p.counts for p in spec.parameters)
]
_ONE_OF_EACH = list(
    {(spec.family, spec.symbol.partition("_")[0], spec.parameters[0]): spec for spec in COUNTED}.values()
)


def tensor(count: int) -> rk.Tensor:
    return rk.arange(count, dtype=rk.float32, device=DEVICE)


def affine(*args: Any) -> None:
    rk.get_kernel("affine", "affine_f32", DEVICE)(*args, 2.0, 1.0, grid=1, block=64)


def sizes_of(spec: KernelSpec, numbers: st.DataObject) -> dict[str, int]:
    """A number for each scalar that counts elements."""
    names = sorted({name for p in spec.parameters for name in p.counts})
    return {name: numbers.draw(st.integers(2, 5), name) for name in names}


@given(st.sampled_from(_ONE_OF_EACH), st.data())
def test_memory_is_as_large_as_the_counts_of_the_catalogue(spec: KernelSpec, numbers: st.DataObject) -> None:
    """Memory of exactly so many elements is taken; of one byte less it is refused, for each parameter that counts."""
    function = rk.get_kernel(spec.family, spec.symbol, DEVICE)
    sizes = sizes_of(spec, numbers)
    exact = {
        p.name: math.prod(sizes[name] for name in p.counts) * p.dtype.itemsize for p in spec.parameters if p.is_pointer
    }
    ones = {p.name: sizes.get(p.name, 1) for p in spec.parameters if not p.is_pointer}

    def pack(held: dict[str, int]) -> bytes:
        memory = {name: DEVICE.alloc(nbytes) for name, nbytes in held.items()}
        if "info" in memory and any(p.name == "info" and p.nullable for p in spec.parameters):
            return function.pack(**ones, **memory | {"info": None})
        return function.pack(**ones, **memory)

    pack(exact)
    follows = not {"info", "src_stride"}.isdisjoint(p.name for p in spec.parameters if not p.nullable)
    for p in spec.parameters:
        if p.counts and not (follows and p.role == "in"):
            with pytest.raises(ArgumentLayoutError, match=rf"\({p.name}\) has {exact[p.name] - 1} bytes"):
                pack(exact | {p.name: exact[p.name] - 1})


def test_errors_say_what_came_and_what_to_do() -> None:
    """Both are a TypeError and a ValueError."""
    x, out = tensor(16), tensor(8)
    with pytest.raises(
        ArgumentLayoutError,
        match=r"launch affine_f32: argument 3 \(inp\) has shape \(8,\) and strides \(2,\), of which the kernel is told "
        r"nothing; pass rocmkern.contiguous\(\) of it, or its .data",
    ):
        affine(8, 0, None, x[::2], out)
    with pytest.raises(
        ArgumentLayoutError,
        match=r"launch affine_f32: argument 4 \(out\) has 32 bytes, the kernel is told of 36; pass larger memory",
    ):
        affine(9, 0, None, x, out)
    assert issubclass(ArgumentLayoutError, ArgumentError) and issubclass(ArgumentLayoutError, ValueError)


def test_strides_that_the_kernel_is_told_are_taken() -> None:
    """`info` tells those of what an elementwise kernel reads; its output stays without."""
    x, out = tensor(16), tensor(8)
    info = rk.asarray(np.array([8, 2], np.uint64), device=DEVICE)
    affine(8, 1, info, x[::2], out)
    assert out.tolist() == [2.0 * i + 1 for i in range(0, 16, 2)]
    with pytest.raises(ArgumentLayoutError, match=r"\(out\) has shape \(8,\) and strides \(2,\)"):
        affine(8, 1, info, out, x[::2])
    with pytest.raises(ArgumentLayoutError, match=r"\(out\) has 32 bytes, the kernel is told of 36"):
        affine(9, 1, info, x[::2], out)


def test_what_is_read_again_and_again_may_be_small() -> None:
    """With strides of zero one element is enough for any count."""
    out = tensor(8)
    affine(8, 1, rk.asarray(np.array([8, 0], np.uint64), device=DEVICE), tensor(2)[1:], out)
    assert out.tolist() == [3.0] * 8


def test_writing_with_strides() -> None:
    """Kernels that fill strided memory take it so."""
    x = tensor(6)
    info = rk.asarray(np.array([3, 2], np.uint64), device=DEVICE)
    fill = rk.get_kernel("fill", "const_set_f32", DEVICE)
    fill(3, 1, info, 7.0, x[::2], grid=1, block=64)
    assert x.tolist() == [7, 1, 7, 3, 7, 5]
    with pytest.raises(ArgumentLayoutError, match=r"\(out\) has shape \(3,\) and strides \(2,\)"):
        fill(3, 0, None, 7.0, x[::2], grid=1, block=64)


def test_writing_backwards_from_a_place_in_memory() -> None:
    """A view that begins at the last element, with a negative stride: the memory before it counts, not that behind."""
    memory = DEVICE.alloc(16)
    memory.fill(0)
    info = DEVICE.alloc(16)
    info.copy_from_host(np.array([4, -1], np.int64))
    fill = rk.get_kernel("fill", "const_set_f32", DEVICE)
    fill(4, 1, info, np.float32(3), memory.at(12), grid=1, block=64)
    assert memory.copy_to_host().view(np.float32).tolist() == [3.0] * 4
    with pytest.raises(ArgumentLayoutError, match="16 bytes, the kernel is told of 20; pass larger memory"):
        fill(5, 1, info, np.float32(3), memory.at(12), grid=1, block=64)


def test_what_was_taken_once_is_looked_at_again() -> None:
    """A tensor of the same kind with a larger count, another kind, and memory that is freed since are errors."""
    x, out = tensor(8), tensor(8)
    affine(8, 0, None, x, out)
    affine(8, 0, None, x, out)
    with pytest.raises(ArgumentLayoutError, match="the kernel is told of 36"):
        affine(9, 0, None, x, out)
    with pytest.raises(ArgumentLayoutError, match=r"strides \(-1,\)"):
        affine(8, 0, None, x[::-1], out)
    x.memory.close()
    with pytest.raises(ClosedError, match="freed"):
        affine(8, 0, None, x, out)
    affine(8, 0, None, out, out)


def test_data_passes_a_tensor_as_it_lies() -> None:
    """`x.data` points to the first element: no strides, no dtype; the memory behind it must still be enough."""
    x, out = tensor(16), tensor(8)
    affine(8, 0, None, x[8:][::2].data, out)
    assert out.tolist() == [2.0 * i + 1 for i in range(8, 16)]
    assert x[8:].data.nbytes == 32
    with pytest.raises(ArgumentLayoutError, match=r"\(inp\) has 32 bytes, the kernel is told of 36"):
        affine(9, 0, None, x[8:].data, tensor(9))
    assert x[::-1].data.address == x[15:].address


def test_data_of_another_librarys_memory_knows_its_device() -> None:
    """A capsule's memory has no device; the place in it has the tensor's."""
    shared = rk.from_dlpack(tensor(8))
    affine(8, 0, None, shared.data, out := tensor(8))
    assert out.tolist() == [2.0 * i + 1 for i in range(8)]
    gc.collect()


@pytest.fixture(scope="module")
def cp() -> Function:
    return rk.compile(COPY, device=DEVICE).get_function("cp")


def test_compiled_kernels_take_what_their_pointers_say(cp: Function) -> None:
    """Strides, which nothing tells them, and another dtype than `float *` are refused; `.data` passes either."""
    x, out = tensor(16), tensor(8)
    for wrong, words in (
        (x[::2], r"strides \(2,\)"),
        (x.astype(rk.int64), "points to int64, float32 was wanted; cast"),
    ):
        with pytest.raises(ArgumentError, match=words):
            cp(wrong, out, 8, grid=1, block=64)
        cp(wrong.data, out, 8, grid=1, block=64)
        assert out.tolist() == [0.0] * 8
