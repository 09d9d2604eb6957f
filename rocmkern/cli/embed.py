"""`rocmkern embed` and `rocmkern search`: sentence embeddings of a text file of any length."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rocmkern.cli.output import OutputFile, json_option, print_json
from rocmkern.errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocmkern.models.minilm import MiniLM

READ_LINES = 256
HIDDEN = 384
_text_file = click.Path(exists=True, dir_okay=False, path_type=Path)


class RowWriter:
    """A `.npy` file of float32 rows that is complete after every append, so that an interruption keeps what is done."""

    def __init__(self, path: Path, columns: int) -> None:
        self.rows = 0
        self._columns = columns
        self._file: IO[bytes] = path.open("wb")
        self._write_header()
        self._header_bytes = self._file.tell()

    def _write_header(self) -> None:
        self._file.seek(0)
        description = {"descr": "<f4", "fortran_order": False, "shape": (self.rows, self._columns)}
        np.lib.format.write_array_header_1_0(self._file, description)

    def append(self, rows: NDArray[np.float32]) -> None:
        self._file.seek(0, 2)
        self._file.write(np.ascontiguousarray(rows, "<f4").tobytes())
        self.rows += len(rows)
        self._write_header()
        if self._file.tell() != self._header_bytes:
            raise ShapeError(f"write vectors: {self.rows} rows do not fit the file's header; split the text file")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a text file; bytes that are not UTF-8 become U+FFFD."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for line in file:
            yield line.rstrip("\r\n")


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True)


def _model(device_name: str | None) -> MiniLM:
    import rocmkern as rk
    from rocmkern.models.minilm import MiniLM

    return MiniLM(device=rk.Device(device_name))


def _vectors(model: MiniLM, path: Path, total: int, batch: int, console: Console) -> Iterator[NDArray[np.float32]]:
    from rocmkern.models.minilm import batches

    lines = read_lines(path)
    with _progress(console) as progress:
        task = progress.add_task("lines", total=total)
        while part := list(islice(lines, READ_LINES)):
            for rows in batches(model, part, batch):
                yield rows
                progress.advance(task, len(rows))


@click.command()
@click.argument("file", type=_text_file)
@click.option("--out", type=OutputFile(), required=True, help="The .npy file to write.")
@click.option("--device", "device_name", help="hip:0, emulator:gfx942, …; default: the first GPU, else the emulator.")
@click.option("--batch", type=click.IntRange(1), default=32, show_default=True, help="Lines per forward pass.")
@json_option
def embed(file: Path, out: Path, device_name: str | None, batch: int, as_json: bool) -> None:
    """Write one unit vector (384 float32) per line of FILE to a .npy file.

    Row i belongs to line i; an empty line gives a row of zeros. Bytes that are not UTF-8 are read as U+FFFD.
    Ctrl-C keeps the rows that are done: the file is complete after every batch.

    \b
    Example:
      rocmkern embed notes.txt --out vectors.npy
    """
    console = Console(stderr=True)
    total = sum(1 for _ in read_lines(file))
    model = _model(device_name)
    writer = RowWriter(out, HIDDEN)
    try:
        for rows in _vectors(model, file, total, batch, console):
            writer.append(rows)
    except KeyboardInterrupt:
        console.print(f"interrupted: {out} holds the first {writer.rows} of {total} lines")
        raise click.exceptions.Exit(130) from None
    finally:
        writer.close()
    console.print(f"{out}: {writer.rows} rows of {HIDDEN} float32")
    if as_json:
        print_json({"file": str(out), "rows": writer.rows, "columns": HIDDEN})


@click.command()
@click.argument("file", type=_text_file)
@click.argument("query")
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, help="How many lines to show.")
@click.option("--vectors", type=_text_file, help="What `rocmkern embed` wrote for FILE; else FILE is embedded now.")
@click.option("--device", "device_name", help="hip:0, emulator:gfx942, …; default: the first GPU, else the emulator.")
@click.option("--batch", type=click.IntRange(1), default=32, show_default=True, help="Lines per forward pass.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def search(
    file: Path, query: str, top: int, vectors: Path | None, device_name: str | None, batch: int, as_json: bool
) -> None:
    """Show the lines of FILE whose meaning is nearest to QUERY.

    \b
    Example:
      rocmkern search notes.txt "what did we decide about the budget"
    """
    if not query.strip():
        raise click.UsageError("QUERY is empty; say what to look for")
    console = Console(stderr=as_json)
    lines = list(read_lines(file))
    table = None if vectors is None else _table(vectors)
    if table is not None and table.shape != (len(lines), HIDDEN):
        want = (len(lines), HIDDEN)
        raise ShapeError(f"search: {vectors} has shape {table.shape}, {file} wants {want}; run `rocmkern embed` again")
    model = _model(device_name)
    wanted = model.encode([query]).numpy()[0]
    if table is not None:
        scores = table @ wanted
    else:
        parts = [rows @ wanted for rows in _vectors(model, file, len(lines), batch, console)]
        scores = np.concatenate(parts) if parts else np.zeros(0, np.float32)
    order = [int(i) for i in np.argsort(-scores, kind="stable") if lines[i].strip()][:top]
    if as_json:
        click.echo(json.dumps([{"line": i + 1, "score": float(scores[i]), "text": lines[i]} for i in order]))
        return
    shown = Table()
    for heading in ("score", "line", "text"):
        shown.add_column(heading, justify="left" if heading == "text" else "right")
    for i in order:
        shown.add_row(f"{scores[i]:.3f}", str(i + 1), lines[i])
    console.print(shown)


def _table(vectors: Path) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(np.load(vectors, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError):  # NumPy's words are about pickles
        raise ShapeError(f"search: {vectors} is no .npy file; write it with `rocmkern embed`") from None
