"""Complex tensors as others: what moves or sums their elements needs no kernels of its own. All are views."""

from __future__ import annotations

from rocmkern.dtypes import DType, complex64, part_of, uint64
from rocmkern.layout import Layout
from rocmkern.tensor import Tensor


def parts(x: Tensor) -> Tensor:
    """The real and imaginary parts along a new last axis."""
    return _in_pairs(x, part_of(x.dtype))


def part(x: Tensor, which: int) -> Tensor:
    """The real parts (0) or the imaginary ones (1)."""
    layout = x.layout
    strides = tuple(2 * s for s in layout.strides)
    return Tensor(x.memory, part_of(x.dtype), Layout(layout.shape, strides, 2 * layout.offset + which), x.device)


def joined(pairs: Tensor, dtype: DType) -> Tensor:
    """What `parts` takes apart: the last axis of two adjacent parts becomes one number."""
    return _from_pairs(pairs, dtype)


def words(x: Tensor) -> Tensor:
    """The bits, for kernels that move elements: complex64 as uint64, complex128 as two of them along a new last axis;
    a tensor of another dtype as it is.
    """
    if not x.dtype.is_complex:
        return x
    return Tensor(x.memory, uint64, x.layout, x.device) if x.dtype is complex64 else _in_pairs(x, uint64)


def from_words(bits: Tensor, dtype: DType) -> Tensor:
    """What `words` takes apart."""
    if not dtype.is_complex:
        return bits
    return Tensor(bits.memory, dtype, bits.layout, bits.device) if dtype is complex64 else _from_pairs(bits, dtype)


def beside_words(x: Tensor, dtype: DType) -> Tensor:
    """A mask or indices for tensors of `dtype`, repeated for the words of each element."""
    if not dtype.is_complex or dtype is complex64:
        return x
    layout = x.layout.expand(x.ndim)
    return x.view(layout.broadcast_to((*x.shape, 2)))


def _in_pairs(x: Tensor, dtype: DType) -> Tensor:
    layout = x.layout
    strides = (*(2 * s for s in layout.strides), 1)
    return Tensor(x.memory, dtype, Layout((*layout.shape, 2), strides, 2 * layout.offset), x.device)


def _from_pairs(pairs: Tensor, dtype: DType) -> Tensor:
    layout = pairs.layout
    strides = tuple(s // 2 for s in layout.strides[:-1])
    return Tensor(pairs.memory, dtype, Layout(layout.shape[:-1], strides, layout.offset // 2), pairs.device)
