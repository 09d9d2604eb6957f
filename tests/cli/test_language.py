"""The commands for language models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from click.testing import CliRunner

from rocmkern.cli import main
from rocmkern.models import load
from tests.models import small_files

DEVICE = ("--device", "emulator:gfx942")
GREEDY = ("-n", "4", "--temperature", "0")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model's file."""
    return small_files.small(tmp_path_factory.mktemp("cli") / "small.gguf")


def run(*words: object, typed: str = "", code: int = 0) -> Any:
    done = CliRunner().invoke(main, [*map(str, words)], input=typed)
    assert done.exit_code == code, done.output
    return done


def test_texts_are_continued(path: Path) -> None:
    """From the command line or the input; what it took is told beside it."""
    expected = load(path, DEVICE[1]).generate("hello", max_tokens=4, temperature=0)
    found = run("generate", path, "hello", *GREEDY, *DEVICE)
    assert found.stdout == f"hello{expected.text}\n"
    assert "1 tokens read in" in found.stderr and "4 written" in found.stderr and "tokens/s" in found.stderr
    told = json.loads(run("generate", path, "--json", *GREEDY, *DEVICE, typed="hello").stdout)
    assert (told["text"], told["tokens"], told["finish"]) == (expected.text, list(expected.tokens), "length")


def test_answers_fit_the_schema_of_a_file(path: Path, tmp_path: Path) -> None:
    """Which is JSON."""
    (tmp_path / "s.json").write_text('{"enum": [7]}')
    told = json.loads(run("generate", path, "hello", "--schema", tmp_path / "s.json", "--json", *DEVICE).stdout)
    assert (told["text"], told["finish"]) == ("7", "stop")


def test_a_line_is_a_message(path: Path) -> None:
    """Until an empty one; a conversation that fills the context begins anew."""
    messages = json.loads(run("chat", path, "--json", "--system", "w", *GREEDY, *DEVICE, typed="h\n1\n\nx\n").stdout)
    roles = ["system", "user", "assistant", "user", "assistant"]
    assert [message["role"] for message in messages] == roles
    assert [messages[at]["content"] for at in (0, 1, 3)] == ["w", "h", "1"]
    model = load(path, DEVICE[1])
    assert messages[2]["content"] == model.chat(messages[:2], max_tokens=4, temperature=0).text
    assert messages[4]["content"] == model.chat(messages[:4], max_tokens=4, temperature=0).text
    found = run("chat", path, *GREEDY, *DEVICE, typed=f"{'hello' * 70}\nhello\n")
    assert "its beginning is forgotten" in found.stderr
    assert "4 written" in found.stderr


def test_perplexity_is_told(path: Path, tmp_path: Path) -> None:
    """As the model gives it."""
    (tmp_path / "t.txt").write_text("hello wow 12 " * 6)
    expected = load(path, DEVICE[1]).perplexity("hello wow 12 " * 6, chunk=16)
    found = json.loads(run("perplexity", path, tmp_path / "t.txt", "--chunk", 16, "--json", *DEVICE).stdout)
    assert found["perplexity"] == pytest.approx(expected)
    assert run("perplexity", path, tmp_path / "t.txt", "--chunk", 16, *DEVICE).stdout.startswith("perplexity ")


def test_speed_has_llama_benchs_columns(path: Path) -> None:
    """Of reading and of writing."""
    found = run("bench-model", path, "-p", 3, "-n", 2, "-r", 2, *DEVICE).stdout
    assert found.split()[:6] == ["model", "size", "params", "backend", "test", "t/s"]
    assert "pp3" in found and "tg2" in found and "±" in found
    rows = json.loads(run("bench-model", path, "-p", 0, "-n", 2, "-r", 1, "--json", *DEVICE).stdout)
    assert [row["test"] for row in rows] == ["tg2"] and rows[0]["t/s"] > 0
    assert "for a context of 64" in run("bench-model", path, *DEVICE, code=1).stderr


def test_the_server_is_this_machines_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it is told otherwise."""
    started = dict[str, Any]()
    monkeypatch.setattr(uvicorn, "run", lambda application, **options: started.update(options))
    told = json.loads(run("serve", path, "--port", 81, "--json", *DEVICE).stdout)
    assert told == {"address": "http://127.0.0.1:81/v1", "model": "small"}
    assert (started["host"], started["port"]) == ("127.0.0.1", 81)
    assert "answers at http://0.0.0.0:8080/v1" in run("serve", path, "--host", "0.0.0.0", *DEVICE).stdout
