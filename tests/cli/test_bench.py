"""`rocmkern bench`: rows, ratios, the picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rocmkern as rk
from rocmkern.cli import bench, bench_libraries, main
from rocmkern.kernels import families


def test_every_family_is_timed_and_drawn(tmp_path: Path) -> None:
    """Each row has ours over NumPy's and every other peer's; --plot writes a PNG."""
    picture = tmp_path / "bench.png"
    words = ["bench", "--size", "4096", "--seconds", "0", "--json", "--plot", str(picture)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert {row["family"] for row in found["rows"]} == set(families.names())
    for row in found["rows"]:
        assert row["ours"] > 0
        assert "numpy" in row["peers"]
        assert row["over"] == pytest.approx({name: row["ours"] / rate for name, rate in row["peers"].items()})
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_libraries_agree() -> None:
    """Every library's form of an operation gives NumPy's values: the rates compare like with like."""
    data = bench_libraries.Data(1024, 16)
    device = rk.Device("emulator:gfx942")
    reference, *others = bench_libraries.peers(device, data)
    for library in (bench_libraries.ours(device, data), *others):
        for operation in data.operations():
            wanted, got = reference.calls[operation.name](), library.calls[operation.name]()
            tolerance = 0.2 if operation.family == "quantized" else 1e-4
            if operation.family == "random":  # each library draws its own
                assert got.shape == wanted.shape
            elif wanted is not None and operation.name != "argsort of rows":
                np.testing.assert_allclose(np.asarray(got).squeeze(), wanted, rtol=1e-2, atol=tolerance)


def test_ctrl_c_keeps_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is printed once it is measured: what comes before an interruption is there, and the exit code is 130."""
    measured, calls = bench.measure, []

    def interrupted(*args: Any) -> bench.Row:
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return measured(*args)

    monkeypatch.setattr(bench, "measure", interrupted)
    done = CliRunner().invoke(main, ["bench", "--size", "1024", "--seconds", "0"])
    assert done.exit_code == 130
    assert [line.split()[0] for line in done.stdout.splitlines()[-2:]] == ["affine", "fill"]
    calls.clear()
    done = CliRunner().invoke(main, ["bench", "--size", "1024", "--seconds", "0", "--json"])
    assert (done.exit_code, len(json.loads(done.stdout)["rows"])) == (130, 2)


def test_failing_peer_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A peer that raises is left out of the row, and the reason is on stderr."""

    def fails() -> None:
        raise RuntimeError("no compiler")

    operation = bench_libraries.Operation("unary", "exp", 1e9)
    mine = bench_libraries.Library("rocmkern", {"exp": lambda: None}, lambda call, budget: 0.5)
    bad = bench_libraries.Library("cupy", {"exp": fails}, lambda call, budget: call())
    row = bench.measure(operation, mine, [bad], 0)
    assert (row.ours, row.peers, row.over) == (2.0, {}, {})
    assert "exp: cupy failed: RuntimeError: no compiler" in capsys.readouterr().err


def test_clock_by_events_divides_by_the_calls() -> None:
    """The time between two events over the calls between them."""
    done = []
    clock = bench_libraries._by_events(lambda: len(done), lambda start, stop: (stop - start) * 1e-4)
    assert clock(lambda: done.append(None), 0) == pytest.approx(1e-4)


def test_emulated_operation_is_timed_once_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the calls take before the emulator has compiled their kernels does not count."""
    now, took = [0.0], iter([9.0, 1.0, 0.9, 0.8, 0.1, *[0.05] * 99])

    def call() -> None:
        now[0] += next(took)

    monkeypatch.setattr(bench_libraries.time, "perf_counter", lambda: now[0])
    assert bench_libraries._by_host_once_compiled(call, 1) == pytest.approx(0.05)


def test_one_family_alone() -> None:
    """--family leaves the others out."""
    done = CliRunner().invoke(main, ["bench", "--size", "1024", "--seconds", "0", "--family", "cast", "--json"])
    assert [row["operation"] for row in json.loads(done.stdout)["rows"]] == ["f32 to f16"]


def test_unknown_family_names_the_known() -> None:
    """A wrong family is a user's mistake."""
    done = CliRunner().invoke(main, ["bench", "--family", "sin"])
    assert done.exit_code == 2
    assert "no benchmark for sin; there are affine, fill" in done.output
