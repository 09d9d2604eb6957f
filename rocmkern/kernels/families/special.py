"""special: functions in which NaN, infinities and signed zeros have cases of their own."""

from __future__ import annotations

from typing import Final

from rocmkern import dtypes
from rocmkern.dtypes import DType, part_of
from rocmkern.kernels.catalogue import FLOATS, INTEGERS, LAYOUT, Family, KernelSpec, Parameter, result, scalar, source

TRUTHS: Final = {"logical_and": 0b1000, "logical_or": 0b1110, "logical_xor": 0b0110}  # tables of logical_*


def _spec(name: str, t: DType, instance: str, *parameters: Parameter) -> KernelSpec:
    return KernelSpec(f"{name}_{t.short}", "special", (*LAYOUT, *parameters), instance)


def _of_two(t: DType) -> tuple[Parameter, ...]:
    return source("lhs", t, "numel"), source("rhs", t, "numel"), result("out", dtypes.uint8, "numel")


def _is_close(t: DType) -> KernelSpec:
    part = part_of(t) if t.is_complex else t
    limits = scalar("rtol", part), scalar("atol", part), scalar("equal_nan", dtypes.bool_)
    return _spec("isclose", t, f"IS_CLOSE({t.short}, {part.short})", *limits, *_of_two(t))


def _logical(t: DType) -> KernelSpec:
    masks = scalar("table", dtypes.uint32), scalar("mask", t), scalar("other_mask", t)
    return _spec("logical", t, f"LOGICAL({t.short})", *masks, *_of_two(t))


def _nan_to_num(t: DType) -> KernelSpec:
    numbers = (scalar(name, t) for name in ("nan", "above", "below"))
    return _spec(
        "nan_to_num", t, f"NAN_TO_NUM({t.short})", *numbers, source("inp", t, "numel"), result("out", t, "numel")
    )


FAMILY: Final = Family(
    "special",
    "functions in which NaN, infinities and signed zeros have cases of their own",
    (
        *map(_is_close, (*FLOATS, *dtypes.COMPLEX)),
        *(_logical(t) for t in INTEGERS if t.kind == "unsigned"),
        *map(_nan_to_num, FLOATS),
    ),
)
