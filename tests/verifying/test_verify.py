"""`rocmkern verify`: which kernels its cases reach, what it calls wrong, and how it goes on after a break."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import rocmkern as rk
from rocmkern.cli import main
from rocmkern.dtypes import float16, float32
from rocmkern.errors import DriverError
from rocmkern.kernels import families
from rocmkern.verifying import report
from rocmkern.verifying import verify as verifying
from rocmkern.verifying.case import Case
from rocmkern.verifying.verify import Machine, Run, Verdict, cases, note, verify

DEVICE = "emulator:gfx1100"
X = np.arange(6, dtype=np.float32).reshape(3, 2)
HERE = Machine("hip:0", "a <GPU>", "gfx942", "0.1", "0f", 100.0)


def one(call: Any, reference: Any, **options: Any) -> Verdict:
    (found,) = verify(rk.Device(DEVICE), [Case("it", call, (X,), reference, **options)], 0)
    return found


def command(folder: Path, only: str, *more: str) -> Result:
    return CliRunner().invoke(main, ["verify", "--device", DEVICE, "-o", str(folder), "--only", only, *more])


def test_names_of_cases_are_their_own() -> None:
    """A run that goes on knows cases by name."""
    names = Counter(case.name for case in cases())
    assert len(names) > 4000
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.slow
def test_every_kernel_is_run_and_right() -> None:
    """All that ship, by the cases of all families together."""
    verdicts = list(verify(rk.Device("emulator:gfx942"), cases(), 0))
    assert [v for v in verdicts if v.status != "right"] == []
    kernels = report.by_kernel(HERE, verdicts)
    assert {k.symbol for k in kernels} == {s for f in families.families() for s in f.by_symbol}
    assert [k.symbol for k in kernels if k.status != "right"] == []


@pytest.mark.parametrize(
    ("call", "reference", "options", "status"),
    [
        (lambda x: x + 1, lambda x: x + 1, {}, "right"),
        (lambda x: x + 1, lambda x: x + 1 + 2**-25, {}, "right"),  # rounded to the same
        (lambda x: x + 1, lambda x: x + 1.01, {}, "wrong"),
        (lambda x: x + 1, lambda x: (x + 1) * (1 + 2**-22), {"ulps": 3.0}, "right"),
        (lambda x: x + 1, lambda x: (x + 1) * (1 + 2**-20), {"ulps": 3.0}, "wrong"),
        (lambda x: x, lambda x: x + 2**-22, {"ulps": 1.0}, "wrong"),
        (lambda x: x, lambda x: x + 2**-22, {"ulps": 1.0, "of_largest": True}, "right"),
        (lambda x: x, lambda x: x.T, {"ulps": 1e9}, "wrong"),
        (lambda x: x / 0, lambda x: x * np.inf, {"ulps": 1e9}, "right"),
        (lambda x: x / 0, lambda x: x, {"ulps": 1e9}, "wrong"),
        (lambda x: x > 2, lambda x: x > 1, {}, "wrong"),
        (lambda x: x @ x, None, {}, "failed"),
    ],
)
def test_what_is_wrong(call: Any, reference: Any, options: dict[str, Any], status: str) -> None:
    """Beyond the places that rounding allows, other shapes, numbers for infinities; a call that raises failed."""
    assert one(call, reference, **options).status == status


def test_kernels_of_a_case_are_named() -> None:
    """Those that it launched, each once."""
    found = one(lambda x: (x + 1, rk.exp(x), rk.exp(x)), lambda x: (x + 1, np.exp(x), np.exp(x)), ulps=3.0)
    assert found == Verdict("it", ("affine_f32", "uexp_f32"), "right", found.error)


def test_other_bits_than_the_emulators_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where NumPy's tolerance holds; how many results differ is told."""
    monkeypatch.setattr(verifying, "emulated", lambda device: rk.Device("emulator:gfx942"))
    found = one(lambda x: (x, x + x.device.info.wave_size), None)
    assert (found.status, found.differing, found.reason) == ("wrong", 1, "other bits than the emulator's")


def test_an_emulator_is_not_compared_with_itself() -> None:
    assert verifying.emulated(rk.Device(DEVICE)) is None


def test_larger_cases_are_timed() -> None:
    """By the bytes that they read and write, in GB/s; others are not."""
    case = Case("it", lambda x: x + 1, (X,), lambda x: x + 1, grows=True)
    assert [a.shape for a in case.grown(4800)] == [(600, 2)]
    small = Case("other", case.call, (X,), case.reference)
    timed, untimed = verify(rk.Device(DEVICE), [case, small], 4800)
    assert timed.rate is not None and timed.rate > 0 and untimed.rate is None


