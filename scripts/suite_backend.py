"""A pytest plugin by which SciPy's and scikit-learn's own tests of the array API run with rocmkern's tensors.

Both fix their backends where they are imported, so the plugin is named with `-p`, which comes before. Both expect a
default dtype of float64, as they set it for other libraries.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

import rocmkern as rk

OURS = "rocmkern"


def of_scipy() -> None:
    """Let the fixture `xp` of SciPy's tests be this namespace; `devices` adds to a list, where the standard now has a
    tuple.
    """
    from scipy import conftest

    def devices(xp: Any) -> list[Any]:
        return [*xp.__array_namespace_info__().devices(), None]

    conftest.xp_known_backends.add(OURS)
    parameter = pytest.param(rk, id=OURS, marks=pytest.mark.array_api_backends)
    conftest.xp = pytest.fixture(params=[parameter])(conftest.xp.__wrapped__)
    conftest.devices = pytest.fixture(devices)


def of_scikit_learn() -> None:
    """Let scikit-learn's generators of namespaces name this one."""
    from sklearn.utils import _array_api

    def namespaces(include_numpy_namespaces: bool = True) -> Iterator[str]:
        yield OURS

    def combinations(include_numpy_namespaces: bool = True) -> Iterator[tuple[str, None, str]]:
        yield from ((OURS, None, dtype) for dtype in ("float64", "float32"))

    def mixed() -> Iterator[tuple[object, object, str]]:
        host, ours = (_array_api.NamespaceAndDevice(name, None) for name in ("numpy", OURS))
        yield host, ours, f"numpy to {OURS}"
        yield ours, host, f"{OURS} to numpy"

    _array_api.yield_namespaces = namespaces
    _array_api.yield_namespace_device_dtype_combinations = combinations
    _array_api.yield_mixed_namespace_input_permutations = mixed


rk.set_default_dtype("float64")
{"scipy": of_scipy, "scikit-learn": of_scikit_learn}[os.environ["ROCMKERN_SUITE"]]()
