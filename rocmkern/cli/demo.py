"""`rocmkern demo`: sentence embeddings on real weights, checked against NumPy."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from attrs import asdict, frozen
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from rocmkern.cli.language import loaded, printed, told
from rocmkern.errors import ModelNotFound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import rocmkern as rk
    from rocmkern.models.weights import Batch

SENTENCES = (
    "A man is playing guitar",
    "Someone strums an instrument",
    "The cat sits outside in the garden",
    "A kitten rests on the lawn",
    "Shares fell sharply on Monday",
    "The stock market had a bad day",
)
QUESTION = "What is the opposite of hot?"
ANSWER_TOKENS = 7  # the first sentence
CONTEXT = 512
# the largest difference from float64, relative to the largest component of a unit vector
BOUNDS = {"float32": 1e-5, "float16": 2e-2, "bfloat16": 1e-1}
COSINES = {"q8_0": 0.999, "q4_k_m": 0.98, "q4_k": 0.96}


@frozen
class Check:
    """One model variant against the float64 reference."""

    weights: str
    seconds: float
    largest_difference: float
    smallest_cosine: float
    wanted: str
    passed: bool


@click.command()
@click.option("--text", "texts", multiple=True, help="A sentence to embed; may be given several times.")
@click.option(
    "--file", "path", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="One sentence a line."
)
@click.option("--device", "device_name", help="hip:0, emulator:gfx942, …; default: the first GPU, else the emulator.")
@click.option(
    "--dtype", type=click.Choice(list(BOUNDS)), default="float32", show_default=True, help="Weights and activations."
)
@click.option(
    "--quantized/--no-quantized", default=True, show_default=True, help="Also run q8_0, q4_k_m and q4_k weights."
)
@click.option(
    "--question",
    default=QUESTION,
    show_default=True,
    help="For SmolLM2, where it is there; empty: none.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def demo(
    texts: tuple[str, ...],
    path: Path | None,
    device_name: str | None,
    dtype: str,
    quantized: bool,
    question: str,
    as_json: bool,
) -> None:
    """Embed sentences with all-MiniLM-L6-v2 on our kernels, check the result against NumPy, and ask SmolLM2 a question.

    \b
    Examples:
      rocmkern demo
      rocmkern demo --text "a red car" --text "a crimson automobile"
      rocmkern demo --device emulator:gfx90a --dtype float16 --json
    """
    import rocmkern as rk
    from rocmkern.models import reference, weights

    sentences = _sentences(texts, path)
    console = Console(stderr=as_json)
    device = rk.Device(device_name)
    model_folder = weights.folder()
    config = weights.config(model_folder)
    batch = weights.Tokenizer(model_folder, config.max_tokens)(sentences)
    expected = reference.encode(weights.arrays(model_folder), config, batch)
    variants: list[tuple[str, str | None]] = [(dtype, None)]
    if quantized:
        variants += [("float32", name) for name in COSINES]
    checks: list[Check] = []
    with Progress(console=console, transient=True) as progress:
        vectors, first, calls = _run(device, batch, *variants[0], progress)
        checks.append(_check(dtype, first, vectors, expected))
        for variant in variants[1:]:
            found, seconds, _ = _run(device, batch, *variant, progress)
            checks.append(_check(str(variant[1]), seconds, found, expected))
    similarity = vectors @ vectors.T
    if as_json:
        click.echo(json.dumps(_document(device, sentences, similarity, checks, calls)))
    else:
        _print(console, device, sentences, similarity, checks, calls)
        if question:
            _ask(console, device_name, question)
    if not all(check.passed for check in checks):
        raise click.exceptions.Exit(1)


def _sentences(texts: Sequence[str], path: Path | None) -> list[str]:
    lines = list(texts)
    if path is not None:
        lines += path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    kept = [line for line in lines if line.strip()]
    if (texts or path) and not kept:
        raise click.UsageError("no text: every line given is empty; give --text or a file with words in it")
    return kept or list(SENTENCES)


def _run(
    device: rk.Device, batch: Batch, dtype: str, quantized: str | None, progress: Progress
) -> tuple[NDArray[np.float64], float, list[rk.KernelTime]]:
    import rocmkern as rk
    from rocmkern.models.minilm import MiniLM

    label = quantized or dtype
    task = progress.add_task(f"{label}: loading", total=103)
    model = MiniLM(device=device, dtype=dtype, quantized=quantized, progress=lambda _: progress.advance(task))
    progress.update(task, description=f"{label}: encoding", total=None)
    started = time.perf_counter()
    with rk.Trace() as calls:
        vectors = model.encode_batch(batch).astype(rk.float64).numpy()
    seconds = time.perf_counter() - started
    progress.remove_task(task)
    return vectors, seconds, calls.totals()


def _ask(console: Console, device_name: str | None, question: str) -> None:
    """Has SmolLM2 answer, where it is installed."""
    from rocmkern.models import smollm2

    try:
        file = smollm2.path()
    except ModelNotFound as missing:
        console.print(f"no question is asked: {missing}", style="dim", markup=False)
        return
    model = loaded(file, device_name, CONTEXT)
    console.print(f"\n[bold]{escape(question)}[/]  ({model.name})")
    messages = [{"role": "user", "content": question}]
    made = printed(model.stream(messages, temperature=0, max_tokens=ANSWER_TOKENS))
    console.print(told(made), style="dim")


def _check(name: str, seconds: float, found: NDArray[np.float64], expected: NDArray[np.float64]) -> Check:
    difference = float(np.abs(found - expected).max() / np.abs(expected).max())
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    cosine = float(((found * expected).sum(1) / lengths).min())
    if name in BOUNDS:
        return Check(name, seconds, difference, cosine, f"difference ≤ {BOUNDS[name]:g}", difference <= BOUNDS[name])
    return Check(name, seconds, difference, cosine, f"cosine ≥ {COSINES[name]:g}", cosine >= COSINES[name])


def _document(
    device: rk.Device,
    sentences: list[str],
    similarity: NDArray[np.float64],
    checks: list[Check],
    calls: list[rk.KernelTime],
) -> dict[str, Any]:
    return {
        "device": device.info.name,
        "arch": device.info.arch,
        "target": device.info.target,
        "sentences": sentences,
        "similarity": similarity.round(6).tolist(),
        "checks": [asdict(check) for check in checks],
        "kernels": [asdict(call) for call in calls],
    }


def _print(
    console: Console,
    device: rk.Device,
    sentences: list[str],
    similarity: NDArray[np.float64],
    checks: list[Check],
    calls: list[rk.KernelTime],
) -> None:
    console.print(
        f"device [bold]{device.info.name}[/] ({device.info.marketing}), code objects for {device.info.target}\n"
    )
    table = Table(title="cosine similarity")
    table.add_column("sentence")
    for i in range(len(sentences)):
        table.add_column(str(i + 1), justify="right")
    for i, sentence in enumerate(sentences):
        table.add_row(f"{i + 1} {sentence}", *(f"{value:.3f}" for value in similarity[i]))
    console.print(table)

    table = Table(title="kernels")
    table.add_column("kernel")
    table.add_column("launches", justify="right")
    table.add_column("ms", justify="right")
    for call in calls:
        table.add_row(call.kernel, str(call.launches), f"{call.milliseconds:.1f}")
    table.add_section()
    table.add_row("total", str(sum(c.launches for c in calls)), f"{sum(c.milliseconds for c in calls):.1f}")
    console.print(table)

    table = Table(title="against NumPy in float64")
    table.add_column("weights")
    for heading in ("seconds", "largest difference", "smallest cosine"):
        table.add_column(heading, justify="right")
    table.add_column("wanted")
    table.add_column("")
    for check in checks:
        verdict = "[green]ok[/]" if check.passed else "[red]failed[/]"
        numbers = f"{check.seconds:.2f}", f"{check.largest_difference:.1e}", f"{check.smallest_cosine:.6f}"
        table.add_row(check.weights, *numbers, check.wanted, verdict)
    console.print(table)
