"""One row per ggml block format: how many values a block holds, in which bytes, and what its kernels are called."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from attrs import frozen

from rocmkern.locks import lazy

Field = tuple[str, str, int]  # name, NumPy type, how many


@frozen(eq=False, slots=False)
class BlockFormat:
    """A block of `values` values. Kernel names spell it `symbol` (`q4_K`), users `name` (`q4_k`)."""

    symbol: str
    values: int
    fields: tuple[Field, ...]
    has_matmul: bool = True
    can_quantize: bool = False

    @lazy
    def name(self) -> str:
        return self.symbol.lower()

    @lazy
    def struct(self) -> str:
        """The C++ struct; ggml's type has the same name."""
        return self.symbol.upper()

    @lazy
    def layout(self) -> np.dtype[Any]:
        """The block as a NumPy structure without padding."""
        return np.dtype([(name, kind, (count,)) if count > 1 else (name, kind) for name, kind, count in self.fields])

    @lazy
    def nbytes(self) -> int:
        return self.layout.itemsize

    @property
    def bits_per_value(self) -> float:
        return self.nbytes * 8 / self.values


_D: Final[Field] = ("d", "<f2", 1)
_M: Final[Field] = ("m", "<f2", 1)
_DMIN: Final[Field] = ("dmin", "<f2", 1)


def _qs(count: int) -> Field:
    return ("qs", "u1", count)


# d: scale; m, dmin: minimum; qs: low bits of the quants; qh, hmask: high bits; scales: those of sub-blocks.
FORMATS: Final[tuple[BlockFormat, ...]] = (
    BlockFormat("q4_0", 32, (_D, _qs(16)), can_quantize=True),
    BlockFormat("q4_1", 32, (_D, _M, _qs(16)), can_quantize=True),
    BlockFormat("q5_0", 32, (_D, ("qh", "<u4", 1), _qs(16)), can_quantize=True),
    BlockFormat("q5_1", 32, (_D, _M, ("qh", "<u4", 1), _qs(16)), can_quantize=True),
    BlockFormat("q8_0", 32, (_D, ("qs", "i1", 32)), can_quantize=True),
    BlockFormat("q2_K", 256, (("scales", "u1", 16), _qs(64), _D, _DMIN)),
    BlockFormat("q3_K", 256, (("hmask", "u1", 32), _qs(64), ("scales", "u1", 12), _D)),
    BlockFormat("q4_K", 256, (_D, _DMIN, ("scales", "u1", 12), _qs(128)), can_quantize=True),
    BlockFormat("q5_K", 256, (_D, _DMIN, ("scales", "u1", 12), ("qh", "u1", 32), _qs(128)), can_quantize=True),
    BlockFormat("q6_K", 256, (("ql", "u1", 128), ("qh", "u1", 64), ("scales", "i1", 16), _D), can_quantize=True),
    BlockFormat("q8_K", 256, (("d", "<f4", 1), ("qs", "i1", 256), ("bsums", "<i2", 16)), has_matmul=False),
    BlockFormat("iq4_nl", 32, (_D, _qs(16))),
    BlockFormat("iq4_xs", 256, (_D, ("scales_h", "<u2", 1), ("scales_l", "u1", 4), _qs(128))),
    BlockFormat("mxfp4", 32, (("e", "u1", 1), _qs(16))),
)
BY_NAME: Final[dict[str, BlockFormat]] = {f.name: f for f in FORMATS}

# What activations are quantized to: `d` scales `qs`, `s` is the sum of the values before.
Q8_1: Final = BlockFormat("q8_1", 32, (_D, ("s", "<f2", 1), ("qs", "i1", 32)), has_matmul=False)
