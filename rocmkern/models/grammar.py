"""Answers that fit a JSON schema, by the package `llguidance`: it says of each token whether the text may go on so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field

from rocmkern.errors import ConfigError
from rocmkern.models.packages import package
from rocmkern.models.tokens import CONTROL, Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray


@define(eq=False)
class Vocabulary:
    """A tokenizer as llguidance asks for it. Making it takes long: a model keeps it."""

    tokenizer: Tokenizer
    tokens: list[bytes] = field(init=False)
    eos_token_id: int = field(init=False)
    bos_token_id: int | None = field(init=False)
    special_token_ids: list[int] = field(init=False)
    _made: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        t = self.tokenizer
        ends = sorted(t.endings)
        if not ends:
            raise ConfigError("schema: the model has no token that ends an answer; take another model")
        self.special_token_ids = [number for number, kind in enumerate(t.kinds) if kind == CONTROL]
        marked = set(self.special_token_ids)
        self.tokens = [(b"\xff" if n in marked else b"") + t.bytes_of(n) for n in range(len(t))]
        self.bos_token_id = t.bos
        self.eos_token_id = t.eos if t.eos in t.endings else ends[0]
        module = package("llguidance", "schema")
        self._made = module.LLTokenizer(module.TokenizerWrapper(self), eos_token=ends)

    def __call__(self, text: str) -> list[int]:
        return self.tokenizer.plain(text)

    def matcher(self, schema: Mapping[str, Any] | str) -> Matcher:
        """Follows one answer. Raises ConfigError (a ValueError) for a schema that can't be followed."""
        module = package("llguidance", "schema")
        text = schema if isinstance(schema, str) else json.dumps(schema)
        try:
            grammar = module.LLMatcher.grammar_from_json_schema(text)
        except ValueError as error:
            raise ConfigError(f"schema: {error}; use a JSON schema") from error
        made = module.LLMatcher(self._made, grammar, log_level=0)
        if made.is_error():
            raise ConfigError(f"schema: {made.get_error()}; use a simpler one")
        return Matcher(made)


@define(eq=False)
class Matcher:
    """Where an answer stands in its grammar."""

    _backend: Any

    def mask(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """The logits, -inf for tokens with which the answer can't go on."""
        bits = np.unpackbits(np.frombuffer(self._backend.compute_bitmask(), np.uint8), bitorder="little")
        allowed = np.zeros(len(logits), bool)
        count = min(len(bits), len(logits))
        allowed[:count] = bits[:count]
        return np.where(allowed, logits, np.float32(-np.inf))

    def take(self, token: int) -> bool:
        """Goes on with a token; whether the answer may go on behind it."""
        self._backend.consume_token(token)
        if self._backend.is_error():
            raise ConfigError(f"schema: {self._backend.get_error()}; use a simpler one")
        return not self._backend.is_stopped()
