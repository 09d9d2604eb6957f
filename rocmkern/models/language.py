"""Language models: a file's weights, tokenizer and template together, and what they write."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from attrs import define, field, fields, frozen

from rocmkern.dtypes import DType, float16, float32
from rocmkern.errors import ConfigError, ContextError, TemplateError
from rocmkern.locks import Lock
from rocmkern.models.architectures import Config, config
from rocmkern.models.decoder import Decoder
from rocmkern.models.grammar import Matcher, Vocabulary
from rocmkern.models.sampling import Sampler, Sampling
from rocmkern.models.session import Session
from rocmkern.models.templates import KEY, Template
from rocmkern.models.tensors import Loader
from rocmkern.models.tokens import Pieces, Tokenizer, tokenizer
from rocmkern.quant import load_gguf
from rocmkern.runtime import Device
from rocmkern.runtime.device import DeviceLike, open_device

if TYPE_CHECKING:
    from numpy.typing import NDArray

Messages: TypeAlias = Sequence[Mapping[str, Any]]
Prompt: TypeAlias = str | Sequence[int] | Messages
CACHES: Final[dict[str, DType]] = {"f16": float16, "f32": float32}
_AHEAD: Final = 8  # tokens that a GPU writes before the host looks at them
_SPARE: Final = 2  # sessions that are kept for later texts


@frozen
class Generation:
    """What a model wrote."""

    text: str
    tokens: tuple[int, ...]
    finish: str  # "stop": it ended by itself or at a stop string; "length": at max_tokens, or the context's end
    prompt_tokens: int
    prompt_seconds: float
    seconds: float  # of the tokens that followed

    @property
    def tokens_per_second(self) -> float:
        """Of what was written after the prompt was read."""
        return len(self.tokens) / self.seconds if self.seconds else 0.0


@define(eq=False)
class Stream:
    """Text as it is written, piece by piece; `result` tells of all of it at the end."""

    _pieces: Iterator[str]
    result: Generation | None = field(init=False, default=None)

    def __iter__(self) -> Iterator[str]:
        return self._pieces

    def __next__(self) -> str:
        return next(self._pieces)

    def close(self) -> None:
        """Ends the writing."""
        self._pieces.close()  # type: ignore[attr-defined]  # it is a generator


@define(eq=False, repr=False)
class LanguageModel:
    """A model that continues text: `model.generate("The capital of France is", temperature=0).text`."""

    name: str
    config: Config
    tokenizer: Tokenizer
    device: Device
    context: int  # tokens of one text
    metadata: Mapping[str, Any]
    parameters: int  # weights
    nbytes: int  # that they take in the file
    _decoder: Decoder
    _cache_dtype: DType
    _spare: list[Session] = field(init=False, factory=list)
    _lock: Lock = field(init=False, factory=lambda: Lock("spare sessions"))
    _template: Template | None = field(init=False, default=None)
    _vocabulary: Vocabulary | None = field(init=False, default=None)

    def __repr__(self) -> str:
        c = self.config
        return f"LanguageModel({self.name!r}, {c.name} of {c.layers} layers, {self.context} tokens, {self.device.name})"

    def session(self) -> Session:
        """An empty text of its own, to append to."""
        return Session(self._decoder, self.device, self.context, self._cache_dtype)

    def logits(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """What follows each of the tokens, (tokens, vocabulary)."""
        with self._session() as session:
            session.truncate(0)
            return session.append_all(self.tokenizer.known(tokens))

    def chat(self, messages: Messages, **options: Any) -> Generation:
        """An answer to a conversation of {"role": …, "content": …}; options as those of `stream`."""
        return self.generate(messages, **options)

    def generate(self, prompt: Prompt, **options: Any) -> Generation:
        """A text, the tokens of one, or a conversation, continued; options as those of `stream`."""
        stream = self.stream(prompt, **options)
        for _ in stream:
            pass
        assert stream.result is not None
        return stream.result

    def stream(
        self,
        prompt: Prompt,
        *,
        max_tokens: int = 256,
        stop: str | Sequence[str] = (),
        schema: Mapping[str, Any] | str | None = None,
        template: Mapping[str, Any] | None = None,
        **sampling: Any,
    ) -> Stream:
        """Text as it is written.

        A prompt is a text, tokens, or a conversation, which the model's template spells with the variables given in
        `template`. Of texts and messages nothing becomes a special token. `stop` are texts that end the answer and are
        not part of it; `schema` is a JSON schema that it is to fit; what else is given says how tokens are chosen, as
        `Sampling` has it.
        Raises ContextError (a ValueError) for a prompt that does not fit, ConfigError (a ValueError) for options out of
        their range, TemplateError as the template says.
        """
        ids = self.tokens_of(prompt, template or {})
        stops = (stop,) if isinstance(stop, str) else tuple(stop)
        if any(not isinstance(text, str) or not text for text in stops):
            raise ConfigError("generate: an empty stop string, or one that is no text; give texts of a letter or more")
        if type(max_tokens) is not int or max_tokens < 0:
            raise ConfigError(f"generate: max_tokens={max_tokens!r}; use 0 or more")
        unknown = sampling.keys() - {a.name for a in fields(Sampling)}
        if unknown:
            raise TypeError(f"generate: no option {', '.join(sorted(unknown))}")
        if not ids:
            raise ContextError("generate: the prompt has no tokens; give some text")
        if len(ids) > self.context:
            raise ContextError(
                f"generate: a prompt of {len(ids)} tokens for a context of {self.context}; load the model with a "
                "larger context= or shorten it"
            )
        matcher = None if schema is None else self._grammar().matcher(schema)
        writing = _Writing(self, ids, max_tokens, stops, Sampling(**sampling), matcher)
        stream = Stream(iter(()))
        stream._pieces = writing.pieces(stream)
        return stream

    def tokens_of(self, prompt: Prompt, template: Mapping[str, Any] | None = None) -> list[int]:
        """The tokens of a prompt."""
        if isinstance(prompt, str):
            return self.tokenizer.encode(prompt)
        if all(isinstance(part, Mapping) for part in prompt) and len(prompt):
            return self.template.tokens(prompt, **(template or {}))  # type: ignore[arg-type]
        return self.tokenizer.known(prompt)  # type: ignore[arg-type]

    @property
    def template(self) -> Template:
        """How conversations are spelt. Raises TemplateError (a ValueError) for a model that has no template."""
        if self._template is None:
            source = self.metadata.get(KEY)
            if not isinstance(source, str):
                raise TemplateError(f"chat: {self.name} has no chat template; give its prompt as a text")
            self._template = Template(source, self.tokenizer)
        return self._template

    def perplexity(
        self, text: str, *, chunk: int = 512, progress: Callable[[int, int, float], None] | None = None
    ) -> float:
        """How surprised the model is of a text, as llama.cpp counts: of chunks that don't overlap the second halves.

        `progress` is called with chunks done, chunks, and the perplexity so far. Raises ContextError (a ValueError) for
        a text shorter than a chunk, or a chunk longer than the context.
        """
        if not 2 <= chunk <= self.context:
            raise ContextError(f"perplexity: chunks of {chunk} tokens; use 2 to {self.context}, the model's context")
        ids, bos = self.tokenizer.encode(text), self.tokenizer.bos
        chunks = len(ids) // chunk
        if not chunks:
            raise ContextError(
                f"perplexity: a text of {len(ids)} tokens for chunks of {chunk}; use chunk= or more text"
            )
        losses = list[float]()
        for number in range(chunks):
            part = ids[number * chunk : (number + 1) * chunk]
            if self.tokenizer.adds_bos and bos is not None:
                part[0] = bos
            found = self.logits(part)[chunk // 2 : -1].astype(np.float64)
            likely = found[np.arange(len(found)), part[chunk // 2 + 1 :]]
            losses += (np.logaddexp.reduce(found, axis=-1) - likely).tolist()
            if progress is not None:
                progress(number + 1, chunks, math.exp(sum(losses) / len(losses)))
        return math.exp(sum(losses) / len(losses))

    def _grammar(self) -> Vocabulary:
        if self._vocabulary is None:
            self._vocabulary = Vocabulary(self.tokenizer)
        return self._vocabulary

    @contextmanager
    def _session(self, ids: Sequence[int] = ()) -> Iterator[Session]:
        """A session for a while: of those used before the one that has most of a text already, or a new one."""

        def common(session: Session) -> int:
            return next((n for n, (a, b) in enumerate(zip(session.tokens, ids, strict=False)) if a != b), len(ids))

        with self._lock:
            best = max(self._spare, key=common, default=None)
            if best is not None:
                self._spare.remove(best)
        session = self.session() if best is None else best
        try:
            yield session
        except GeneratorExit:  # nobody reads on
            self._keep(session)
            raise
        except BaseException:
            session.close()
            raise
        self._keep(session)

    def _keep(self, session: Session) -> None:
        with self._lock:
            if len(self._spare) < _SPARE:
                self._spare.append(session)
                return
        session.close()


@define(eq=False)
class _Writing:
    """One text that is being written."""

    model: LanguageModel
    ids: list[int]
    max_tokens: int
    stops: tuple[str, ...]
    sampling: Sampling
    matcher: Matcher | None
    _finish: str = field(init=False, default="length")
    _prompt_seconds: float = field(init=False, default=0.0)
    _written: list[int] = field(init=False, factory=list)

    def pieces(self, stream: Stream) -> Iterator[str]:
        started = time.perf_counter()
        held, text = "", list[str]()  # `held` may be the beginning of a stop string
        pieces: Pieces = self.model.tokenizer.pieces()
        with self.model._session(self.ids) as session:
            for token in self._tokens(session):
                if token in self.model.tokenizer.endings:
                    self._finish = "stop"
                    break
                self._written.append(token)
                held += pieces.add(token)
                at = min((held.find(stop) for stop in self.stops if stop in held), default=-1)
                if at >= 0:
                    held, self._finish = held[:at], "stop"
                    break
                kept = max((_overlap(held, stop) for stop in self.stops), default=0)
                ready, held = held[: len(held) - kept], held[len(held) - kept :]
                if ready:
                    text.append(ready)
                    yield ready
        if held:
            text.append(held)
            yield held
        all_seconds = time.perf_counter() - started
        stream.result = Generation(
            "".join(text), tuple(self._written), self._finish, len(self.ids), self._prompt_seconds,
            max(all_seconds - self._prompt_seconds, 0.0),
        )  # fmt: skip

    def _tokens(self, session: Session) -> Iterator[int]:
        """The tokens that follow, with no end of their own."""
        started = time.perf_counter()
        sampler, seen = Sampler(self.sampling), list(self.ids)
        logits = session.append(session.reuse(self.ids))
        self._prompt_seconds = time.perf_counter() - started
        left = min(self.max_tokens, session.capacity - len(self.ids))
        if not left:
            return
        token = self._chosen(sampler, logits, seen)
        yield token
        if self.matcher is None and self.sampling.is_greedy:
            yield from self._likeliest(session, token, left - 1)
            return
        for _ in range(left - 1):
            if self.matcher is not None and not self.matcher.take(token):
                self._finish = "stop"
                return
            seen.append(token)
            token = self._chosen(sampler, session.step(token), seen)
            yield token

    def _chosen(self, sampler: Sampler, logits: NDArray[np.float32], seen: Sequence[int]) -> int:
        return sampler.choose(logits if self.matcher is None else self.matcher.mask(logits), seen)

    def _likeliest(self, session: Session, token: int, left: int) -> Iterator[int]:
        """What the device writes, some tokens ahead: those behind the end are none of the text."""
        ahead = 1 if session.device.info.unified else _AHEAD
        while left > 0:
            found = session.advance(token, min(ahead, left))
            yield from found
            token, left = found[-1], left - len(found)


def _overlap(text: str, stop: str) -> int:
    """How many letters at the end of a text begin a stop string."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)


