"""A text that a language model reads and continues: its tokens, and their keys and values on the device.

Tokens that are given are computed many at a time. Tokens that the model makes are computed one at a time, by a graph
that is captured for lengths up to a power of two and launched for each of them: it takes the token and its position
from memory and leaves the next ones there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from attrs import define, field

from rocmkern.dtypes import DType, int32, int64
from rocmkern.engine.graph import Graph
from rocmkern.errors import ClosedError, ContextError
from rocmkern.models.decoder import Cache, Decoder, Step
from rocmkern.ops.creation import arange, upload, zeros
from rocmkern.ops.items import set_item
from rocmkern.ops.reductions import argmax
from rocmkern.ops.rows_binary import add
from rocmkern.runtime import Device
from rocmkern.tensor import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

BATCH: Final = 256  # tokens that are computed together
_SHORTEST: Final = 64  # positions that a graph looks at


@define(eq=False)
class Session:
    """Tokens and their cache: `session.append(tokens)` reads, `session.advance(n)` writes what is likeliest."""

    decoder: Decoder
    device: Device
    capacity: int  # tokens
    dtype: DType  # of the cache
    tokens: list[int] = field(init=False, factory=list)  # that the cache holds, and one that follows them or none
    _cache: Cache = field(init=False)
    _places: Tensor = field(init=False)  # 0, 1, …
    _token: Tensor = field(init=False)  # to compute next
    _place: Tensor = field(init=False)  # where it stands
    _text: Tensor = field(init=False)  # what the graph chose, by place
    _logits: Tensor = field(init=False)
    _graphs: dict[int, Graph] = field(init=False, factory=dict)
    _held: int = field(init=False, default=0)  # tokens in the cache
    _is_closed: bool = field(init=False, default=False)

    def __attrs_post_init__(self) -> None:
        self._cache = Cache.empty(self.decoder.config, self.capacity, self.dtype, self.device)
        self._places = arange(self.capacity, device=self.device)
        self._token = zeros((1,), dtype=int32, device=self.device)
        self._place = zeros((1,), dtype=int64, device=self.device)
        self._text = zeros((self.capacity + 1,), dtype=int32, device=self.device)

    @property
    def room(self) -> int:
        """How many more tokens fit."""
        return self.capacity - len(self.tokens)

    @property
    def nbytes(self) -> int:
        """Of the cache."""
        return self._cache.nbytes

    def append(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Reads tokens; the result is the logits of what follows the last one.

        Raises ContextError (a ValueError) where they don't fit, and for none at all.
        """
        self._take(tokens)
        hidden = self._pending()
        return self._kept(self.decoder.logits(hidden[-1:]))

    def append_all(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """As `append`, with the logits of what follows each token, (tokens, vocabulary)."""
        self._take(tokens)
        found: list[NDArray[np.float32]] = []
        while self._held < len(self.tokens):
            found.append(self.decoder.logits(self._batch()).numpy())
        return np.concatenate(found)[-len(tokens) :]

    def _take(self, tokens: Sequence[int]) -> None:
        self._require_open("append")
        if not tokens:
            raise ContextError("session: no tokens to append; give one or more")
        if len(tokens) > self.room:
            raise ContextError(
                f"session: {len(tokens)} tokens behind {len(self.tokens)} do not fit a context of {self.capacity}; "
                "load the model with a larger context= or shorten the text"
            )
        self.tokens += map(int, tokens)

    def _pending(self) -> Tensor:
        """What the last layer says of the last batch of what is not computed yet."""
        while True:
            hidden = self._batch()
            if self._held == len(self.tokens):
                return hidden

    def _batch(self) -> Tensor:
        """Computes the next tokens that the cache lacks."""
        first = self._held
        ids = np.asarray(self.tokens[first : first + BATCH], np.int32)
        end = first + len(ids)
        decoder = self.decoder
        step = Step.at(decoder.weights, decoder.config, self._places[first:end], slice(first, end), self._places[:end])
        hidden = decoder.hidden(upload(ids, self.device), step, self._cache)
        self._held = end
        return hidden

    def _kept(self, logits: Tensor) -> NDArray[np.float32]:
        found: NDArray[np.float32] = logits.numpy()[-1]
        return found

    def step(self, token: int) -> NDArray[np.float32]:
        """Reads one token by the graph; the result is the logits of what follows it."""
        self._take([token])
        self._launch(len(self.tokens) - 1, token)
        self._held = len(self.tokens)
        return self._kept(self._logits)

    def advance(self, token: int, count: int) -> list[int]:
        """Reads a token and writes the likeliest ones that follow it, as many as asked for: the last is not read yet.

        The device goes from token to token without the host.
        """
        self._require_open("advance")
        if count + len(self.tokens) > self.capacity:
            raise ContextError(
                f"session: {count} more tokens behind {len(self.tokens)} do not fit a context of {self.capacity}"
            )
        first = len(self.tokens)
        self._launch(first, token)
        for at in range(first + 1, first + count):
            self._launch(at)
        found: list[int] = self._text[first + 1 : first + 1 + count].tolist()
        self.tokens += [token, *found[:-1]]
        self._held = len(self.tokens)
        return found

    def _launch(self, place: int, token: int | None = None) -> None:
        """Has the token at a place computed: a given one, or what was chosen before."""
        length = min(max(_SHORTEST, 1 << place.bit_length()), self.capacity)
        graph = self._graphs.get(length)
        if graph is None:
            graph = self._graphs[length] = self._captured(length)
        if token is not None:
            set_item(self._token, slice(None), upload(np.asarray([token], np.int32), self.device))
            set_item(self._place, slice(None), upload(np.asarray([place], np.int64), self.device))
        graph.launch()

    def _captured(self, length: int) -> Graph:
        """A step of one token that stands among the first `length`."""
        decoder = self.decoder
        if not self._graphs:
            self._logits = zeros((1, self.decoder.weights.vocabulary), device=self.device)
        graph = Graph()
        with graph.capture():
            step = Step.at(decoder.weights, decoder.config, self._place, self._place, self._places[:length])
            set_item(self._logits, ..., decoder.logits(decoder.hidden(self._token, step, self._cache)))
            set_item(self._place, ..., add(self._place, 1))
            set_item(self._token, ..., argmax(self._logits, axis=-1))
            set_item(self._text, self._place, self._token)
        return graph

    def truncate(self, count: int) -> None:
        """Forgets all but the first `count` tokens."""
        if not 0 <= count <= len(self.tokens):
            raise ContextError(f"session: it has {len(self.tokens)} tokens, not {count}; use 0..{len(self.tokens)}")
        del self.tokens[count:]
        self._held = min(self._held, count)

    def fork(self) -> Session:
        """Another one with the same tokens, which goes its own way."""
        self._require_open("fork")
        other = Session(self.decoder, self.device, self.capacity, self.dtype)
        for mine, its in ((self._cache.keys, other._cache.keys), (self._cache.values, other._cache.values)):
            for source, target in zip(mine, its, strict=True):
                set_item(target, ..., source)
        other.tokens, other._held = list(self.tokens), self._held
        return other

    def reuse(self, tokens: Sequence[int]) -> list[int]:
        """Keeps what it has in common with tokens, and gives those of them that are left to append: one at least."""
        common = 0
        for mine, wanted in zip(self.tokens[: self._held], tokens, strict=False):
            if mine != wanted:
                break
            common += 1
        self.truncate(min(common, max(len(tokens) - 1, 0)))
        return list(tokens[len(self.tokens) :])

    def close(self) -> None:
        """Gives its graphs back."""
        self._is_closed = True
        for graph in self._graphs.values():
            graph.close()
        self._graphs.clear()

    def _require_open(self, operation: str) -> None:
        if self._is_closed:
            raise ClosedError(f"{operation}: the session is closed; make another one")
