"""What the README and the docs show is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TUTORIALS = ROOT / "examples" / "tutorials"
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.M | re.S)


def blocks(page: Path, language: str) -> list[str]:
    return [body for name, body in FENCE.findall(page.read_text()) if name == language]


def environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_snippets_run(page: Path, tmp_path: Path) -> None:
    """The Python blocks of a page run in order, in one session, in an empty folder."""
    script = tmp_path / "snippets.py"
    script.write_text("\n".join(blocks(page, "python")))
    done = run([sys.executable, str(script)], tmp_path)
    assert done.returncode == 0, done.stderr


def commands() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for block in blocks(page, "console"):
            found += [(page.name, line[2:]) for line in block.splitlines() if line.startswith("$ ")]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize(("page", "command"), [c for c in commands() if not c[1].startswith(("make ", "pip ", "git "))])
def test_console_commands_exit_0(page: str, command: str, tmp_path: Path) -> None:
    """Every command of a console block that is not set-up exits 0 (`make run` and `make test` are what CI runs)."""
    (tmp_path / "notes.txt").write_text("the budget stays as it is\n\nwe meet again on Monday\nthe cat sleeps\n")
    for name in ("kernels_hip", "hsaco", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = run(["bash", "-c", re.sub(r"^rocmkern", "python -m rocmkern", command)], tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.strip() or done.stderr.strip()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.name)
def test_examples_run(example: Path, tmp_path: Path) -> None:
    """Every example runs on the emulator and prints something."""
    done = run([sys.executable, str(example)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize(
    "name", ["tensors", "own_kernel", "cost", pytest.param("language_model", marks=pytest.mark.slow)]
)
def test_programs_of_tutorials_draw_their_picture(name: str, tmp_path: Path) -> None:
    """Each compares its results itself and writes a PNG under its name."""
    done = run([sys.executable, str(TUTORIALS / f"{name}.py")], tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_bug_of_the_tutorial_is_found(tmp_path: Path) -> None:
    """The page's words: the race of lines 8 and 10, told with exit code 1; with the barrier it is gone."""
    for name in ("find_the_bug.py", "find_the_bug.hip"):
        (tmp_path / name).write_text((TUTORIALS / name).read_text())
    command = [sys.executable, "-m", "rocmkern", "check", "find_the_bug.py"]
    done = run(command, tmp_path)
    assert done.returncode == 1 and "race, write after read" in done.stdout
    assert "find_the_bug.hip:8 " in done.stdout and "find_the_bug.hip:10 " in done.stdout
    source = tmp_path / "find_the_bug.hip"
    source.write_text(source.read_text().replace("square(x[t]);\n", "square(x[t]);\n    __syncthreads();\n"))
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stdout
    assert "0 errors in 2 launches" in done.stdout or "no errors" in done.stdout


def test_the_cuda_program_of_the_tutorial_runs_on_both_waves(tmp_path: Path) -> None:
    """The script converts, lints, builds and runs it; the program itself compares its sum."""
    (tmp_path / "rocmkern").write_text(f'#!/bin/sh\nexec {sys.executable} -m rocmkern "$@"\n')
    (tmp_path / "rocmkern").chmod(0o755)
    command = f'PATH="{tmp_path}:$PATH" sh "{TUTORIALS / "from_cuda.sh"}"'
    done = run(["bash", "-c", command], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("sum 499500, expected 499500") == 2
    assert "write `warpSize / 2`" in done.stdout
