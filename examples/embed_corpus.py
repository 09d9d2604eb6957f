"""Embeds a text file's lines with MiniLM on several devices by dask; goes on after a worker dies or the job is ended.

    python examples/embed_corpus.py [FILE] [--out FOLDER] [--devices cuda:0 cuda:1] [--batch 32] [--kill]

Each batch of lines is a task, and its vectors a file of their own in the folder, so a job that is started again does
what is left. `--kill` ends one worker in the middle. Without a file it embeds its own sentences and compares with one
device.
"""

from __future__ import annotations

import argparse
import functools
import os
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster, as_completed

from rocmkern.dask.workers import WorkerDevices
from rocmkern.models.minilm import MiniLM, batches

SENTENCES = [
    f"{who} {does} {what}"
    for who in ("A man", "Someone", "The cat", "My sister")
    for does, what in (("plays", "the guitar"), ("sees", "a red car"), ("sleeps in", "the garden"))
]


@functools.cache
def model() -> MiniLM:
    """A worker's own, on its device."""
    return MiniLM()


def embedded(lines: list[str]) -> Any:
    """Unit vectors (lines, 384) float32."""
    (vectors,) = batches(model(), lines, len(lines))
    return vectors


def parts(lines: Sequence[str], batch: int, folder: Path) -> dict[Path, list[str]]:
    """The batches that have no file yet, by the file's name."""
    found = {folder / f"{at:09}.npy": list(lines[at : at + batch]) for at in range(0, len(lines), batch)}
    return {path: some for path, some in found.items() if not path.exists()}


def write(path: Path, vectors: Any) -> None:
    """A whole file or none, whenever the job ends."""
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        np.save(file, vectors)
    unfinished.replace(path)


def embed(client: Client, lines: Sequence[str], batch: int, folder: Path, kill: bool) -> None:
    left = parts(lines, batch, folder)
    futures = dict(zip(client.map(embedded, left.values(), pure=False), left, strict=True))
    start, done = time.perf_counter(), 0
    for number, (future, vectors) in enumerate(as_completed(futures, with_results=True)):
        if kill and number == 0:
            os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
        write(futures[future], vectors)
        done += len(vectors)
        rate = done / (time.perf_counter() - start)
        print(f"{number + 1} of {len(left)} batches, {rate:.1f} lines a second", flush=True)
        future.release()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, help="a folder; default: a temporary one")
    parser.add_argument("--devices", nargs="+", default=["emulator:gfx942", "emulator:gfx942:1"])
    parser.add_argument("--batch", type=int, default=3)
    parser.add_argument("--kill", action="store_true", help="one worker, after the first batch")
    options = parser.parse_args()
    lines = options.file.read_text("utf-8").splitlines() if options.file else SENTENCES
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.out or Path(temporary, "vectors")
        folder.mkdir(parents=True, exist_ok=True)
        cluster = LocalCluster(
            n_workers=len(options.devices), threads_per_worker=1, dashboard_address=None, local_directory=temporary
        )
        with cluster, Client(cluster) as client:
            client.register_plugin(WorkerDevices(options.devices))
            client.run(embedded, lines[: options.batch])  # every worker has its model, before the rate counts
            embed(client, lines, options.batch, folder, options.kill)
        vectors = np.concatenate([np.load(path) for path in sorted(folder.glob("*.npy"))])
    print(f"{len(vectors)} vectors of {len(lines)} lines on {', '.join(options.devices)}")
    assert len(vectors) == len(lines)
    if options.file is None:
        one = MiniLM(device=None)
        np.testing.assert_array_equal(vectors, np.concatenate(list(batches(one, lines, options.batch))))
        print("the same as one device's, bit for bit")


if __name__ == "__main__":
    main()
