"""Decodes a llama-shaped GGUF model over several processes with a device each, and checks the text against one device.

    python examples/tensor_parallel.py [--processes 2] [--device cuda] [--format f16] [--hidden 4096 --layers 32 …]

The query, key, value, gate and up matrices are split by rows, attention heads with them; the output and down matrices
by columns, so that each process has a part of every sum, and one all-reduce after each of the two makes it whole.
Matrices of one operand lie one below the other and are one product. Tokens are chosen on the device and a step is a
graph with the all-reduces in it, so the host only launches. The weights are random: a file of any
size can be made where it is used.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from attrs import frozen

import rocmkern as rk

PRODUCTS = {  # the matrices of each, and the axis by which they are split
    "qkv": (("attn_q", "attn_k", "attn_v"), 0),
    "attn_output": (("attn_output",), 1),
    "gate_up": (("ffn_gate", "ffn_up"), 0),
    "ffn_down": (("ffn_down",), 1),
}
BLOCK = 32  # values of q8_0, with a scale of 2 bytes before them
NUMBERS: dict[str, Any] = {"f16": np.float16, "f32": np.float32}  # formats without blocks
CONTEXT = 64
Sum = Callable[[rk.Tensor], rk.Tensor]


@frozen
class Now:
    """The present place, for all layers."""

    cos: rk.Tensor  # of rotary embedding (Su et al. 2021)
    sin: rk.Tensor
    here: rk.Tensor  # (CONTEXT, 1): whether it is this one
    hidden: rk.Tensor  # (CONTEXT,): -inf for those that follow


def write_model(path: Path, format: str, hidden: int, layers: int, ffn: int, vocabulary: int) -> None:
    """A file of random matrices whose products keep the size of their operand.

    What a layer adds is small, and one token is far ahead of the others, as in a model that was trained.
    """
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")

    def matrix(name: str, rows: int, columns: int, gain: float = 1.0) -> None:
        values = rng.integers(-127, 128, (rows, columns), dtype=np.int8)
        scale = np.float16(gain * columns**-0.5 / 73)
        if format in NUMBERS:
            writer.add_tensor(f"{name}.weight", values.astype(NUMBERS[format]) * NUMBERS[format](scale))
            return
        blocks = np.empty((rows, columns // BLOCK, BLOCK + 2), np.int8)
        blocks[..., :2] = np.full(1, scale).view(np.int8)
        blocks[..., 2:] = values.reshape(rows, -1, BLOCK)
        raw = blocks.view(np.uint8).reshape(rows, -1)
        writer.add_tensor(f"{name}.weight", raw, raw_dtype=gguf.GGMLQuantizationType.Q8_0)

    embedding = rng.standard_normal((vocabulary, hidden)).astype(NUMBERS.get(format, np.float32))
    writer.add_tensor("token_embd.weight", embedding)
    for layer in range(layers):
        for name in ("attn_q", "attn_k", "attn_v"):
            matrix(f"blk.{layer}.{name}", hidden, hidden)
        matrix(f"blk.{layer}.attn_output", hidden, hidden, (2 * layers) ** -0.5)
        for name in ("ffn_gate", "ffn_up"):
            matrix(f"blk.{layer}.{name}", ffn, hidden)
        matrix(f"blk.{layer}.ffn_down", hidden, ffn, (2 * layers) ** -0.5)
    matrix("output", vocabulary, hidden, 8.0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def part_of(tensors: list[Any], axis: int, rank: int, size: int, device: rk.Device) -> rk.QTensor | rk.Tensor:
    """A process's rows (axis 0) or columns (axis 1) of matrices, one below the other."""
    raw = (tensor.data.view(np.uint8).reshape(tensor.shape[0], -1) for tensor in tensors)
    together = np.concatenate([np.array_split(rows, size, axis=axis)[rank] for rows in raw])
    if isinstance(tensors[0].kind, rk.DType):
        return rk.asarray(together.view(tensors[0].kind.numpy), device=device)
    shape = together.shape[0], tensors[0].shape[1] // (size if axis else 1)
    return rk.from_blocks(together.reshape(-1), tensors[0].kind, shape, device)


def product(matrix: rk.QTensor | rk.Tensor, x: rk.Tensor) -> rk.Tensor:
    return matrix.matmul(x) if isinstance(matrix, rk.QTensor) else x @ matrix.mT


