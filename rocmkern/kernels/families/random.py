"""random: uniform numbers, normal numbers and integers, from a key and a counter."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import Family, KernelSpec, result, scalar

FLOATS: Final = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_WORDS: Final = (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64)
_PLACE: Final = (scalar("numel"), scalar("key0"), scalar("key1"), scalar("first"))


def _floats(name: str, t: DType) -> KernelSpec:
    parameters = (*_PLACE, scalar("scale", dtypes.float64), scalar("offset", dtypes.float64), result("out", t, "numel"))
    return KernelSpec(f"random_{name}_{t.short}", "random", parameters, f"RANDOM_FLOATS({name}, {t.short})")


def _integers(t: DType) -> KernelSpec:
    parameters = (*_PLACE, scalar("low"), scalar("count"), result("out", t, "numel"))
    return KernelSpec(f"random_integers_{t.short}", "random", parameters, f"RANDOM_INTEGERS({t.short})")


FAMILY: Final = Family(
    "random",
    "uniform numbers, normal numbers and integers, from a key and a counter",
    (*(_floats(name, t) for name in ("uniform", "normal") for t in FLOATS), *map(_integers, _WORDS)),
)
