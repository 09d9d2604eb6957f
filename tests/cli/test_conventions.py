"""What all commands share: JSON, interruption, narrow terminals, completion."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from rocmkern import cli
from rocmkern.cli import info, output
from rocmkern.targets import TARGETS

STARTS_PROGRAMS = {"hipcc", "run", "run-hip"}  # whose output is the program's
KERNEL = '#include <hip/hip_runtime.h>\nextern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n'


def leaves(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        return [(path, command)]
    context = click.Context(command)
    inner = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return [leaf for name, one in inner.items() if one is not None for leaf in leaves(one, f"{path} {name}".strip())]


@pytest.mark.parametrize(("name", "command"), leaves(cli.main, ""), ids=lambda value: str(value))
def test_every_command_can_print_json(name: str, command: click.Command) -> None:
    """Except those that hand over to a program."""
    has_json = any("--json" in parameter.opts for parameter in command.params)
    assert has_json != (name in STARTS_PROGRAMS)


def document(*words: object, code: int = 0) -> object:
    done = CliRunner().invoke(cli.main, [*map(str, words), "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def test_files_that_were_written_are_told(tmp_path: Path) -> None:
    """compile and build FILES tell each file with its size, extract those of a bundle."""
    (tmp_path / "k.hip").write_text(KERNEL)
    for command in (("compile", tmp_path / "k.hip", "-o", tmp_path), ("build", tmp_path / "k.hip", "--out", tmp_path)):
        (row,) = document(*command, "--target", "gfx942")  # type: ignore[misc]  # a list
        assert row["bytes"] == (tmp_path / "gfx942" / "k.hsaco").stat().st_size and row["target"] == "gfx942"
    rows = document("extract", "affine", "--target", "gfx942", "--out", tmp_path / "plain")
    assert rows == [{"file": str(tmp_path / "plain/gfx942/affine.hsaco"), "target": "gfx942",
                     "bytes": (tmp_path / "plain/gfx942/affine.hsaco").stat().st_size}]  # fmt: skip


def test_findings_in_sources_are_told(tmp_path: Path) -> None:
    """lint-waves has file, line and rule; hipify the converted text, without writing it."""
    source = tmp_path / "k.cu"
    source.write_text("#include <cuda_runtime.h>\n__global__ void k(int *x) { *x = __shfl_sync(0xffffffff, *x, 0); }\n")
    (first, *_) = document("lint-waves", source, code=1)  # type: ignore[misc]  # a list
    assert (first["file"], first["line"]) == (str(source), 2) and first["reason"]
    (converted,) = document("hipify", source)  # type: ignore[misc]  # a list
    assert "hip/hip_runtime.h" in converted["text"] and converted["unknown"] == []
    assert "cuda_runtime.h" in source.read_text()


def test_interruption_has_the_shells_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """130, and a word on stderr in place of a traceback."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(info.drivers, "present", interrupt)
    done = CliRunner().invoke(cli.main, ["info"])
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_names_stay_whole_on_a_narrow_terminal() -> None:
    """Devices' names and headings are not parted where other columns can give way."""
    rows = [(f"emulator:{name}", "a description of several words", 64) for name in TARGETS]
    out = Console(width=46, file=io.StringIO())
    out.print(output.table("", ("device", "is", "memory"), rows))
    shown = out.file.getvalue()  # type: ignore[attr-defined]  # StringIO
    assert all(f"emulator:{name}" in shown for name in TARGETS) and "memory" in shown


def test_a_pipe_gets_no_colours() -> None:
    """Even where the environment says that the terminal has them."""
    command = [sys.executable, "-m", "rocmkern", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TERM": "xterm"})
    assert "system" in done.stdout and "\x1b" not in done.stdout + done.stderr


def test_commands_are_completed() -> None:
    """click asks the group for names that begin so."""
    from click.shell_completion import ShellComplete

    found = ShellComplete(cli.main, {}, "rocmkern", "_ROCMKERN_COMPLETE").get_completions([], "do")
    assert [item.value for item in found] == ["doctor"]