def load(
    path: str | os.PathLike[str],
    device: DeviceLike = None,
    context: int = 4096,
    kv: str = "f16",
    *,
    progress: Callable[[str, int, int], None] | None = None,
) -> LanguageModel:
    """The language model in a GGUF file, on a device.

    `context` is how many tokens a text may have, at most what the model was trained for; `kv` is the dtype of keys and
    values that are kept, "f16" or "f32"; `progress` is called with what is loaded, how many are done, and of how many.
    Raises GgufError (a ValueError) for a file that can't be read, UnsupportedArchitecture (a LookupError) for a model,
    a vocabulary or a tensor that is not known here, ModelNotFound where a package is missing that reads it.
    """
    if kv not in CACHES:
        raise ConfigError(f"load model: kv={kv!r}; use one of {', '.join(CACHES)}")
    if type(context) is not int or context < 1:
        raise ConfigError(f"load model: context={context!r}; use 1 or more")
    file = load_gguf(path)
    sizes = config(file.metadata)
    words = tokenizer(file.metadata)
    used = open_device(device)
    length = min(context, sizes.context)
    weights = Loader(file, sizes, used, progress).weights(length)
    if weights.vocabulary < len(words):
        raise ConfigError(
            f"load model: {len(words)} tokens and {weights.vocabulary} rows of {Path(path).name}; get the file again"
        )
    return LanguageModel(
        name=str(file.metadata.get("general.name", Path(path).stem)),
        config=sizes,
        tokenizer=words,
        device=used,
        context=length,
        metadata=file.metadata,
        parameters=sum(math.prod(tensor.shape) for tensor in file.values()),
        nbytes=sum(tensor.nbytes for tensor in file.values()),
        decoder=Decoder(sizes, weights),
        cache_dtype=CACHES[kv],
    )
