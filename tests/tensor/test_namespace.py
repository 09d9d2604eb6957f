"""The namespace against the standard: names, signatures, dtype functions, inspection, and the rendered page."""

from __future__ import annotations

import inspect
from operator import attrgetter
from pathlib import Path
from typing import Any

import array_api_strict
import ml_dtypes
import numpy as np
import pytest

import rocmkern as rk
from rocmkern.dtypes import ALL, DType
from rocmkern.errors import DTypeError
from tests.scripts import script
from tests.tensor.arrays import FLOATS, INTEGERS

ROOT = Path(__file__).parents[2]


page, functions = script("render_array_api"), script("render_functions")

STANDARD = [n for names in page.standard_names().values() for n in names]
EXTENDED = [f"{e}.{n}" for e in functions.EXTENSIONS for n in page.extension_names(e) if hasattr(getattr(rk, e), n)]
FUNCTIONS = [n for n in STANDARD if inspect.isfunction(getattr(array_api_strict, n))]


def test_every_name_is_there() -> None:
    """No name of the standard is missing."""
    assert [n for n in STANDARD if not hasattr(rk, n)] == []
    assert [n for n in page.extension_names("fft") if not hasattr(rk.fft, n)] == []
    assert rk.__array_api_version__ == array_api_strict.__array_api_version__ == "2025.12"


@pytest.mark.parametrize("name", [*FUNCTIONS, *EXTENDED])
def test_signatures_are_the_standards(name: str) -> None:
    """Same parameters: those by place in the same order and kind, those by keyword under their names, which may be
    given by place too, as NumPy has them; what is ours beyond them has a default.
    """
    ours = inspect.signature(attrgetter(name)(rk)).parameters
    theirs = inspect.signature(inspect.unwrap(attrgetter(name)(array_api_strict))).parameters
    by_place = [b for b, wanted in theirs.items() if wanted.kind != inspect.Parameter.KEYWORD_ONLY]
    for a, b in zip(ours, by_place, strict=False):
        positional = ours[a].kind == theirs[b].kind == inspect.Parameter.POSITIONAL_ONLY
        assert a == b or positional, f"{name}: {a} instead of {b}"
        assert ours[a].kind == theirs[b].kind, f"{name}: {a} is {ours[a].kind}"
        assert ours[a].default is not inspect.Parameter.empty or theirs[b].default is inspect.Parameter.empty
    assert len(ours) >= len(by_place)
    for b in [b for b in theirs if b not in by_place]:
        assert ours[b].kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD), b
        assert ours[b].default is not inspect.Parameter.empty or theirs[b].default is inspect.Parameter.empty
    for extra in list(ours.values())[len(by_place) :]:
        assert extra.name in theirs or extra.default is not inspect.Parameter.empty


def test_every_function_is_documented() -> None:
    """One sentence in the present tense ends with a full stop."""
    for name in (*rk.__all__, *EXTENDED):
        thing = attrgetter(name)(rk)
        if inspect.isfunction(thing) and thing.__module__.startswith("rocmkern.ops"):
            assert thing.__doc__ and "." in thing.__doc__, name


def test_the_rendered_pages_are_current() -> None:
    """docs/array_api.md and docs/functions.md are what the scripts render, and every function has its entry."""
    assert (ROOT / "docs" / "array_api.md").read_text() == page.render()
    rendered = functions.render()
    assert (ROOT / "docs" / "functions.md").read_text() == rendered
    ours = [n for n in rk.__all__ if rk._HOME[n].startswith("rocmkern.ops.") and n != "__array_namespace_info__"]
    assert [n for n in ours if f"\n### {n}\n" not in rendered and callable(getattr(rk, n))] == []


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.short)
def test_finfo(dtype: DType) -> None:
    """The limits that ml_dtypes states, as Python floats."""
    ours, theirs = rk.finfo(dtype), ml_dtypes.finfo(dtype.numpy)
    assert (ours.bits, ours.dtype) == (dtype.bits, dtype)
    for field in ("eps", "max", "min", "smallest_normal"):
        assert getattr(ours, field) == float(getattr(theirs, field)) and type(getattr(ours, field)) is float
    assert rk.finfo(rk.zeros((1,), dtype=dtype)) == ours


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.short)
def test_iinfo(dtype: DType) -> None:
    """NumPy's limits."""
    info = np.iinfo(dtype.numpy)
    assert (rk.iinfo(dtype).bits, rk.iinfo(dtype).min, rk.iinfo(dtype).max) == (info.bits, info.min, info.max)
    with pytest.raises(DTypeError, match="use iinfo"):
        rk.finfo(dtype)
    with pytest.raises(DTypeError, match="use finfo"):
        rk.iinfo(rk.float32)


def test_dtype_functions() -> None:
    """can_cast follows promotion; isdtype knows kinds, dtypes and tuples; result_type takes numbers too."""
    assert rk.can_cast(rk.int8, rk.int16) and not rk.can_cast(rk.int16, rk.int8)
    assert rk.can_cast(rk.zeros((1,), dtype=rk.uint8), rk.int16) and not rk.can_cast(rk.uint64, rk.int64)
    assert rk.isdtype(rk.int8, "integral") and rk.isdtype(rk.int8, ("bool", "signed integer"))
    assert rk.isdtype(rk.bfloat16, "real floating") and not rk.isdtype(rk.bool_, "numeric")
    assert rk.isdtype(rk.float32, rk.float32) and not rk.isdtype(rk.float32, "complex floating")
    with pytest.raises(ValueError, match="kind 'odd'"):
        rk.isdtype(rk.int8, "odd")
    with pytest.raises(TypeError):
        rk.isdtype(rk.int8, 3)
    assert rk.result_type(rk.zeros((1,), dtype=rk.int8), rk.uint8) is rk.int16
    assert rk.result_type(rk.float16, 1.5) is rk.float16 and rk.result_type(rk.int8, 1.5) is rk.float32
    with pytest.raises(ValueError, match="at least one"):
        rk.result_type(1, 2)


def test_inspection() -> None:
    """Capabilities, defaults, dtypes by kind, devices."""
    info: Any = rk.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert info.default_dtypes() == {
        "real floating": rk.float32, "complex floating": rk.complex64, "integral": rk.int64, "indexing": rk.int64,
    }  # fmt: skip
    assert set(info.dtypes()) == {d.name for d in ALL} - {"float16", "bfloat16", "float8_e4m3"}
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    assert info.default_device() == rk.zeros(()).device and isinstance(info.devices(), tuple)
    assert info.default_device() in info.devices()


def test_the_default_device_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is one that is opened by name only, too."""
    info: Any = rk.__array_namespace_info__()
    other = rk.Device("emulator:gfx950:checked")
    monkeypatch.setattr("rocmkern.ops.datatypes.devices", lambda: (other.info,))
    assert info.devices() == (other, rk.Device())
