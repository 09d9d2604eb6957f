"""`rocmkern embed` and `rocmkern search`: files as people have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from rocmkern.cli import main
from rocmkern.cli.embed import RowWriter, read_lines
from rocmkern.models import minilm

TEXT = b"\xef\xbb\xbfThe budget stays as it is\r\n\nWe meet on Monday \xff\xfe\nThe cat sleeps in the sun\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_bytes(TEXT)
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def test_lines_survive_marks_and_bad_bytes(notes: Path) -> None:
    """A byte order mark goes, line ends go, bytes that are not UTF-8 become U+FFFD, empty lines stay."""
    expected = ["The budget stays as it is", "", "We meet on Monday \ufffd\ufffd", "The cat sleeps in the sun"]
    assert list(read_lines(notes)) == expected


def test_each_line_has_its_row(notes: Path, tmp_path: Path) -> None:
    """Row i is line i's unit vector; an empty line's is zero; batches don't change a vector."""
    out = tmp_path / "v.npy"
    done = run("embed", notes, "--out", out, "--batch", 2)
    assert done.exit_code == 0, done.output
    vectors = np.load(out)
    assert vectors.shape == (4, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 1], atol=1e-6)
    alone = minilm.MiniLM().encode(["The cat sleeps in the sun"]).numpy()[0]
    assert np.allclose(vectors[3], alone, atol=1e-6)


def test_empty_file_gives_no_rows(tmp_path: Path) -> None:
    """A file without lines is embedded to an array without rows."""
    (tmp_path / "empty.txt").write_text("")
    assert run("embed", tmp_path / "empty.txt", "--out", tmp_path / "v.npy").exit_code == 0
    assert np.load(tmp_path / "v.npy").shape == (0, 384)


def test_interruption_keeps_what_is_done(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after the first batch leaves a file of its rows, and exits with 130."""
    whole = minilm.batches

    def interrupted(*args: Any) -> Iterator[np.ndarray]:
        yield next(iter(whole(*args)))
        raise KeyboardInterrupt

    monkeypatch.setattr(minilm, "batches", interrupted)
    done = run("embed", notes, "--out", tmp_path / "v.npy", "--batch", 1)
    assert done.exit_code == 130
    assert "holds the first 1 of 4 lines" in " ".join(done.output.split())  # lines break where the path is long
    assert np.load(tmp_path / "v.npy").shape == (1, 384)


def test_file_is_whole_after_every_append(tmp_path: Path) -> None:
    """A reader sees all rows written so far, through growing header digits."""
    writer = RowWriter(tmp_path / "v.npy", 3)
    rows = np.arange(36, dtype=np.float32).reshape(12, 3)
    for i in range(12):
        writer.append(rows[i : i + 1])
        assert np.array_equal(np.load(tmp_path / "v.npy"), rows[: i + 1])
    writer.close()


def test_search_finds_by_meaning(notes: Path, tmp_path: Path) -> None:
    """The nearest line is the one that means it; with stored vectors the answer is the same."""
    found = run("search", notes, "money", "--top", 1, "--json")
    assert found.exit_code == 0, found.output
    best = json.loads(found.stdout)
    assert [(row["line"], row["text"]) for row in best] == [(1, "The budget stays as it is")]
    assert run("embed", notes, "--out", tmp_path / "v.npy").exit_code == 0
    again = json.loads(run("search", notes, "money", "--top", 1, "--json", "--vectors", tmp_path / "v.npy").stdout)
    assert again[0]["score"] == pytest.approx(best[0]["score"], abs=1e-6)


def test_vectors_of_another_file_are_refused(notes: Path, tmp_path: Path) -> None:
    """Stored vectors must have one row per line."""
    np.save(tmp_path / "v.npy", np.zeros((3, 384), np.float32))
    done = run("search", notes, "money", "--vectors", tmp_path / "v.npy")
    assert done.exit_code == 1
    assert "has shape (3, 384)" in done.output
    assert "run `rocmkern embed` again" in done.output


@pytest.mark.parametrize("content", [b"", b"no vectors"])
def test_vectors_that_are_no_npy_file_are_refused(notes: Path, tmp_path: Path, content: bytes) -> None:
    """An empty file and a text are named, with what makes a right one."""
    (tmp_path / "vectors.npy").write_bytes(content)
    done = run("search", notes, "money", "--vectors", tmp_path / "vectors.npy")
    assert done.exit_code == 1
    assert "is no .npy file; write it with `rocmkern embed`" in done.output


def test_empty_query_is_refused(notes: Path) -> None:
    """There is nothing to search for in white space."""
    done = run("search", notes, "  ")
    assert done.exit_code == 2
    assert "QUERY is empty" in done.output
