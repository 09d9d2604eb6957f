"""What kernels ask for, by the counts of an emulated device."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rocmkern as rk
from rocmkern.cli import main
from rocmkern.profiling.report import duration

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201")


@pytest.mark.parametrize("target", TARGETS)
def test_a_copy_moves_each_byte_once(target: str) -> None:
    """Contiguous lanes take every byte of the lines, which are read once and written once."""
    device = rk.Device(f"emulator:{target}")
    x = rk.asarray(np.arange(1 << 16, dtype=np.float32), device=device)
    with rk.profile() as profile:
        y, z = x + 1, x + 1
    (one,) = profile
    assert one.launches == 2 and one.name == "affine_f32"
    assert one.bytes_read - 2 * x.nbytes in range(1025)  # with arguments
    assert one.bytes_written == 2 * x.nbytes
    assert one.coalescing == one.active == 1
    assert one.occupancy is not None and one.occupancy.share == 1
    assert one.limit == max(one.seconds, key=one.seconds.__getitem__) and one.estimate > 0
    np.testing.assert_array_equal(y.numpy(), z.numpy())


def test_shared_lines_count_once_a_launch() -> None:
    """A row that all rows are added to is read from memory once, and asked for by each."""
    device = rk.Device("emulator:gfx942")
    x, row = rk.ones((512, 1024), device=device), rk.ones(1024, device=device)
    with rk.profile(chip="mi300x") as profile:
        _ = x + row
    (one,) = profile
    assert one.bytes_read <= x.nbytes + row.nbytes + 1024
    assert one.bytes_asked >= 3 * x.nbytes
    assert one.seconds["memory"] == (one.bytes_read + one.bytes_written) / 5300e9


def test_strided_lanes_leave_bytes_of_lines() -> None:
    """Columns are eight bytes of each line."""
    device = rk.Device("emulator:gfx942")
    x = rk.ones((256, 64), device=device)
    with rk.profile() as profile:
        _ = x[:, :2] + 1
    assert min(one.coalescing for one in profile) < 0.5


def test_devices_opened_meanwhile_are_counted_and_nothing_after() -> None:
    """By kernel and geometry; the numbers stay when the block has ended."""
    first = rk.Device("emulator:gfx942")
    with rk.profile() as profile:
        second = rk.Device("emulator:gfx942:1")
        _ = rk.ones(100, device=first) + 1, rk.ones(1000, device=second) + 1
    counted = [(one.name, one.grid, one.launches) for one in profile]
    assert sum(name == "affine_f32" for name, *_ in counted) == 2
    _ = rk.ones(100, device=first) + 1
    assert [(one.name, one.grid, one.launches) for one in profile] == counted


def test_hot_lines_are_of_the_source() -> None:
    """Code with debug information names them; those that ran most often come first."""
    source = """
    #include <hip/hip_runtime.h>
    extern "C" __global__ void power(float *x, int n) {
        float product = 1;
        for (int i = 0; i < n; i++)
            product *= x[threadIdx.x] + i;
        x[threadIdx.x] = product;
    }
    """
    kernel = rk.compile(source, target="gfx942", options=["-g"]).get_function("power")
    x = rk.ones(64, device=rk.Device("emulator:gfx942"))
    with rk.profile() as profile:
        kernel(x, np.int32(100), grid=1, block=64)
    (one,) = profile
    runs = [line.runs for line in one.hot]
    assert runs == sorted(runs, reverse=True) and ":6" in one.hot[0].where
    assert one.instructions["branch"] >= 10


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text("import rocmkern as rk\nprint(float((rk.ones(64) + 1).sum()))\n")
    return path


def test_command_counts_a_program(program: Path) -> None:
    """A table for people, with the chip's bounds; JSON for programs."""
    done = CliRunner().invoke(main, ["profile", "--chip", "rx7900xtx", str(program)], catch_exceptions=False)
    assert done.exit_code == 0 and "128.0" in done.output
    assert "affine_f32" in done.output and "on rx7900xtx at least" in done.output
    done = CliRunner().invoke(main, ["profile", "--json", str(program)], catch_exceptions=False)
    rows = json.loads(done.output[done.output.index("[") :])
    assert {"fill_f32", "affine_f32"} <= {row["name"] for row in rows}
    assert all(row["chip"] == "mi300x" and row["estimate"] > 0 for row in rows)


def test_command_names_what_is_wrong(program: Path) -> None:
    """An unknown chip; a program that fails."""
    done = CliRunner().invoke(main, ["profile", "--chip", "mi300", str(program)])
    assert done.exit_code == 1 and "no chip 'mi300'" in done.output
    program.write_text("raise SystemExit(3)")
    assert CliRunner().invoke(main, ["profile", str(program)]).exit_code == 1


def test_durations_have_units() -> None:
    """Three digits, in the unit that suits."""
    assert [duration(s) for s in (2.0, 3.14159e-3, 5e-6, 1.5e-9, 0.0)] == ["2 s", "3.14 ms", "5 µs", "1.5 ns", "0 ns"]