class Llama:
    """One process's part of the model. `sum_up` makes a partial sum whole."""

    def __init__(
        self, path: Path, layers: int, heads: int, rank: int, size: int, device: rk.Device, sum_up: Sum
    ) -> None:
        file = rk.load_gguf(path)
        self.layers, self.heads, self.sum_up = layers, heads // size, sum_up
        embedding = file["token_embd.weight"].to(device)
        assert isinstance(embedding, rk.Tensor)
        self.embedding = embedding
        self.head = embedding.shape[1] // heads
        self.matrices = {
            f"{layer}.{together}": part_of(
                [file[f"blk.{layer}.{name}.weight"] for name in names], axis, rank, size, device
            )
            for layer in range(layers)
            for together, (names, axis) in PRODUCTS.items()
        }
        self.output = part_of([file["output.weight"]], 0, 0, 1, device)
        half = self.head // 2
        angles = np.arange(CONTEXT)[:, None] * 10000.0 ** (-np.arange(half) / half)
        self.cos, self.sin = (rk.asarray(f(angles).astype(np.float32), device=device) for f in (np.cos, np.sin))
        self.places = rk.arange(CONTEXT, device=device)
        self.keys, self.values = (
            [rk.zeros((self.heads, CONTEXT, self.head), dtype=embedding.dtype, device=device) for _ in range(layers)]
            for _ in range(2)
        )
        self.token, self.place = (rk.zeros((1,), dtype=rk.int64, device=device) for _ in range(2))
        self.text = rk.zeros((CONTEXT,), dtype=rk.int64, device=device)
        self.logits = rk.zeros((1, embedding.shape[0]), dtype=embedding.dtype, device=device)

    def attention(self, layer: int, x: rk.Tensor, now: Now) -> rk.Tensor:
        keys, values = self.keys[layer], self.values[layer]
        qkv = product(self.matrices[f"{layer}.qkv"], x).reshape(3 * self.heads, 1, self.head)
        query_key = rk.rope(qkv[None, : 2 * self.heads], now.cos, now.sin)[0]
        keys[...] = rk.where(now.here, query_key[self.heads :], keys)
        values[...] = rk.where(now.here, qkv[2 * self.heads :], values)
        scores = (query_key[: self.heads] * self.head**-0.5) @ keys.mT
        mixed = rk.softmax(scores + now.hidden) @ values
        return self.sum_up(product(self.matrices[f"{layer}.attn_output"], mixed.reshape(1, self.heads * self.head)))

    def step(self) -> None:
        """Chooses the next token of the text, and goes one place on."""
        x = rk.embedding(self.embedding, self.token)
        now = Now(
            rk.embedding(self.cos, self.place).astype(x.dtype),
            rk.embedding(self.sin, self.place).astype(x.dtype),
            (self.places == self.place)[:, None],
            rk.where(self.places <= self.place, 0.0, -np.inf).astype(x.dtype),
        )
        for layer in range(self.layers):
            x = x + self.attention(layer, rk.rms_norm(x), now)
            gate_up = product(self.matrices[f"{layer}.gate_up"], rk.rms_norm(x))
            ffn = gate_up.shape[1] // 2
            inner = rk.silu(gate_up[:, :ffn]) * gate_up[:, ffn:]
            x = x + self.sum_up(product(self.matrices[f"{layer}.ffn_down"], inner))
        self.logits[...] = product(self.output, rk.rms_norm(x))
        self.token[...] = rk.argmax(self.logits, axis=-1)
        self.text[...] = rk.where(self.places == self.place, self.token, self.text)
        self.place[...] = self.place + 1

    def decode(self, count: int) -> tuple[list[int], Any, float]:
        """The first tokens, the logits of the last one, and the seconds that one takes."""
        with rk.Graph() as graph:
            with graph.capture():
                self.step()
            graph.launch()
            self.token.device.synchronize()
            start = time.perf_counter()
            for _ in range(count - 1):
                graph.launch()
            text = self.text.tolist()[:count]
            return text, self.logits.numpy()[0].astype(np.float64), (time.perf_counter() - start) / max(count - 1, 1)


def divergence(a: Any, b: Any) -> float:
    """Kullback and Leibler's, of the tokens' probabilities by these logits."""
    p, q = (x - x.max() - np.log(np.exp(x - x.max()).sum()) for x in (a, b))
    return float((np.exp(p) * (p - q)).sum())


def work(options: argparse.Namespace, path: Path) -> None:
    """What each process does."""
    with rk.distributed.init(options.device, timeout=300.0) as group:
        if group.rank == 0 and not path.exists():
            write_model(path, options.format, options.hidden, options.layers, options.ffn, options.vocabulary)
        rk.distributed.barrier()
        shape = path, options.layers, options.heads
        model = Llama(*shape, group.rank, group.size, group.device, rk.distributed.all_reduce)
        text, logits, seconds = model.decode(options.tokens)
        if group.rank == 0:
            alone = Llama(*shape, 0, 1, group.device, lambda x: x)
            expected, of_one, seconds_alone = alone.decode(options.tokens)
            print(f"{group.size} × {group.device.info.marketing}: {1e3 * seconds:.2f} ms a token")
            print(f"one of them: {1e3 * seconds_alone:.2f} ms, {seconds_alone / seconds:.2f} times as much")
            print("text", *text[:16])
            print(f"divergence of the last token's probabilities {divergence(of_one, logits):.1e}")
            assert text == expected
            assert divergence(of_one, logits) < 1e-3
        rk.distributed.barrier()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--device", default="emulator:gfx942", help="cuda, hip, or an emulated one")
    parser.add_argument("--format", choices=("q8_0", *NUMBERS), default="q8_0")
    parser.add_argument("--model", type=Path, help="where the file is, or is made; default: a temporary folder")
    for name, value in (
        ("hidden", 128), ("layers", 2), ("heads", 4), ("ffn", 256), ("vocabulary", 320), ("tokens", 6),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    if "MODEL" in os.environ:
        work(options, Path(os.environ["MODEL"]))
        return 0
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        common = {
            "MODEL": str(options.model or Path(folder, "model.gguf")), "WORLD_SIZE": str(options.processes),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        }  # fmt: skip
        started = [
            subprocess.Popen(
                [sys.executable, *sys.argv],
                env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            )
            for rank in range(options.processes)
        ]
        return max(abs(process.wait()) for process in started)


if __name__ == "__main__":
    sys.exit(main())
