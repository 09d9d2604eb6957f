"""`set_default_dtype`: the dtype of Python's floats, and of integers where floats are wanted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.dtypes import DType
from rocmkern.errors import DTypeError

CREATED: Final[dict[str, Callable[[], Any]]] = {
    "empty": lambda: rk.empty((2,)),
    "zeros": lambda: rk.zeros((2,)),
    "ones": lambda: rk.ones((2,)),
    "full": lambda: rk.full((2,), 2.5),
    "eye": lambda: rk.eye(2),
    "identity": lambda: rk.identity(2),
    "arange": lambda: rk.arange(0.0, 2.0),
    "linspace": lambda: rk.linspace(0, 1, 3),
    "logspace": lambda: rk.logspace(0, 1, 3),
    "geomspace": lambda: rk.geomspace(1, 2, 3),
    "asarray of a float": lambda: rk.asarray(2.5),
    "asarray of a list": lambda: rk.asarray([1, 2.5]),
    "array": lambda: rk.array([[0.1], [0.2]]),
    "mgrid": lambda: rk.mgrid[0:1:3j],
    "hanning": lambda: rk.hanning(5),
    "kaiser": lambda: rk.kaiser(5, 2.0),
    "bartlett of one point": lambda: rk.bartlett(1),
    "one_hot": lambda: rk.one_hot(rk.asarray([0, 1]), 3),
    "fftfreq": lambda: rk.fft.fftfreq(4),
    "rfftfreq": lambda: rk.fft.rfftfreq(4),
    "where": lambda: rk.where(rk.asarray([True]), 1.5, 2.5),
}  # fmt: skip
DRAWN: Final[dict[str, tuple[Any, ...]]] = {
    "random": (), "uniform": (), "standard_normal": (), "normal": (), "exponential": (), "standard_exponential": (),
    "lognormal": (), "standard_gamma": (2.0,), "gamma": (2.0,), "chisquare": (3.0,), "beta": (1.0, 2.0),
    "standard_cauchy": (), "standard_t": (3.0,),
}  # fmt: skip
OF_INTEGERS: Final[dict[str, Callable[[Any], Any]]] = {
    "x * 2.5": lambda x: x * 2.5,
    "2.5 - x": lambda x: 2.5 - x,
    "x / 2": lambda x: x / 2,
    "x / x": lambda x: x / x,
    "x ** 0.5": lambda x: x**0.5,
    "sqrt": rk.sqrt,
    "exp": lambda x: rk.exp(x),
    "atan2": lambda x: rk.atan2(x, x),
    "mean": rk.mean,
    "mean of an axis": lambda x: rk.mean(x, axis=0),
    "std": rk.std,
    "var": lambda x: x.var(),
    "median": lambda x: rk.median(x),
    "quantile": lambda x: rk.quantile(x, 0.25),
    "average": lambda x: rk.average(x),
    "nanmean": lambda x: rk.nanmean(x),
    "softmax": lambda x: rk.softmax(x),
    "logsumexp": lambda x: rk.logsumexp(x),
    "cbrt": lambda x: rk.cbrt(x),
    "sinc": lambda x: rk.sinc(x),
    "gradient": lambda x: rk.gradient(x),
    "trapezoid": lambda x: rk.trapezoid(x),
    "clip": lambda x: rk.clip(x, 0.5, 1.5),
    "maximum": lambda x: rk.maximum(x, 1.5),
    "vector_norm": lambda x: rk.linalg.vector_norm(x),
}  # fmt: skip
few: Final = settings(max_examples=25)
DEFAULTS: Final = st.sampled_from([rk.float16, rk.bfloat16, rk.float32, rk.float64])


@pytest.fixture(autouse=True)
def float32_again() -> Iterator[None]:
    """Each test ends as it began."""
    yield
    rk.set_default_dtype("float32")


@few
@given(st.sampled_from(sorted(CREATED)), st.lists(DEFAULTS, min_size=1, max_size=4))
def test_what_is_created(name: str, defaults: list[DType]) -> None:
    """All creation functions give the default dtype, whichever it was when they were called before."""
    for default in defaults:
        with rk.set_default_dtype(default):
            assert CREATED[name]().dtype is default
    assert CREATED[name]().dtype is rk.float32


@few
@given(st.sampled_from(sorted(DRAWN)), DEFAULTS)
def test_what_is_drawn(name: str, default: DType) -> None:
    """So do the distributions of floats; a dtype that is named counts, and integers stay what they are."""
    rng = rk.random.default_rng(1)
    with rk.set_default_dtype(default):
        assert getattr(rng, name)(*DRAWN[name], size=3).dtype is default
        assert getattr(rng, name)(*DRAWN[name], size=3, dtype=rk.float64).dtype is rk.float64
        assert rng.integers(0, 5, 3).dtype is rk.int64
        assert rk.arange(3).dtype is rk.asarray([1]).dtype is rk.int64


@few
@given(st.sampled_from(sorted(OF_INTEGERS)), st.lists(DEFAULTS, min_size=1, max_size=4), st.sampled_from([2, 4]))
def test_integers_where_floats_are_wanted(name: str, defaults: list[DType], count: int) -> None:
    """Integers become the default dtype in functions of floats and beside Python's, planned before or not."""
    x = rk.arange(1, count + 1)
    for default in defaults:
        with rk.set_default_dtype(default):
            assert OF_INTEGERS[name](x).dtype is default


