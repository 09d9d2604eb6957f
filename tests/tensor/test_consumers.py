"""Libraries written against the standard take our tensors as they are: array-api-extra, and SciPy switched to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import array_api_extra as xpx
import numpy as np
import pytest

import rocmkern as rk

ROOT = Path(__file__).parents[2]
A = np.random.default_rng(0).standard_normal((4, 5))
B = np.random.default_rng(1).integers(0, 4, (3, 4))
V = np.random.default_rng(2).standard_normal(6)
T = rk.asarray

EXTRA: list[tuple[str, Callable[[], Any], Any]] = [
    ("atleast_nd", lambda: xpx.atleast_nd(T(V), ndim=3), V.reshape(1, 1, 6)),
    ("cov", lambda: xpx.cov(T(A)), np.cov(A)),
    ("create_diagonal", lambda: xpx.create_diagonal(T(V), offset=1), np.diag(V, 1)),
    ("kron", lambda: xpx.kron(T(A), T(B.astype(float))), np.kron(A, B.astype(float))),
    ("nunique", lambda: xpx.nunique(T(B)), np.unique(B).size),
    ("pad", lambda: xpx.pad(T(A), (1, 2)), np.pad(A, (1, 2))),
    ("setdiff1d", lambda: xpx.setdiff1d(T(B), T(np.array([1, 2]))), np.setdiff1d(B, [1, 2])),
    ("sinc", lambda: xpx.sinc(T(A)), np.sinc(A)),
    ("one_hot", lambda: xpx.one_hot(T(B), 4), np.eye(4)[B]),
    ("isclose", lambda: xpx.isclose(T(A), T(A + 1e-12)), np.isclose(A, A + 1e-12)),
    ("set", lambda: xpx.at(T(A))[1, :].set(0.0), np.where(np.arange(4)[:, None] == 1, 0, A)),
    ("add", lambda: xpx.at(T(A))[T([0, 2])].add(1.0), A + np.isin(np.arange(4), [0, 2])[:, None]),
    ("apply_where", lambda: xpx.apply_where(T(A) > 0, T(A), rk.sqrt, fill_value=0.0), np.sqrt(np.maximum(A, 0))),
]


@pytest.mark.parametrize(("name", "call", "expected"), EXTRA, ids=[row[0] for row in EXTRA])
def test_array_api_extra(name: str, call: Callable[[], Any], expected: Any) -> None:
    """Its pure-Python functions give NumPy's values on our tensors."""
    got = call()
    assert isinstance(got, rk.Tensor)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12, atol=1e-12)


SCIPY = """
import numpy as np, rocmkern as rk, scipy.cluster.vq, scipy.signal, scipy.special, scipy.stats
x = np.random.default_rng(0).standard_normal((5, 6))
calls = {
    "logsumexp": lambda x: scipy.special.logsumexp(x, axis=1),
    "softmax": lambda x: scipy.special.softmax(x, axis=1),
    "zscore": lambda x: scipy.stats.zscore(x, axis=1),
    "skew": lambda x: scipy.stats.skew(x, axis=0),
    "kurtosis": lambda x: scipy.stats.kurtosis(x, axis=0),
    "gmean": lambda x: scipy.stats.gmean(abs(x) + 1, axis=0),
    "entropy": lambda x: scipy.stats.entropy(abs(x) + 0.1, axis=0),
    "circmean": lambda x: scipy.stats.circmean(x, axis=0),
    "pearsonr": lambda x: scipy.stats.pearsonr(x[0, :], x[1, :]).statistic,
    "whiten": scipy.cluster.vq.whiten,
    "detrend": lambda x: scipy.signal.detrend(x, type="constant"),
}
for name, call in calls.items():
    expected, got = call(x), call(rk.asarray(x))
    assert isinstance(got, rk.Tensor), name
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6, atol=1e-8, err_msg=name)
print(len(calls))
"""


def test_scipy() -> None:
    """SciPy's statistics and special functions give tensors with the values that they give for NumPy arrays."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": path}
    run = subprocess.run([sys.executable, "-c", SCIPY], env=environment, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "11"
