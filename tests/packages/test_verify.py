"""Kernels of a package tried on random data against float64, and what the commands say of it."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner, Result

import rocmkern as rk
from rocmkern.cli import main
from rocmkern.packages import KernelPackage
from rocmkern.packages.kinds import TopKSoftmaxArgs
from rocmkern.packages.verify import Verdict, read_verdicts, verify
from tests import samples
from tests.packages import i8_kernel
from tests.packages.installed import package
from tests.packages.test_package import SOFTMAX, note

OTHER = "a result is no number, or no element that could have been chosen"
COLUMNS = "knl_name,co_name,subm,num_experts,topk,dtype"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two int8 products that are right; selections of experts that write nothing, from a table and beside it."""
    i8_kernel.install(tmp_path, 16, 32)
    folder = tmp_path / "gfx942/topksoftmax"
    folder.mkdir()
    for name in ("empty.co", "unnamed.co"):
        (folder / name).write_bytes(samples.hand_written(note(TopKSoftmaxArgs)))
    (folder / "t.csv").write_text(f"{COLUMNS}\nslots,empty.co,4,128,4,fp32\n")
    (tmp_path / "gfx942/riddle").mkdir()
    (tmp_path / "gfx942/riddle/r.co").write_bytes(SOFTMAX)
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["package", *map(str, arguments)])


def test_each_kernel_gets_a_verdict_for_each_problem(tree: Path) -> None:
    """Right, wrong, and not judged with the reason, beside how many files are done."""
    seen: list[tuple[int, int]] = []
    device = rk.Device("emulator:gfx942")
    found = list(verify(KernelPackage.open(tree), device, progress=lambda *done: seen.append(done)))
    said = {(v.file.rpartition("/")[2], v.problem.partition(",")[0]): (v.status, v.reason) for v in found}
    assert said == {
        ("16.co", "m=5"): ("right", ""), ("16.co", "m=293"): ("right", ""),
        ("32.co", "m=5"): ("right", ""), ("32.co", "m=293"): ("right", ""),
        ("empty.co", "tokens=1"): ("wrong", OTHER), ("empty.co", "tokens=37"): ("wrong", OTHER),
        ("unnamed.co", ""): ("not judged", "no table of its kind names it"),
        ("r.co", ""): ("not judged", "kernels of kind riddle are not known"),
    }  # fmt: skip
    assert seen[-1] == (3, 5)


def test_verification_goes_on_where_it_was_broken_off(tree: Path, tmp_path: Path) -> None:
    """Verdicts are lines of a file; a line that was not finished is no verdict, and what is there is not run again."""
    results = tmp_path / "verdicts.jsonl"
    first = run("verify", tree, "--results", results)
    assert first.exit_code == 1
    assert "empty.co" in first.output
    lines = results.read_text().splitlines(keepends=True)
    assert len(lines) == 8
    results.write_text("".join(lines[:5]) + lines[5][:9])
    kept = read_verdicts(results)
    assert [attrs.asdict(v) for v in kept] == [json.loads(line) for line in lines[:5]]
    results.write_text("".join(lines[:5]))
    again = run("verify", tree, "--results", results, "--json")
    verdicts = [Verdict(**each) for each in json.loads(again.output)["verdicts"]]
    assert verdicts[:5] == kept
    assert [v.key for v in verdicts] == [Verdict(**json.loads(line)).key for line in lines]


def test_commands_explain_and_run_a_choice(tree: Path) -> None:
    """The kernel that serves a problem, the others with their cost or reason, and its result beside float64."""
    shape = "m=40,n=256,k=128,bpreshuffle=1"
    explained = run("explain", "i8gemm", tree, "--shape", shape)
    assert explained.exit_code == 0, explained.output
    assert "→ product: cost" in explained.output
    ran = run("run", "i8gemm", tree, "--shape", shape, "--json")
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.output)["status"] == "right"
    none = run("explain", "i8gemm", tree, "--shape", "m=40,n=100,k=128,bpreshuffle=1")
    assert none.exit_code == 1
    assert "n=100 is no multiple of tile_n=64" in none.output
    for given, words in (("m=40", "n, k, bpreshuffle missing; i8gemm needs m, n"), ("m", "'m'; give KEY=VALUE")):
        wrong = run("explain", "i8gemm", tree, "--shape", given)
        assert wrong.exit_code == 2
        assert words in wrong.output


def test_list_says_what_is_there(tree: Path) -> None:
    """Kinds and archs with their files and rows, and which kinds are known."""
    listed = json.loads(run("list", tree, "--json").output)["kinds"]
    assert [(one["kind"], one["files"], one["rows"], one["known"]) for one in listed] == [
        ("i8gemm", 2, 2, True), ("riddle", 1, 0, False), ("topksoftmax", 2, 1, True),
    ]  # fmt: skip
    assert "riddle" in run("list", tree).output


@pytest.mark.parametrize(
    ("target", "kind", "files"),
    [("gfx942", "topksoftmax", 8), ("gfx942", "bf16gemm", 4), ("gfx950", "bf16gemm", 4), ("gfx942", "i8gemm", 2)],
)
def test_installed_kernels_are_right(target: str, kind: str, files: int) -> None:
    """Every file of the kind in the PyPI package, on a small problem and a ragged one."""
    found = list(verify(package(), rk.Device(f"emulator:{target}"), (kind,)))
    assert {v.file: v.reason for v in found if v.status != "right"} == {}
    assert (len(found), len({v.file for v in found})) == (2 * files, files)
