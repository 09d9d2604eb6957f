"""The tensors of a language model's file as what a layer multiplies by: rows of one input joined, none left over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field, frozen

from rocmkern.dtypes import DType
from rocmkern.errors import GgufError, TensorNotFound, UnsupportedArchitecture
from rocmkern.kernels.block_formats import BlockFormat
from rocmkern.models.angles import order, table
from rocmkern.models.architectures import Config
from rocmkern.ops.creation import upload
from rocmkern.ops.indexing import take
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import concat, expand_dims, matrix_transpose, reshape, stack
from rocmkern.quant import GgufFile, GgufTensor, QTensor, from_blocks
from rocmkern.runtime import Device
from rocmkern.tensor import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

Part = QTensor | Tensor | GgufTensor
Progress = Callable[[str, int, int], None]


@frozen(eq=False)
class Matrix:
    """Rows that multiply the same vectors; several parts where their formats differ."""

    parts: tuple[Part, ...]

    def __call__(self, x: Tensor) -> Tensor:
        """`x @ W.T`, (…, rows). Raises FormatNotFound for a format that has no product."""
        found = [_product(x, part) for part in self.parts]
        return found[0] if len(found) == 1 else concat(found, axis=-1)

    def chosen(self, x: Tensor, ids: Tensor) -> Tensor:
        """The products with those of its matrices, (experts, rows, columns), that ids (tokens, slots) name."""
        found = [_chosen(part, x, ids) for part in self.parts]
        return found[0] if len(found) == 1 else concat(found, axis=-1)

    def rows(self, ids: Tensor) -> Tensor:
        """Rows at ids of int32, float32."""
        (part,) = self.parts
        return take(part, ids, axis=0) if isinstance(part, Tensor) else _usable(part).rows_at(ids)


def _usable(part: QTensor | GgufTensor) -> QTensor:
    """A part to multiply by. Raises FormatNotFound for one that stayed in the file, as formats without kernels do."""
    found = part if isinstance(part, QTensor) else part.to()
    assert isinstance(found, QTensor)
    return found


def _product(x: Tensor, part: Part) -> Tensor:
    return matmul(x, matrix_transpose(part)) if isinstance(part, Tensor) else _usable(part).matmul(x)


def _chosen(part: Part, x: Tensor, ids: Tensor) -> Tensor:
    if not isinstance(part, Tensor):
        return _usable(part).matmul_chosen(x, ids)
    tokens, slots = ids.shape
    wide = x if x.ndim == 3 else expand_dims(x, axis=1)
    found = [
        matmul(take(part, ids[token], axis=0), expand_dims(wide[token], axis=-1))[:, :, 0] for token in range(tokens)
    ]
    return reshape(found[0], (1, slots, -1)) if tokens == 1 else stack(found)


@frozen(eq=False)
class Network:
    """A gated network, or as many as there are experts: `down(activation(gate · x) * (up · x))`."""

    gate_up: Matrix  # rows of the gate, then as many
    down: Matrix
    gate_up_bias: Tensor | None
    down_bias: Tensor | None


@frozen(eq=False)
class Layer:
    """What one layer multiplies by. Rows of queries, keys and values are one matrix, their pairs neighbours."""

    qkv: Matrix
    qkv_bias: Tensor | None
    output: Matrix
    output_bias: Tensor | None
    norms: dict[str, Tensor]  # those that it has, by what they come before or after
    head_norm: Tensor | None  # (heads + kv_heads, head), of each
    sinks: Tensor | None  # (kv_heads, group, 1, 1)
    network: Network | None
    router: Matrix | None
    router_bias: Tensor | None
    experts: Network | None
    shared: Network | None


@frozen(eq=False)
class Weights:
    """A model on a device."""

    embedding: Matrix
    layers: tuple[Layer, ...]
    norm: Tensor
    head: Matrix
    vocabulary: int  # tokens
    tables: dict[bool, Tensor]  # of angles, of layers with a window and of the others


@define(eq=False)
class Loader:
    """Takes tensors from a file, each once, and says what is left over."""

    file: GgufFile
    config: Config
    device: Device
    progress: Progress | None = None
    _taken: set[str] = field(init=False, factory=set)

    def weights(self, context: int) -> Weights:
        """All of them. Raises TensorNotFound for one that is missing, UnsupportedArchitecture for one that is unknown,
        GgufError for one of another shape than the sizes in the file make it.
        """
        c = self.config
        embedding = self._matrix(["token_embd"], (c.width,))
        tables = {}
        for local in set(c.local):
            tables[local] = self._angles(local, context)
        layers = tuple(self._layer(number) for number in range(c.layers))
        head = self._matrix(["output"], (c.width,)) if "output.weight" in self.file else embedding
        norm = self._vector("output_norm.weight", c.width)
        left = [name for name in self.file if name not in self._taken]
        if left:
            raise UnsupportedArchitecture(
                f"load model: {len(left)} tensors of {self.file.path.name} are not known of {c.name}, "
                f"{', '.join(left[:3])} among them; this model is of another kind than its architecture says"
            )
        vocabulary = self.file["output.weight" if "output.weight" in self.file else "token_embd.weight"].shape[0]
        return Weights(embedding, layers, norm, head, vocabulary, tables)

    def _angles(self, local: bool, context: int) -> Tensor:
        c = self.config
        factors: dict[str, NDArray[Any] | None] = {}
        for name in ("rope_freqs", "rope_factors_short", "rope_factors_long"):
            tensor = self._host(f"{name}.weight")
            factors[name] = None if tensor is None else tensor.reshape(-1)
            if tensor is not None and tensor.size != c.angles.rotated // 2:
                raise GgufError(
                    f"load model: {name}.weight has {tensor.size} values for {c.angles.rotated // 2} pairs of features"
                )
        short = factors["rope_freqs"] if factors["rope_freqs"] is not None else factors["rope_factors_short"]
        angles = c.local_angles if local else c.angles
        return upload(table(angles, c.head, context, short, factors["rope_factors_long"]), self.device)

    def _layer(self, number: int) -> Layer:
        c, at = self.config, f"blk.{number}"
        rows = self._rows_of_heads()
        fused = f"{at}.attn_qkv.weight" in self.file
        names = [f"{at}.attn_qkv"] if fused else [f"{at}.attn_{part}" for part in "qkv"]
        orders = [np.concatenate(_following(rows))] if fused else rows
        norms = {
            "attention": f"{at}.attn_norm", "after attention": f"{at}.post_attention_norm",
            "network": f"{at}.{c.architecture.ffn_norm}", "after network": f"{at}.post_ffw_norm",
        }  # fmt: skip
        if norms["network"] == norms["after attention"]:
            del norms["after attention"]
        found = {place: self._vector(f"{name}.weight", c.width) for place, name in norms.items() if self._has(name)}
        q_width, kv_width = c.heads * c.head, c.kv_heads * c.head
        head_norm = None
        if self._has(f"{at}.attn_q_norm"):
            lengths = [self.file[f"{at}.attn_{part}_norm.weight"].shape[-1] for part in "qk"]
            if lengths == [q_width, kv_width] and lengths != [c.head, c.head]:
                found["queries"], found["keys"] = (
                    self._ordered_vector(f"{at}.attn_{part}_norm.weight", order)
                    for part, order in zip("qk", rows, strict=False)
                )
            else:
                each = self._order_of_head()
                q, k = (self._ordered_vector(f"{at}.attn_{part}_norm.weight", each) for part in "qk")
                wide = np.concatenate([np.tile(q.numpy(), (c.heads, 1)), np.tile(k.numpy(), (c.kv_heads, 1))])
                head_norm = upload(wide, self.device)
        sinks = self._host(f"{at}.attn_sinks.weight")
        layer = Layer(
            qkv=self._matrix(names, (c.width,), orders),
            qkv_bias=self._biases(names, [len(each) for each in orders], orders),
            output=self._matrix([f"{at}.attn_output"], (q_width,)),
            output_bias=self._biases([f"{at}.attn_output"], [c.width]),
            norms=found,
            head_norm=head_norm,
            sinks=None if sinks is None else upload(sinks.reshape(c.kv_heads, -1, 1, 1), self.device),
            network=None if c.experts else self._network(at, "", c.width),
            router=self._matrix([f"{at}.ffn_gate_inp"], (c.width,)) if c.experts else None,
            router_bias=self._biases([f"{at}.ffn_gate_inp"], [c.experts]),
            experts=self._network(at, "_exps", c.width, c.experts) if c.experts else None,
            shared=self._network(at, "_shexp", c.width) if self._has(f"{at}.ffn_down_shexp") else None,
        )
        if self.progress is not None:
            self.progress("layers", number + 1, c.layers)
        return layer

    def _network(self, at: str, kind: str, width: int, experts: int = 0) -> Network:
        """The gate's rows may lie before those of `ffn_up`, or with them in a tensor of their own."""
        outer = (experts,) if experts else ()
        inner = self.file[f"{at}.ffn_down{kind}.weight"].shape[-1]
        merged = f"{at}.ffn_gate_up{kind}"
        names = [merged] if self._has(merged) else [f"{at}.ffn_gate{kind}", f"{at}.ffn_up{kind}"]
        if not self._has(names[0]):
            del names[0]
        sizes = [inner, inner] if len(names) == 2 else [2 * inner]
        return Network(
            gate_up=self._matrix(names, (width,), sizes=sizes, outer=outer),
            down=self._matrix([f"{at}.ffn_down{kind}"], (inner,), sizes=[width], outer=outer),
            gate_up_bias=self._biases(names, sizes, outer=outer),
            down_bias=self._biases([f"{at}.ffn_down{kind}"], [width], outer=outer),
        )

    def _order_of_head(self) -> NDArray[np.int64]:
        c = self.config
        return order(c.architecture.pairs, c.head, c.angles.rotated)

    def _rows_of_heads(self) -> list[NDArray[np.int64]]:
        """Where the rows of queries, keys and values come from."""
        c, each = self.config, self._order_of_head()
        q, k = (np.concatenate([each + c.head * head for head in range(count)]) for count in (c.heads, c.kv_heads))
        return [q, k, np.arange(len(k))]

    def _has(self, name: str) -> bool:
        return f"{name}.weight" in self.file

    def _host(self, name: str) -> NDArray[np.float32] | None:
        """A tensor of floats, float32; None where the file has none."""
        if name not in self.file:
            return None
        self._taken.add(name)
        return _floats(self.file[name])

    def _vector(self, name: str, length: int) -> Tensor:
        return self._ordered_vector(name, np.arange(length))

    def _ordered_vector(self, name: str, order: NDArray[np.int64]) -> Tensor:
        found = self._host(name)
        if found is None:
            raise TensorNotFound(f"load model: {self.file.path.name} has no tensor {name!r}; get a whole file")
        if found.shape != order.shape:
            raise GgufError(
                f"load model: tensor {name!r} has shape {found.shape}; the model's sizes make it {order.shape}"
            )
        return upload(np.ascontiguousarray(found[order]), self.device)

    def _biases(
        self,
        names: Sequence[str],
        sizes: Sequence[int],
        orders: Sequence[NDArray[np.int64]] | None = None,
        outer: tuple[int, ...] = (),
    ) -> Tensor | None:
        """Biases of joined matrices, zero for one that has none; None where none has any."""
        found = [self._host(f"{name}.bias") for name in names]
        if all(bias is None for bias in found):
            return None
        parts = []
        for number, (name, bias, size) in enumerate(zip(names, found, sizes, strict=True)):
            values = np.zeros((*outer, size), np.float32) if bias is None else bias
            if values.shape != (*outer, size):
                raise GgufError(
                    f"load model: tensor '{name}.bias' has shape {values.shape}; the model's sizes make it "
                    f"{(*outer, size)}"
                )
            parts.append(values if orders is None else values[orders[number]])
        return upload(np.concatenate(parts, axis=-1), self.device)

    def _matrix(
        self,
        names: Sequence[str],
        columns: tuple[int],
        orders: Sequence[NDArray[np.int64]] | None = None,
        *,
        sizes: Sequence[int] | None = None,
        outer: tuple[int, ...] = (),
    ) -> Matrix:
        """Matrices of one input; those of one format that follow another become one. Rows may come in another order."""
        pieces: list[tuple[BlockFormat | None, NDArray[Any]]] = []
        parts = list[Part]()
        for number, name in enumerate(names):
            tensor = self.file[f"{name}.weight"]
            self._taken.add(f"{name}.weight")
            wanted = len(orders[number]) if orders else sizes[number] if sizes else None
            self._require_shape(tensor, outer, wanted, columns[0])
            if not isinstance(tensor.kind, BlockFormat | DType):
                parts += [*self._uploaded(pieces, columns[0]), tensor]
                pieces = []
                continue
            rows = _rows(tensor)
            if orders is not None:
                rows = rows[orders[number]]
            kind = tensor.kind if isinstance(tensor.kind, BlockFormat) else None
            if pieces and pieces[-1][0] is not kind:
                parts += self._uploaded(pieces, columns[0])
                pieces = []
            pieces.append((kind, rows))
        return Matrix((*parts, *self._uploaded(pieces, columns[0])))

    def _require_shape(self, tensor: GgufTensor, outer: tuple[int, ...], rows: int | None, columns: int) -> None:
        wanted = (*outer, *(tensor.shape[-2:-1] if rows is None else (rows,)), columns)
        if tensor.shape != wanted:
            raise GgufError(
                f"load model: tensor {tensor.name!r} has shape {tensor.shape}; the model's sizes make it {wanted}"
            )

    def _uploaded(self, pieces: Sequence[tuple[BlockFormat | None, NDArray[Any]]], columns: int) -> list[Part]:
        """Pieces of one format as one part."""
        if not pieces:
            return []
        kind = pieces[0][0]
        joined = pieces[0][1] if len(pieces) == 1 else np.concatenate([rows for _, rows in pieces], axis=-2)
        if kind is None:
            return [upload(np.ascontiguousarray(joined), self.device)]
        return [from_blocks(joined, kind, (*joined.shape[:-1], columns), self.device)]


def _rows(tensor: GgufTensor) -> NDArray[Any]:
    """(…, rows, bytes of a row) of blocks, (…, rows, columns) float32 of others."""
    if isinstance(tensor.kind, BlockFormat):
        return tensor.data.reshape(*tensor.shape[:-1], -1)
    return _floats(tensor)


def _floats(tensor: GgufTensor) -> NDArray[np.float32]:
    if not isinstance(tensor.kind, DType) or not tensor.kind.is_float:
        raise GgufError(f"load model: tensor {tensor.name!r} is of {tensor.kind.name}; it must be of floats")
    return tensor.data.view(tensor.kind.numpy).astype(np.float32).reshape(tensor.shape)


def _following(orders: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """The same for rows that lie behind one another in one matrix."""
    starts = np.cumsum([0, *(len(each) for each in orders[:-1])])
    return [each + start for each, start in zip(orders, starts, strict=True)]