def test_a_lost_device_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes behind a case that leaves it of no use is left to a new process."""

    def fails(x: Any) -> Any:
        raise DriverError("launch: the device is gone")

    todo = [Case("bad", fails, (X,)), Case("good", lambda x: x, (X,))]
    device = rk.Device(DEVICE)
    assert [v.status for v in verify(device, todo, 0)] == ["failed", "right"]
    monkeypatch.setattr(verifying, "is_usable", lambda device: False)
    assert [v.reason for v in verify(device, todo, 0)] == ["DriverError: launch: the device is gone"]


def test_the_command_goes_on_in_a_new_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same words, once its device is of no use; what was found is kept."""
    started: list[list[str]] = []

    def execv(path: str, words: list[str]) -> None:
        started.append(words)
        raise SystemExit(0)

    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr(verifying, "_tried", lambda case, *rest: Verdict(case.name, (), "failed"))
    for module in (verifying, __import__("rocmkern.cli.verify", fromlist=["verify"])):
        monkeypatch.setattr(module, "is_usable", lambda device: False)
    command(tmp_path, "ceil of float")
    assert len(started) == 1 and started[0][1:3] == ["-m", "rocmkern"]
    assert len(Run.begun(tmp_path / "run.jsonl", _machine_in(tmp_path)).verdicts) == 1


def _machine_in(folder: Path) -> Machine:
    return Machine(**json.loads((folder / "run.jsonl").read_text().splitlines()[0]))


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """Verdicts are kept, a broken last line is dropped, and a case without a verdict ended the process."""
    path, done = tmp_path / "run.jsonl", Verdict("first", ("k",), "right", 0.5)
    begun, broken = Case("second", rk.exp, ()), '{"case": "thi'
    assert Run.begun(path, HERE).verdicts == []
    for line in (Case("first", rk.exp, ()), done, begun):
        note(path, line)
    path.write_text(path.read_text() + broken)
    again = Run.begun(path, HERE)
    assert again.verdicts == [done, Verdict("second", (), "failed", reason=verifying.UNDER_WAY)]
    assert broken not in path.read_text()


@pytest.mark.parametrize("other", [{"code": "1e"}, {"device": "hip:1"}, {"version": "0.2"}])
def test_other_kernels_or_devices_begin_anew(tmp_path: Path, other: dict[str, str]) -> None:
    """Also another version; the rate of a copy, which is measured, may differ."""
    path = tmp_path / "run.jsonl"
    Run.begun(path, HERE)
    note(path, Verdict("first", (), "right"))
    fields = {name: getattr(HERE, name) for name in ("device", "marketing", "arch", "version", "code")}
    assert len(Run.begun(path, Machine(**fields, copy_rate=99.0)).verdicts) == 1
    assert Run.begun(path, Machine(**{**fields, **other}, copy_rate=100.0)).verdicts == []


def test_the_command_writes_a_table_a_page_and_json(tmp_path: Path) -> None:
    """Exit status 0 where all is right; a second run has nothing left to do."""
    for _ in range(2):
        done = command(tmp_path, "ceil of float", "--bytes", "65536")
        assert done.exit_code == 0, done.output
        assert "unary" in done.output and "4 of 4 cases right" in done.output
    found = json.loads((tmp_path / "verify.json").read_text())
    assert found["counts"] == {"not run": sum(len(f.kernels) for f in families.families()) - 4, "right": 4}
    assert found["machine"]["arch"] == "gfx1100" and found["machine"]["copy_rate"] > 0
    assert found["facts"]["system"].startswith("rocmkern")
    (kernel,) = (k for k in found["kernels"] if k["symbol"] == "uceil_f32")
    assert kernel["status"] == "right" and kernel["share"] > 0
    page = (tmp_path / "verify.html").read_text()
    assert "uceil_f64" in page and "http" not in page


def test_wrong_cases_are_shown_and_are_the_exit_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the table and on the page."""
    real = Case.error
    monkeypatch.setattr(Case, "error", lambda self, results: 2.5 if "float16" in self.name else real(self, results))
    done = command(tmp_path, "ceil of float")
    assert done.exit_code == 1
    assert "not right" in done.output and "3 of 4 cases right" in done.output
    page = (tmp_path / "verify.html").read_text()
    assert "<td class=wrong>wrong<td>2.5" in page and "beyond what rounding allows" in page


def test_names_on_the_page_are_text() -> None:
    """Nothing that a driver says about itself is markup."""
    found = report.page(HERE, [("fact", "<b>")], [Verdict("a<b", ("k",), "failed", reason="x > y & z")])
    for text in ("a &lt;GPU&gt;", "&lt;b&gt;", "a&lt;b", "x &gt; y &amp; z"):
        assert text in found


@pytest.mark.parametrize("t", [float16, float32], ids=str)
def test_results_are_compared_in_their_own_places(t: Any) -> None:
    """A unit in the last place is the result's dtype's."""
    x = np.ones(4, t.numpy)
    ulp = 2.0 ** (-10 if t is float16 else -23)
    off = Case("it", lambda x: x, (x,), lambda x: x + 3 * ulp, ulps=2.0)
    assert off.error((x,)) == pytest.approx(1.5)