@few
@given(st.sampled_from([rk.float16, rk.float32, rk.float64]), DEFAULTS)
def test_float_tensors_keep_their_dtype(dtype: DType, default: DType) -> None:
    """Python's numbers follow the tensor beside them; complex ones have its precision."""
    x = rk.ones((2,), dtype=dtype)
    with rk.set_default_dtype(default):
        assert (x * 2.5).dtype is (x / 3).dtype is rk.mean(x).dtype is dtype
        assert (x * 1j).dtype is (rk.complex128 if dtype is rk.float64 else rk.complex64)
        assert rk.result_type(dtype, 1.5) is dtype


@few
@given(DEFAULTS)
def test_complex_numbers_have_the_precision_of_the_default(default: DType) -> None:
    """As PyTorch has it: complex128 for float64, else complex64, and the namespace's inspection says so."""
    wanted = rk.complex128 if default is rk.float64 else rk.complex64
    with rk.set_default_dtype(default):
        assert rk.asarray([1j]).dtype is rk.full((1,), 1j).dtype is rk.linspace(0, 1j, 2).dtype is wanted
        assert (rk.arange(2) * 1j).dtype is wanted
        told = rk.__array_namespace_info__().default_dtypes()
        assert (told["real floating"], told["complex floating"]) == (default, wanted)
        assert told["integral"] is told["indexing"] is rk.int64


@few
@given(st.floats(allow_nan=False, width=64))
def test_float64_keeps_every_bit(value: float) -> None:
    """Python's floats are float64 themselves."""
    with rk.set_default_dtype("float64"):
        assert float(rk.asarray(value)) == float(rk.asarray([value])[0]) == float(rk.full((), value)) == value
        third = rk.asarray(1) / 3
        assert float(third) == 1 / 3


def test_factorizations_and_transforms_of_integers() -> None:
    """They take float32 at least, and float64 where that is the default."""
    x = rk.asarray([[2, 1], [1, 3]])
    for default, real in (("float64", rk.float64), ("float32", rk.float32), ("float16", rk.float32)):
        with rk.set_default_dtype(default):
            assert rk.linalg.inv(x).dtype is rk.linalg.det(x).dtype is rk.linalg.eigvalsh(x).dtype is real
            assert rk.fft.irfft(rk.fft.rfft(x)).dtype is real


def test_each_thread_has_its_own() -> None:
    """What one sets, the others do not see, though they share the plans."""
    x, ready, found = rk.arange(3), threading.Barrier(2), dict[str, list[str]]()

    def work(name: str) -> None:
        rk.set_default_dtype(name)
        ready.wait()
        found[name] = [str((x / 2).dtype) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(name,)) for name in ("float64", "float16")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {name: [name] * 20 for name in ("float64", "float16")}
    assert (x / 2).dtype is rk.float32


def test_as_a_call_and_within_with() -> None:
    """A call lasts; `with` puts back what was there, after an error too."""
    rk.set_default_dtype(np.float64)
    with pytest.raises(ZeroDivisionError), rk.set_default_dtype("float16"):
        assert rk.ones(1).dtype is rk.float16
        raise ZeroDivisionError
    assert rk.ones(1).dtype is rk.float64


@pytest.mark.parametrize("dtype", ["int64", "complex128", "bool", "float8_e4m3"])
def test_other_dtypes_are_refused(dtype: str) -> None:
    """The error names those that can be."""
    with pytest.raises(DTypeError, match=f"set_default_dtype: dtype {dtype}; use one of float16, bfloat16, float32, f"):
        rk.set_default_dtype(dtype)
