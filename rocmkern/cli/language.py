"""`rocmkern generate`, `chat`, `perplexity` and `bench-model`: language models in GGUF files."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from rocmkern.cli.output import console, json_option, print_json, size, table
from rocmkern.errors import ContextError

if TYPE_CHECKING:
    from rocmkern.models import Generation, LanguageModel, Session, Stream

file_argument = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
device_option = click.option(
    "--device", "device_name", help="hip:0, emulator:gfx942, …; default: the first GPU, else the emulator."
)
context_option = click.option(
    "--context", type=click.IntRange(1), default=4096, show_default=True, help="Tokens of a text."
)
kv_option = click.option(
    "--kv", type=click.Choice(["f16", "f32"]), default="f16", show_default=True, help="Keys and values that are kept."
)


_writing: Final[tuple[Callable[[Callable[..., None]], Callable[..., None]], ...]] = (
    click.option("-n", "--max-tokens", type=click.IntRange(0), default=256, show_default=True),
    click.option("--temperature", type=float, default=0.8, show_default=True, help="0: always the likeliest."),
    click.option("--top-k", type=int, default=40, show_default=True),
    click.option("--top-p", type=float, default=0.95, show_default=True),
    click.option("--min-p", type=float, default=0.05, show_default=True),
    click.option("--repeat-penalty", type=float, default=1.0, show_default=True),
    click.option("--seed", type=int, help="Makes the same choices again."),
    click.option("--stop", multiple=True, help="A text that ends the answer; may be given several times."),
    click.option(
        "--schema", type=click.File("r", encoding="utf-8"), help="A file with a JSON schema that the answer fits."
    ),
)


def writing_options(command: Callable[..., None]) -> Callable[..., None]:
    """How tokens are chosen, and how many."""
    for option in reversed(_writing):
        command = option(command)
    return command


def loaded(file: Path, device_name: str | None, context: int, kv: str = "f16") -> LanguageModel:
    """The model, its progress shown on the error stream."""
    from rocmkern.models import load

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(f"loading {file.name}", total=None)

        def progress(what: str, done: int, count: int) -> None:
            shown.update(task, description=f"loading {what}", completed=done, total=count)

        return load(file, device_name, context, kv, progress=progress)


def told(made: Generation) -> str:
    """What a text took."""
    before = f"{made.prompt_tokens} tokens read in {made.prompt_seconds:.2f} s"
    return f"{before}, {len(made.tokens)} written, {made.tokens_per_second:.1f} tokens/s"


def printed(stream: Stream) -> Generation:
    """What is written, as it is."""
    for piece in stream:
        click.echo(piece, nl=False)
        sys.stdout.flush()
    click.echo()
    assert stream.result is not None
    return stream.result


def _options(values: dict[str, Any]) -> dict[str, Any]:
    schema = values.pop("schema")
    return {**values, "schema": None if schema is None else schema.read()}


@click.command()
@file_argument
@click.argument("prompt", required=False)
@writing_options
@device_option
@context_option
@kv_option
@json_option
def generate(
    file: Path, prompt: str | None, device_name: str | None, context: int, kv: str, as_json: bool, **values: Any
) -> None:
    """Continue PROMPT, or what stands on the input, with the model in FILE.

    \b
    Example:
      rocmkern generate SmolLM2.gguf "The capital of France is" -n 16 --temperature 0
    """
    text = sys.stdin.read() if prompt is None else prompt
    options = _options(values)
    model = loaded(file, device_name, context, kv)
    if as_json:
        made = model.generate(text, **options)
        print_json({
            "text": made.text, "tokens": list(made.tokens), "finish": made.finish,
            "prompt_tokens": made.prompt_tokens, "tokens_per_second": made.tokens_per_second,
        })  # fmt: skip
        return
    click.echo(text, nl=False)
    click.echo(told(printed(model.stream(text, **options))), err=True)


@click.command()
@file_argument
@click.option("--system", help="What the model is told first.")
@writing_options
@device_option
@context_option
@kv_option
@json_option
def chat(
    file: Path, system: str | None, device_name: str | None, context: int, kv: str, as_json: bool, **values: Any
) -> None:
    """Talk with the model in FILE: a line is a message. An empty line, or the end of the input, ends it.

    With --json the messages are printed at the end.

    \b
    Example:
      rocmkern chat SmolLM2.gguf
    """
    options = _options(values)
    model = loaded(file, device_name, context, kv)
    click.echo(f"{model.name} on {model.device.info.name}, {model.context} tokens", err=True)
    messages = [] if system is None else [{"role": "system", "content": system}]
    for line in _lines():
        messages.append({"role": "user", "content": line})
        try:
            made = model.generate(messages, **options) if as_json else printed(model.stream(messages, **options))
        except ContextError as error:
            click.echo(f"{error}\nthe conversation is as long as the context: its beginning is forgotten", err=True)
            messages = messages[:1] if system is not None else []
            continue
        messages.append({"role": "assistant", "content": made.text})
        click.echo(told(made), err=True)
    if as_json:
        print_json(messages)


def _lines() -> Iterator[str]:
    """What the user types, until nothing."""
    while True:
        click.echo("> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line.strip():
            return
        yield line.rstrip("\n")


@click.command()
@file_argument
@click.argument("text", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--chunk", type=click.IntRange(2), default=512, show_default=True, help="Tokens that are read together.")
@device_option
@kv_option
@json_option
def perplexity(file: Path, text: Path, chunk: int, device_name: str | None, kv: str, as_json: bool) -> None:
    """Say how surprised the model in FILE is of the file TEXT, as llama.cpp counts.

    \b
    Example:
      rocmkern perplexity SmolLM2.gguf notes.txt --chunk 32
    """
    words = text.read_text(encoding="utf-8", errors="replace")
    model = loaded(file, device_name, chunk, kv)

    with _chunks() as progress:
        found = model.perplexity(words, chunk=min(chunk, model.context), progress=progress)
    if as_json:
        print_json({"perplexity": found, "chunk": chunk})
    else:
        click.echo(f"perplexity {found:.4f}")


@contextmanager
def _chunks() -> Iterator[Callable[[int, int, float], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("chunks", total=None)
        yield lambda done, count, so_far: shown.update(
            task, completed=done, total=count, description=f"perplexity {so_far:.3f}"
        )


@click.command("bench-model")
@file_argument
@click.option("-p", "--prompt", type=click.IntRange(0), default=512, show_default=True, help="Tokens to read; 0: none.")
@click.option("-n", "--tokens", type=click.IntRange(0), default=128, show_default=True, help="To write; 0: none.")
@click.option("-r", "--repetitions", type=click.IntRange(1), default=3, show_default=True)
@device_option
@kv_option
@json_option
def bench_model(
    file: Path, prompt: int, tokens: int, repetitions: int, device_name: str | None, kv: str, as_json: bool
) -> None:
    """Measure how fast the model in FILE reads and writes tokens; the columns are those of llama-bench.

    \b
    Example:
      rocmkern bench-model SmolLM2.gguf -p 16 -n 2 -r 1
    """
    model = loaded(file, device_name, max(prompt, tokens + 1, 1), kv)
    if max(prompt, tokens + 1) > model.context:
        raise ContextError(f"bench-model: {max(prompt, tokens + 1)} tokens for a context of {model.context}; use fewer")
    rows, session = [], model.session()
    for name, count, run in (("pp", prompt, _read), ("tg", tokens, _written)):
        if count:
            run(session, count)  # captures the graphs, compiles what is not yet
            rates = [count / run(session, count) for _ in range(repetitions)]
            spread = statistics.stdev(rates) if len(rates) > 1 else 0.0
            rows.append((f"{name}{count}", statistics.mean(rates), spread))
    what = model.metadata.get("general.size_label", ""), model.nbytes, model.parameters
    if as_json:
        print_json([
            {"model": model.name, "size": what[1], "params": what[2], "backend": model.device.info.name, "test": test,
             "t/s": mean, "deviation": spread}
            for test, mean, spread in rows
        ])  # fmt: skip
        return
    shown = (f"{model.config.name} {what[0]}".strip(), size(what[1]), f"{what[2] / 1e6:.2f} M", model.device.info.name)
    columns = ("model", "size", "params", "backend", "test", "t/s")
    console().print(table("", columns, [(*shown, test, f"{mean:.2f} ± {spread:.2f}") for test, mean, spread in rows]))


def _read(session: Session, count: int) -> float:
    """The seconds that reading so many tokens takes."""
    session.truncate(0)
    started = time.perf_counter()
    session.append([n % session.decoder.weights.vocabulary for n in range(count)])
    return time.perf_counter() - started


def _written(session: Session, count: int) -> float:
    """The seconds that writing so many tokens takes, behind one."""
    session.truncate(0)
    started = time.perf_counter()
    session.advance(0, count)
    return time.perf_counter() - started
