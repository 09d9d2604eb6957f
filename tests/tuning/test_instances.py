"""Instances: settings of a kernel that change its time and not its results; tables say which one a problem takes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from click.testing import CliRunner

import rocmkern as rk
from rocmkern.build import instances, toolchain
from rocmkern.cli import main
from rocmkern.errors import BuildError, ConfigError, KernelNotFound, PackageError
from rocmkern.kernels import families, instance_files
from rocmkern.kernels.families.quantized import VECTOR_COUNTS, rows_per_wave
from rocmkern.kernels.tunable import Instance
from rocmkern.ops import tuned

TARGETS = ("gfx942", "gfx1100")
OPERATIONS = {"matmul": "f32", "conv2d": "f32", "sum": "f32"}
BUILT = tuple((op, i) for op, dtype in OPERATIONS.items() for i in families.instances(op, dtype))
HEADER = "gfx,cu_num,M,N,K,dtype,kernelId,splitK,us,kernelName"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unshipped kernels of BUILT for both targets."""
    root = tmp_path_factory.mktemp("tuned")
    kernels = [kernel for _, instance in BUILT for kernel in instance.unshipped]
    problems: list[Exception | None] = []
    for target in TARGETS:
        jobs = instances.plan(kernels, target, root / "instances")
        instances.build_all(jobs, toolchain.detect("zig"), workers=2, done=lambda job, error: problems.append(error))
    assert set(problems) == {None}
    return root


