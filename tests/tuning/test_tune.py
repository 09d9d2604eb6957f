"""Tuning: only a right instance wins, a candidate that dies costs itself, and a table is continued where it ended."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern.cli import main
from rocmkern.cli import tune as tune_command
from rocmkern.errors import ConfigError
from rocmkern.kernels import families
from rocmkern.tuning import problems, process, tune
from rocmkern.tuning.measure import error_ratio
from rocmkern.tuning.problems import Problem
from rocmkern.tuning.process import Worker

DEVICE = "emulator:gfx942"
SUM = problems.make("sum", dtype="f32", m=5, k=70)
NAMES = [i.name for i in families.instances("sum", "f32")]

# A worker that answers by the instance's name: it ends, it hangs, it is wrong, it raises, or it takes as long as said.
ACTOR = """
import json, os, sys, time
print("{}", flush=True)
for line in sys.stdin:
    name = json.loads(line)["instance"] or "default"
    act = ACTS.get(name, 5.0)
    if act == "die":
        sys.stderr.write("memory access fault"); sys.stderr.flush(); os._exit(134)
    if act == "go":
        os._exit(3)
    if act == "hang":
        time.sleep(60)
    answer = {"errRatio": 0.25, "us": None} if act == "wrong" else {"errRatio": 0.0, "us": act}
    print(json.dumps({"error": "LaunchError: too much"} if act == "raise" else answer), flush=True)
