"""einops, dask, xarray, pandas, matplotlib and scikit-learn with tensors inside."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import rocmkern as rk

ROOT: Final = Path(__file__).parents[2]
VALUES: Final = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def same(ours: Any, theirs: Any) -> None:
    """A tensor with NumPy's shape and values."""
    assert isinstance(ours, rk.Tensor)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5, atol=1e-6)


def python(source: str, **environment: str) -> None:
    """Runs a script in a process of its own."""
    variables = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"} | environment
    done = subprocess.run([sys.executable, "-c", source], env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


EINOPS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "rearrange": lambda einops, x: einops.rearrange(x, "a b c -> c (a b)"),
    "split": lambda einops, x: einops.rearrange(x, "a b (c d) -> d c b a", c=2),
    "mean": lambda einops, x: einops.reduce(x, "a b c -> b", "mean"),
    "max": lambda einops, x: einops.reduce(x, "a (b d) c -> a b", "max", d=3),
    "repeat": lambda einops, x: einops.repeat(x, "a b c -> a r b c", r=2),
    "einsum": lambda einops, x: einops.einsum(x, x, "a b c, a b d -> c d"),
    "pack": lambda einops, x: einops.pack([x, x[:, 0]], "a * c")[0],
    "unpack": lambda einops, x: einops.unpack(x, [(2,), ()], "a * c")[1],
    "list": lambda einops, x: einops.rearrange([x, x], "n a b c -> a (n b) c"),
}


@pytest.mark.parametrize("name", EINOPS)
def test_einops(name: str) -> None:
    """Its functions take tensors and give what they give of NumPy's arrays."""
    import einops

    same(EINOPS[name](einops, rk.asarray(VALUES)), EINOPS[name](einops, VALUES))


@pytest.mark.parametrize("order", ["import rocmkern, einops", "import einops, einops._backends, rocmkern"])
def test_einops_is_told_whichever_is_imported_first(order: str) -> None:
    """And it is not imported for that."""
    python("import sys, rocmkern; rocmkern.ones(1); assert 'einops' not in sys.modules")
    python(f"{order}\nassert einops.rearrange(rocmkern.ones((2, 3)), 'a b -> b a').shape == (3, 2)")
    python(f"{order}\nimport numpy\nassert einops.rearrange(numpy.ones((2, 3)), 'a b -> b a').shape == (3, 2)")


DASK: Final[dict[str, Callable[[Any], Any]]] = {
    "arithmetic": lambda d: d * 2 + d[0],
    "sum": lambda d: d.sum(axis=0),
    "mean": lambda d: d.mean(axis=1),
    "std": lambda d: d.std(axis=2),
    "max": lambda d: d.max(axis=(0, 1)),
    "transpose": lambda d: d.transpose(2, 0, 1),
    "rechunk": lambda d: d.rechunk((2, 1, 4)),
    "slices": lambda d: d[:, ::2, 1:],
}


@pytest.mark.parametrize("name", DASK)
def test_dask(name: str) -> None:
    """A dask array of tensors stays one, chunk by chunk."""
    import dask.array as da

    call = DASK[name]
    found = call(da.from_array(rk.asarray(VALUES), chunks=(1, 3, 2), asarray=False)).compute(scheduler="sync")
    same(found, call(da.from_array(VALUES, chunks=(1, 3, 2))).compute(scheduler="sync"))


XARRAY: Final[dict[str, Callable[[Any], Any]]] = {
    "arithmetic": lambda a: a * 2 + a.isel(a=0),
    "mean": lambda a: a.mean("a"),
    "std": lambda a: a.std("c"),
    "choose": lambda a: a.isel(b=[0, 2]),
    "transpose": lambda a: a.transpose("c", "b", "a"),
    "stack": lambda a: a.stack(z=("a", "b")),
    "where": lambda a: a.where(a > 3, 0.0),
    "group": lambda a: a.assign_coords(b=[0, 1, 0]).groupby("b").sum(),
}


@pytest.mark.parametrize("name", XARRAY)
def test_xarray(name: str) -> None:
    """A DataArray keeps the tensor on the device."""
    import xarray as xr

    ours, theirs = (XARRAY[name](xr.DataArray(data, dims=("a", "b", "c"))) for data in (rk.asarray(VALUES), VALUES))
    assert ours.dims == theirs.dims
    same(ours.data, theirs.data)


def test_pandas() -> None:
    """Tensors are columns, operands on either side, and conditions of `where`; as a mask they go through NumPy."""
    import pandas as pd

    series, x = pd.Series([1.0, 2.0, 3.0]), rk.asarray(np.array([4.0, 2.0, 1.0]))
    assert (series + x).tolist() == (x + series).tolist() == [5, 4, 4]
    assert (series > x).tolist() == [False, False, True]
    assert series.where(x > 1, 0).tolist() == [1, 2, 0]
    assert series[np.asarray(x > 1)].tolist() == [1, 2]
    assert pd.DataFrame({"x": x}).assign(y=x * 2).y.tolist() == [8, 4, 2]


def test_matplotlib() -> None:
    """Lines, points, bars, histograms and images take tensors."""
    from matplotlib.figure import Figure

    x, axes = rk.asarray([1.0, 2.0, 3.0]), Figure().subplots()
    (line,) = axes.plot(x, x * 2)
    np.testing.assert_array_equal(line.get_xydata(), [[1, 2], [2, 4], [3, 6]])
    assert [bar.get_height() for bar in axes.bar(x, x)] == [1, 2, 3]
    assert axes.scatter(x, x, c=x, s=x).get_offsets().shape == (3, 2)
    assert axes.hist(x, bins=3)[0].tolist() == [1, 1, 1]
    assert axes.imshow(rk.reshape(rk.arange(6), (2, 3))).get_array().shape == (2, 3)


SKLEARN = """
import numpy as np, rocmkern as rk
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler
x = np.random.default_rng(0).standard_normal((30, 4))
y = x @ np.array([1.0, -2.0, 0.5, 0.0]) + 3
with config_context(array_api_dispatch=True):
    t, u = rk.asarray(x), rk.asarray(y)
    scaled = StandardScaler().fit_transform(t)
    assert isinstance(scaled, rk.Tensor)
    np.testing.assert_allclose(scaled.numpy(), StandardScaler().fit_transform(x), atol=1e-12)
    model = Ridge(alpha=0.1, solver="svd").fit(t, u)
    assert isinstance(model.coef_, rk.Tensor)
    np.testing.assert_allclose(model.coef_.numpy(), Ridge(alpha=0.1, solver="svd").fit(x, y).coef_, atol=1e-10)
    assert float(r2_score(u, model.predict(t))) > 0.999
    reduced = PCA(2, svd_solver="full").fit(t)
    np.testing.assert_allclose(reduced.explained_variance_.numpy(), PCA(2).fit(x).explained_variance_, rtol=1e-9)
"""


def test_scikit_learn() -> None:
    """Estimators that dispatch by the standard are fitted on the device."""
    python(SKLEARN, SCIPY_ARRAY_API="1")
