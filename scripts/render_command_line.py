"""Render docs/command-line.md: every command with its arguments and options, from click's own objects."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import click

from rocmkern.cli import main

TARGET = Path(__file__).resolve().parents[1] / "docs" / "command-line.md"
HEAD = """\
# The command line

Rendered by `python scripts/render_command_line.py` from the commands themselves. `rocmkern COMMAND --help` prints the
same.

## What all commands share

- **Output.** Only a terminal gets colours and progress bars, and `NO_COLOR=1` turns colours off there too. In a pipe a
  table is 200 columns wide, or as wide as `COLUMNS` says.
- **`--json`** prints one document of data instead of text.
- **Ctrl-C** keeps what is finished, such as the rows of `bench` and the vectors of `embed`.
- **Wrong names** are answered with the nearest right ones.

## Exit codes

- **0**: done, and nothing was found wrong.
- **1**: something is wrong: an error, a finding of `check`, `lint-code`, `lint-waves` or `doctor`, a result of `demo`
  outside its bound, a program that failed.
- **2**: the command line is wrong: no such command, option or file.
- **130**: Ctrl-C.

`run-hip` and `hipcc` end with the exit code of the program that they start.

## Completion

The shell completes commands, options and file names once it is told to. For bash, in `~/.bashrc`:

```sh
eval "$(_ROCMKERN_COMPLETE=bash_source rocmkern)"
```

For zsh, in `~/.zshrc`, the same with `zsh_source`; for fish, in `~/.config/fish/completions/rocmkern.fish`:

```sh
_ROCMKERN_COMPLETE=fish_source rocmkern | source
```
"""


def cell(text: str) -> str:
    """Words of help on one line, without what Markdown would read as markup outside of code."""
    parts = " ".join(text.split()).split("`")
    parts[::2] = [re.sub(r"([|*<>\[\]_])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def described(help_text: str) -> str:
    """A command's help: paragraphs as they are, examples behind `\\b` as code."""
    parts = []
    for paragraph in help_text.split("\n\n"):
        if paragraph.lstrip().startswith("\b"):
            head, _, code = paragraph.replace("\b\n", "").strip().partition("\n")
            parts.append(f"{cell(head)}\n\n```sh\n{dedent(code)}\n```")
        else:
            parts.append(cell(paragraph))
    return "\n\n".join(parts)


def options(command: click.Command, context: click.Context) -> list[str]:
    records = [p.get_help_record(context) for p in command.params if isinstance(p, click.Option)]
    rows = [f"| `{names.replace('|', chr(92) + '|')}` | {cell(text)} |" for names, text in filter(None, records)]
    return ["| option | |\n|---|---|\n" + "\n".join(rows)] if rows else []


def entry(path: str, command: click.Command, level: int) -> list[str]:
    context = click.Context(command, info_name=path)
    usage = " ".join(context.command.collect_usage_pieces(context))
    parts = [f"{'#' * level} {path.removeprefix('rocmkern ')}", f"`{path} {usage}`", described(command.help or "")]
    parts += options(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                parts += entry(f"{path} {name}", inner, level + 1)
    return parts


def render() -> str:
    context = click.Context(main, info_name="rocmkern")
    parts = [HEAD.rstrip()]
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        parts += entry(f"rocmkern {name}", command, 2)
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(render(), "utf-8")