"""


def actor(**acts: object) -> Worker:
    return Worker((sys.executable, "-c", f"ACTS = {acts!r}\n{ACTOR}"))


def tuned(todo: list[Problem], **acts: object) -> list[tune.Result]:
    with actor(**acts) as worker:
        return list(tune.tune(todo, worker, seconds=3.0, tried=lambda problem, candidate: None))


def test_a_wrong_instance_never_wins() -> None:
    """However fast it is."""
    (result,) = tuned([SUM], **{NAMES[2]: "wrong", NAMES[3]: 4.0})
    assert result.best is not None and result.best.name == NAMES[3]
    assert result.candidates[3].error == "25.000% of the result is wrong"
    assert result.default_microseconds == 5.0


def test_faults_and_hangs_cost_one_candidate() -> None:
    """The others are measured by a new process, and the reason is kept."""
    acts = {NAMES[1]: "die", NAMES[2]: "hang", NAMES[3]: "raise", NAMES[4]: "go", NAMES[5]: 2.0}
    (result,) = tuned([SUM], **acts)
    assert [c.error for c in result.candidates if c.error] == [
        "its process ended with 134: memory access fault",
        "it took longer than 3 s, and was ended",
        "LaunchError: too much",
        "its process ended with 3",
    ]
    assert result.best is not None and result.best.name == NAMES[5]


def test_a_worker_that_reads_no_more_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """It lives, and its end of the pipe is closed."""
    monkeypatch.setattr(process, "_END_SECONDS", 0.1)
    deaf = "import os, time; os.close(0); print('{}', flush=True); time.sleep(60)"
    with Worker((sys.executable, "-c", deaf)) as worker:
        assert worker.ask({}, 30.0) == {"error": "its process ended with -9"}


def test_no_right_instance_is_no_winner() -> None:
    (result,) = tuned([SUM], **dict.fromkeys(["default", *NAMES], "wrong"))
    assert result.best is None


@example(times=[1.01, 1.0, *[5.0] * (len(NAMES) - 2)])
@given(times=st.lists(st.floats(1, 100), min_size=len(NAMES), max_size=len(NAMES)))
def test_the_best_is_the_first_within_two_percent(times: list[float]) -> None:
    """So that noise does not move a shape from what the operation does by itself."""
    found = (None, *families.instances("sum", "f32")[1:])
    candidates = [tune.Candidate(i, us, 0.0, None) for i, us in zip(found, times, strict=True)]
    best = tune.Result(SUM, tuple(candidates)).best
    assert best is not None and best.microseconds is not None
    assert best.microseconds <= 1.02 * min(times)
    assert all(us > 1.02 * min(times) for us in times[: candidates.index(best)])


def test_tables_are_continued(tmp_path: Path) -> None:
    """A row has the columns of tuned tables; what has one is not measured again, and other files are refused."""
    path, info = tmp_path / "new" / "sum.csv", rk.Device(DEVICE).info
    (result,) = tuned([SUM], **{NAMES[4]: 2.0})
    assert tune.already_tuned(path) == set()
    tune.append(path, result, info)
    tune.append(path, tune.Result(problems.make("sum", dtype="f32", m=6, k=70), result.candidates), info)
    header, row, _ = path.read_text().splitlines()
    assert header == "gfx,cu_num,M,N,K,dtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio"
    assert row == f"gfx942,304,5,1,70,f32,4,0,2.000,{NAMES[4]},0.000175,0.7,0"
    assert tune.already_tuned(path) == {("gfx942", 304, 5, 1, 70, "f32"), ("gfx942", 304, 6, 1, 70, "f32")}
    assert tune.key(SUM, info) in tune.already_tuned(path)
    tune.append_candidates(tmp_path / "profile.csv", result, info)
    assert len((tmp_path / "profile.csv").read_text().splitlines()) == 2 + len(NAMES)
    with pytest.raises(ConfigError, match=r"profile.csv has other columns than gfx, cu_num"):
        tune.already_tuned(tmp_path / "profile.csv")


@pytest.mark.parametrize(
    ("came", "wanted", "ratio"),
    [([1.0, 2.0], [1, 2], 0), ([1.0, np.nan], [1, 2], 0.5), ([1.0, 2.1], [1, 2], 0.5), ([1.0], [1, 2], 1)],
)
@pytest.mark.parametrize("tolerance", [0.0, 1e-3])
def test_error_ratio_counts_wrong_elements(
    came: list[float], wanted: list[float], ratio: float, tolerance: float
) -> None:
    """A NaN is wrong, and so is another shape."""
    answer = np.array(wanted, np.float64)
    assert error_ratio(np.array(came, np.float32), answer, np.abs(answer), tolerance) == ratio


def test_error_ratio_within_tolerance() -> None:
    """Distances are relative to the scale; without tolerance the answer rounded once is wanted."""
    came, answer = np.array([1.001, 2.0], np.float32), np.array([1.0, 2.0])
    assert error_ratio(came, answer, answer, 1e-2) == 0
    assert error_ratio(np.array([0.1], np.float32), np.array([0.1]), answer[:1], 0.0) == 0


SMALL = {
    "matmul": {"m": 3, "n": 7, "k": 20},
    "mat_vec": {"m": 2, "n": 5, "k": 256},
    "conv2d": {"b": 2, "c": 4, "h": 9, "w": 7, "o": 16, "kh": 3, "kw": 2, "stride": 2, "padding": 1, "groups": 2},
}


@pytest.mark.parametrize("op", families.tunables())
def test_answers_of_problems(op: str) -> None:
    """Each operation's result on a device is right by the problem's own answer, and one changed element is not."""
    for dtype in [t for t in ("f32", "f16", "i32", "q4_0", "q6_k") if t in families.tunables()[op].dtypes]:
        problem = problems.make(op, dtype=dtype, **SMALL.get(op, {"m": 4, "k": 37}))
        run, wanted, scale = problem.prepare(rk.Device(DEVICE))
        came = run().numpy()
        assert error_ratio(came, wanted, scale, problem.tolerance) == 0
        changed = came.copy()
        changed.flat[1] = 1 - came.flat[1] if came.dtype == bool else came.flat[1] + 1
        assert error_ratio(changed, wanted, scale, problem.tolerance) == 1 / came.size
        assert problem.operations > 0 and problem.nbytes > 0 and min(problem.key) > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("M,N\n1,2\n", "matmul: s.csv has no column K; it takes M, N, K and may have dtype"),
        ("M,N,K,X\n1,2,3,4\n", "has 1 columns that are unknown"),
        ("M,N,K\n1,2,0\n", "line 2: k 0 is no size"),
        ("M,N,K\n1,2,x\n", "line 2: k x is no size"),
        ("M,N,K\n1,2,\n", "line 2: K is empty"),
        ("M,N,K,dtype\n1,2,3,f8\n", "line 2: dtype f8; there are f16, bf16, f32"),
    ],
)
def test_mistakes_in_shapes(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(ConfigError, match=message):
        problems.read("matmul", tmp_path / "s.csv")
    with pytest.raises(ConfigError, match="'softmax' is no operation with instances; there are sum, "):
        problems.read("softmax", tmp_path / "s.csv")


def test_shapes_of_convolutions(tmp_path: Path) -> None:
    """Columns that may be missing have their usual values; a problem that comes twice is one."""
    (tmp_path / "s.csv").write_text("B,C,H,W,O,KH,KW,padding,dtype\n2,3,8,9,4,3,3,1,f16\n2,3,8,9,4,3,3,1,f16\n")
    (found,) = problems.read("conv2d", tmp_path / "s.csv")
    assert found.key == (4, 2 * 8 * 9, 27)
    assert found.dtype == "f16"
    sizes = {"b": 2, "c": 6, "h": 8, "w": 9, "o": 4, "kh": 3, "kw": 3}
    assert problems.make("conv2d", dtype="f32", **sizes, groups=2).key == (4, 2 * 6 * 7, 27)


def test_the_summary_says_how_much_faster() -> None:
    """The default's time over the best one's."""
    (result,) = tuned([SUM], **{NAMES[3]: 2.5})
    assert list(map(str, tune_command._cells(result))) == ["5", "1", "70", "f32", "5.0", "2.5", "2.00×", NAMES[3]]


def test_the_command_tunes_and_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an emulator only when told to; into the table that operations read; a second run measures nothing."""
    monkeypatch.setenv("ROCMKERN_CONFIG", str(tmp_path))
    (tmp_path / "s.csv").write_text("M,K\n2,40\n")
    words = ["tune", "sum", "--shapes", str(tmp_path / "s.csv"), "--device", DEVICE]
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code == 2 and "no GPU, and its times say nothing of one" in refused.output
    words += ["--emulator", "--warmup", "0", "--iterations", "1", "--profile", str(tmp_path / "all.csv")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert "1 of 1 shapes tuned" in done.output
    (row,) = csv.DictReader((tmp_path / "tuned" / "sum.csv").read_text().splitlines())
    assert (row["gfx"], row["M"], row["N"], row["K"], row["errRatio"]) == ("gfx942", "2", "1", "40", "0")
    assert row["kernelName"] in NAMES and float(row["us"]) > 0
    assert "every shape has its row" in CliRunner().invoke(main, words).output
