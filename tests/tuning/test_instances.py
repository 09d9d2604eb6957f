"""Instances: settings of a kernel that change its time and not its results; tables say which one a problem takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.errors import ConfigError, KernelNotFound, PackageError
from rocmkern.kernels import families
from rocmkern.kernels.tunable import Instance
from rocmkern.ops import tuned

TARGETS = ("gfx942", "gfx1100")
OPERATIONS = {"sum": "f32"}
BUILT = tuple((op, i) for op, dtype in OPERATIONS.items() for i in families.instances(op, dtype))
HEADER = "gfx,cu_num,M,N,K,dtype,kernelId,splitK,us,kernelName"


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty configuration folder, in which nothing is tuned yet."""
    monkeypatch.setenv("ROCMKERN_CONFIG", str(tmp_path))
    tuned.configure()
    yield tmp_path
    rk.use_tuned()


def values(*shape: int) -> np.ndarray:
    """Small integers: their sums of products are exact in float32."""
    return np.random.default_rng(sum(shape)).integers(-8, 9, shape).astype(np.float32)


def run(op: str, device: rk.Device) -> tuple[np.ndarray, np.ndarray]:
    """A small problem, and the right answer."""
    x = values(37, 1030)
    return rk.sum(rk.asarray(x, device=device), axis=1).numpy(), x.sum(1)


@pytest.mark.parametrize("op", families.tunables())
def test_every_operation_has_settings(op: str) -> None:
    """At least six, all different; the default one is the first and ships; kernelName and kernelId tell them apart."""
    for dtype in families.tunables()[op].dtypes:
        found = families.instances(op, dtype)
        assert len(found) >= 6
        assert found[0].is_default and not found[0].unshipped
        assert [i.number for i in found] == list(range(len(found)))
        assert len({tuple(i.values.items()) for i in found}) == len(found) == len({i.name for i in found})
        assert all(families.instances_by_name()[i.name] is i for i in found)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("op", "instance"), BUILT, ids=lambda v: v.name if isinstance(v, Instance) else "")
@pytest.mark.usefixtures("built")
def test_instances_give_equal_results(op: str, instance: Instance, target: str) -> None:
    """Whatever the setting, the result is exactly that of the definition."""
    device = rk.Device(f"emulator:{target}")
    with tuned.forced(instance), rk.Trace() as trace:
        came, wanted = run(op, device)
    assert np.array_equal(came, wanted)
    ran = {row.kernel for row in trace.totals()}
    assert ran & {kernel.symbol for kernel in instance.kernels}


def table(folder: Path, op: str, *rows: str) -> Path:
    path = folder / f"{op}.csv"
    path.write_text("\n".join((HEADER, *rows)) + "\n")
    return path


def test_other_compute_units_and_padded_rows_are_said(built: Path) -> None:
    """A row of M 48 with 80 compute units serves M 37 on 304, and the explanation says both."""
    rk.use_tuned(table(built, "sum", "gfx942,80,48,1,1030,f32,1,0,9.5,sum_f32_64x4"))
    steps = rk.explain_tuned("sum", 37, 1, 1030, "f32", device=rk.Device("emulator:gfx942"))
    assert steps == (
        "tuned, M padded from 37 to 48, tuned for 80 compute units of gfx942: sum_f32_64x4, 9.5 µs (sum.csv, line 2)"
    )


def test_tables_of_the_environment(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ROCMKERN_TUNED names files or folders; without it, `tuned` of the configuration folder holds the tables."""
    (built / "tuned").mkdir()
    row = "gfx942,304,37,1,1030,f32,0,0,9.5,sum_f32_{}"
    table(built / "tuned", "sum", row.format("64x4"))
    tuned.configure()
    assert tuned.tables is not None
    device = rk.Device("emulator:gfx942")
    assert "sum_f32_64x4" in rk.explain_tuned("sum", 37, 1, 1030, "f32", device=device)
    monkeypatch.setenv(tuned.VARIABLE, str(table(built, "sum", row.format("128x4"))))
    tuned.configure()
    assert "sum_f32_128x4" in rk.explain_tuned("sum", 37, 1, 1030, "f32", device=device)


def test_tables_that_are_none(tmp_path: Path) -> None:
    """A file named after no operation, one without the key columns, and one that is not there."""
    (tmp_path / "summ.csv").write_text(HEADER)
    with pytest.raises(ConfigError, match="named after no operation with instances; there are"):
        rk.use_tuned(tmp_path)
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        rk.use_tuned(tmp_path / "sum.csv")
    (tmp_path / "sum.csv").write_text("gfx,cu_num,M\ngfx942,304,1\n")
    rk.use_tuned(tmp_path / "sum.csv")
    try:
        with pytest.raises(PackageError, match="no column N, K, dtype, kernelName"):
            rk.explain_tuned("sum", 1, 1, 1, "f32", device=rk.Device("emulator:gfx942"))
    finally:
        rk.use_tuned()
    with pytest.raises(KernelNotFound, match="'softmax' has no settings; there are"):
        rk.explain_tuned("softmax", 1, 1, 1, "f32")
