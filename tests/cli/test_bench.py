"""`rocmkern bench`: rows, ratios, the picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from rocmkern.cli import main


def test_every_family_is_timed_and_drawn(tmp_path: Path) -> None:
    """Each row's ratio is ours over NumPy's; --plot writes a PNG."""
    picture = tmp_path / "bench.png"
    words = ["bench", "--size", "4096", "--seconds", "0", "--json", "--plot", str(picture)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    families = {row["family"] for row in found["rows"]}
    assert families >= {
        "affine",
        "fill",
        "binary",
        "unary",
        "ternary",
        "cast",
        "indexing",
        "reduce",
        "sort",
        "conv",
        "quantized",
    }
    for row in found["rows"]:
        assert row["ours"] > 0
        assert row["ratio"] == pytest.approx(row["ours"] / row["peers"]["numpy"])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_one_family_alone() -> None:
    """--family leaves the others out."""
    done = CliRunner().invoke(main, ["bench", "--size", "1024", "--seconds", "0", "--family", "cast", "--json"])
    assert [row["operation"] for row in json.loads(done.stdout)["rows"]] == ["f32 to f16"]


def test_unknown_family_names_the_known() -> None:
    """A wrong family is a user's mistake."""
    done = CliRunner().invoke(main, ["bench", "--family", "sin"])
    assert done.exit_code == 2
    assert "no benchmark for sin; there are affine, fill" in done.output