@pytest.fixture
def built(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The kernels of `folder` are where operations look for them, and nothing is tuned yet."""
    monkeypatch.setenv(instance_files.KERNEL_FOLDERS, str(folder))
    monkeypatch.setenv("ROCMKERN_CONFIG", str(tmp_path))
    tuned.configure()
    yield tmp_path
    rk.use_tuned()


def values(*shape: int) -> np.ndarray:
    """Small integers: their sums of products are exact in float32."""
    return np.random.default_rng(sum(shape)).integers(-8, 9, shape).astype(np.float32)


def run(op: str, device: rk.Device) -> tuple[np.ndarray, np.ndarray]:
    """A small problem that fills no tile, and the right answer."""
    if op == "matmul":
        x, y = values(130, 70), values(70, 261)
        return (rk.asarray(x, device=device) @ rk.asarray(y, device=device)).numpy(), x @ y
    if op == "sum":
        x = values(37, 1030)
        return rk.sum(rk.asarray(x, device=device), axis=1).numpy(), x.sum(1)
    x, w = values(2, 5, 13, 21), values(67, 5, 3, 3)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    wanted = np.einsum("bcyxij,ocij->boyx", windows, w)
    return rk.conv2d(rk.asarray(x, device=device), rk.asarray(w, device=device)).numpy(), wanted


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


def test_sums_of_a_wave_fit_its_lanes() -> None:
    """Rows times vectors of every mat-vec setting are at most 32: with more, a wave of 32 lost half of its sums."""
    for rows, _, _ in families.tunables()["mat_vec"].settings:
        assert all(rows_per_wave(vectors, rows) * vectors <= 32 for vectors in VECTOR_COUNTS)


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


def kernels_of(op: str) -> set[str]:
    with rk.Trace() as trace:
        came, wanted = run(op, rk.Device("emulator:gfx942"))
    assert np.array_equal(came, wanted)
    return {row.kernel for row in trace.totals()}


def test_operations_use_what_was_tuned(built: Path) -> None:
    """A row for just this problem chooses the instance; without the table, or for another problem, the default runs."""
    row = "gfx942,304,130,261,70,f32,5,0,9.5,matmul_f32_64x64x32x4x4x1"
    default = kernels_of("matmul")
    assert default != {"matmul_f32_64x64x32x4x4"}
    rk.use_tuned(table(built, "matmul", row))
    assert kernels_of("matmul") == {"matmul_f32_64x64x32x4x4"}
    device = rk.Device("emulator:gfx942")
    steps = rk.explain_tuned("matmul", 130, 261, 70, "f32", device=device)
    assert steps == "tuned, exact shape: matmul_f32_64x64x32x4x4x1, 9.5 µs (matmul.csv, line 2)"
    assert rk.explain_tuned("matmul", 999, 261, 70, "f32", device=device).endswith("the default instance")
    rk.use_tuned()
    assert kernels_of("matmul") == default


def test_other_compute_units_and_padded_rows_are_said(built: Path) -> None:
    """A row of M 144 with 80 compute units serves M 130 on 304, and the explanation says both."""
    rk.use_tuned(table(built, "matmul", "gfx942,80,144,261,70,f32,5,0,9.5,matmul_f32_64x64x32x4x4x1"))
    assert kernels_of("matmul") == {"matmul_f32_64x64x32x4x4"}
    steps = rk.explain_tuned("matmul", 130, 261, 70, "f32", device=rk.Device("emulator:gfx942"))
    assert "M padded from 130 to 144" in steps and "tuned for 80 compute units of gfx942" in steps


def test_rows_of_two_dtypes_are_told_apart(built: Path) -> None:
    """One shape, looked up for both, in either order."""
    rows = "\n".join(f"gfx942,304,37,1,1030,{t},0,0,9.5,sum_{t}_{n}x4" for t, n in (("f32", 64), ("f16", 128)))
    rk.use_tuned(table(built, "sum", rows))
    device = rk.Device("emulator:gfx942")
    for t, n in (("f32", 64), ("f16", 128), ("f32", 64)):
        assert f"sum_{t}_{n}x4" in rk.explain_tuned("sum", 37, 1, 1030, t, device=device)


def test_a_forced_instance_is_for_its_operation() -> None:
    """Other operations inside go on by themselves."""
    device = rk.Device("emulator:gfx942")
    with tuned.forced(families.instances("sum", "f32")[3]):
        assert tuned.chosen("matmul", device, "f32", 1, 2, 3) is None
        assert rk.explain_tuned("sum", 1, 1, 1, "f32", device=device) == "forced: sum_f32_256x4"


def test_earlier_folders_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of ROCMKERN_KERNEL_DIR in their order, then the user's cache; in each the exact target."""
    kernel = families.unshipped()["matmul_f32_64x64x32x4x4"]
    monkeypatch.setenv("ROCMKERN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(instance_files.KERNEL_FOLDERS, os.pathsep.join(str(tmp_path / name) for name in ("a", "b")))
    assert instance_files.find(kernel, "gfx1100") is None
    made = [
        instance_files.path(kernel, target, tmp_path / folder / "instances")
        for folder in ("cache", "b", "a") for target in ("gfx11-generic", "gfx1100")
    ]  # fmt: skip
    for path in made:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        instance_files.mark(path, kernel, b"")
        assert instance_files.find(kernel, "gfx1100") == path


def test_a_row_can_name_the_default(built: Path) -> None:
    """Where the operation by itself was fastest, it is not changed."""
    default = kernels_of("matmul")
    rk.use_tuned(table(built, "matmul", "gfx942,304,130,261,70,f32,-1,0,9.5,default"))
    assert kernels_of("matmul") == default
    steps = rk.explain_tuned("matmul", 130, 261, 70, "f32", device=rk.Device("emulator:gfx942"))
    assert steps == "tuned, exact shape: default, 9.5 µs (matmul.csv, line 2)"
    assert tuned.named_instances() == {}


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


def test_rows_that_do_not_fit_fall_back_and_say_so(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance that there is not, or that is not built here, leaves the default; a build names every such row."""
    rk.use_tuned(table(built, "matmul", "gfx942,304,130,261,70,f32,5,0,9.5,matmul_f32_1x1x1"))
    device = rk.Device("emulator:gfx942")
    assert not kernels_of("matmul") & set(families.unshipped())
    steps = rk.explain_tuned("matmul", 130, 261, 70, "f32", device=device)
    assert "matmul_f32_1x1x1 is no instance of matmul for f32\nthe default instance" in steps
    with pytest.raises(KernelNotFound, match=r"no such kernels: matmul_f32_1x1x1 \(matmul.csv, line 2\)"):
        tuned.named_instances()
    rk.use_tuned(table(built, "sum", "gfx942,304,37,1,1030,f16,0,0,9.5,sum_f32_64x4"))
    steps = rk.explain_tuned("sum", 37, 1, 1030, "f16", device=device)
    assert "sum_f32_64x4 is no instance of sum for f16\nthe default instance" in steps
    monkeypatch.setenv(instance_files.KERNEL_FOLDERS, "")
    monkeypatch.setenv("ROCMKERN_CACHE", str(built))
    rk.use_tuned(table(built, "matmul", "gfx942,304,130,261,70,f32,5,0,9.5,matmul_f32_64x64x32x4x4x1"))
    steps = rk.explain_tuned("matmul", 130, 261, 70, "f32", device=device)
    assert "not built for gfx942; run `rocmkern build`" in steps
    with pytest.raises(KernelNotFound, match=r"does not ship and is not built for gfx942; build it with `rocmkern"):
        rk.KernelCache().function("matmul", "matmul_f32_64x64x32x4x4", device)


def test_build_makes_what_tables_name(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`rocmkern build` makes the instances of the tuned tables for their targets, and no others; then they run."""
    monkeypatch.setenv(instance_files.KERNEL_FOLDERS, "")
    monkeypatch.setenv("ROCMKERN_CACHE", str(built / "cache"))
    row = "gfx942,304,130,261,70,f32,5,0,9.5,matmul_f32_64x64x32x4x4x1"
    path = table(built, "matmul", row)
    words = ["build", "--family", "matmul", "--target", "gfx942", "--tuned", str(path)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert "1 of 1 instances" in done.output
    code_objects = [p.name for p in (built / "cache" / "instances").rglob("*.hsaco")]
    assert code_objects == ["matmul_f32_64x64x32x4x4.hsaco"]
    assert CliRunner().invoke(main, words).output == "everything is up to date\n"
    rk.use_tuned(path)
    assert kernels_of("matmul") == {"matmul_f32_64x64x32x4x4"}


def test_stale_instances_are_not_used(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of other sources than today's counts as not there, and so does a damaged one."""
    kernel = families.unshipped()["matmul_f32_64x64x32x4x4"]
    folder = instance_files.named_folders()[0] / "instances"
    assert instances.plan([kernel], "gfx942", folder) == []
    assert [job.kernel for job in instances.plan([kernel], "gfx942", folder, force=True)] == [kernel]
    found = instance_files.find(kernel, "gfx942")
    assert found is not None
    copy = built / "instances" / "gfx942" / found.name
    shutil.copytree(folder, built / "instances")
    assert instance_files.current(copy, kernel) == copy.read_bytes()
    copy.write_bytes(copy.read_bytes()[:-1])
    assert instance_files.current(copy, kernel) is None
    monkeypatch.setattr("rocmkern.kernels.sources.source_hash", lambda name: "other")
    assert instance_files.find(kernel, "gfx942") is None


def test_a_kernel_that_does_not_compile_costs_itself_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other jobs are built, into a folder by a relative path; the failure carries the compiler's words."""
    monkeypatch.setenv("ROCMKERN_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    good = families.unshipped()["matmul_f32_64x64x32x4x4"]
    bad = evolve(good, symbol="bad", instance="MATMUL(bad, f32, f32, 1, 2, 3, 4, 5)")
    heard = {}
    jobs = instances.plan([good, bad], "gfx942", Path("made"))
    instances.build_all(jobs, toolchain.detect("zig"), workers=2, done=lambda job, e: heard.update({job.name: e}))
    assert heard["gfx942/matmul_f32_64x64x32x4x4.hsaco"] is None
    assert isinstance(heard["gfx942/bad.hsaco"], BuildError)
    assert [p.name for p in (tmp_path / "made").rglob("*.hsaco")] == ["matmul_f32_64x64x32x4x4.hsaco"]


def test_tables_that_are_none(tmp_path: Path) -> None:
    """A file named after no operation, one without the key columns, and one that is not there."""
    (tmp_path / "matmull.csv").write_text(HEADER)
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
