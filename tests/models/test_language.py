"""Loading, sessions and writing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

import rocmkern as rk
from rocmkern.errors import (
    ClosedError,
    ConfigError,
    ContextError,
    FormatNotFound,
    GgufError,
    TemplateError,
    TensorNotFound,
    UnsupportedArchitecture,
)
from rocmkern.models import LanguageModel, language, load
from tests.models import plain_numpy, small_files
from tests.models.conftest import DEVICE

GREEDY: dict[str, Any] = {"temperature": 0, "top_k": 0}
PROMPT = "hello wow"


def by_logits(model: LanguageModel, ids: list[int], count: int) -> list[int]:
    """The likeliest tokens, each from the logits of all before."""
    found = list(ids)
    for _ in range(count):
        found.append(int(model.logits(found)[-1].argmax()))
    return found[len(ids) :]


def test_greedy_text_is_that_of_the_logits(small_model: LanguageModel) -> None:
    """Written by the graph, token after token."""
    ids = small_model.tokenizer.encode(PROMPT)
    made = small_model.generate(PROMPT, max_tokens=5, **GREEDY)
    assert list(made.tokens) == by_logits(small_model, ids, 5)
    assert small_model.tokenizer.decode(made.tokens).startswith(made.text)  # which has no half of a character
    assert (made.finish, made.prompt_tokens) == ("length", len(ids))


def test_tokens_written_ahead_are_the_same(small_model: LanguageModel) -> None:
    """As on a GPU, where the host looks at several together."""
    expected = small_model.generate(PROMPT, max_tokens=12, **GREEDY)
    session, ids = small_model.session(), small_model.tokenizer.encode(PROMPT)
    first = int(session.append(ids).argmax())
    found = session.advance(first, 11)
    assert (first, *found) == expected.tokens
    assert session.tokens == [*ids, first, *found[:-1]]
    after, expected_after = session.step(found[-1]), small_model.logits([*ids, first, *found])[-1]
    assert np.abs(after - expected_after).max() <= 1e-3 * np.abs(after).max()
    session.close()


def test_a_graph_serves_every_token(small_model: LanguageModel) -> None:
    """One for texts of up to 64 tokens: a launch a token, captured once."""
    session = small_model.session()
    session.append([1, 2, 3])
    for token in (4, 5, 6):
        session.step(token)
    assert len(session._graphs) == 1
    session.close()
    with pytest.raises(ClosedError, match="append: the session is closed"):
        session.append([1])


def test_longer_texts_have_graphs_of_their_own(tmp_path: Path) -> None:
    """Beyond 64 positions, with what stands before them in view."""
    metadata, tensors = small_files.drawn("qwen3")
    metadata["qwen3.context_length"] = 256
    model = load(small_files.write(tmp_path / "m.gguf", metadata, tensors), DEVICE, context=256, kv="f32")
    ids = [n * 37 % 256 for n in range(68)]
    expected = plain_numpy.logits(metadata, tensors, ids, 256)
    session = model.session()
    session.append(ids[:62])
    for at in range(62, 68):
        assert np.abs(session.step(ids[at]) - expected[at]).max() <= 1e-4 * np.abs(expected).max()
    assert sorted(session._graphs) == [64, 128]


def test_long_prompts_are_read_in_parts(small_model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose logits are those of the whole."""
    ids = [n * 5 % 250 for n in range(13)]
    whole = small_model.logits(ids)
    monkeypatch.setattr("rocmkern.models.session.BATCH", 5)
    parts = small_model.logits(ids)
    assert parts.shape == whole.shape
    assert np.abs(parts - whole).max() <= 1e-3 * np.abs(whole).max()


def test_sessions_fork_and_go_back(small_model: LanguageModel) -> None:
    """Each with its own text."""
    session = small_model.session()
    session.append([1, 2, 3, 4])
    other = session.fork()
    session.truncate(2)
    one, two = session.append([9]), other.append([9])
    assert (session.tokens, other.tokens) == ([1, 2, 9], [1, 2, 3, 4, 9])
    assert np.abs(one - small_model.logits([1, 2, 9])[-1]).max() <= 1e-3 * np.abs(one).max()
    assert np.abs(two - small_model.logits([1, 2, 3, 4, 9])[-1]).max() <= 1e-3 * np.abs(two).max()
    assert session.reuse([1, 2, 5, 6]) == [5, 6]
    assert session.reuse([1, 2]) == [2]
    with pytest.raises(ContextError, match=r"it has 1 tokens, not 7; use 0\.\.1"):
        session.truncate(7)


def test_a_text_that_goes_on_is_not_read_again(small_model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session that has most of it is taken."""
    made = small_model.generate(PROMPT, max_tokens=4, **GREEDY)
    read = list[int]()
    append = language.Session.append
    monkeypatch.setattr(language.Session, "append", lambda self, ids: (read.append(len(ids)), append(self, ids))[1])
    ids = small_model.tokenizer.encode(PROMPT)
    small_model.generate([*ids, *made.tokens], max_tokens=1, **GREEDY)
    assert read == [1]


def test_what_does_not_fit_is_refused(small_model: LanguageModel) -> None:
    """Before anything is computed; a text ends with the context."""
    with pytest.raises(ContextError, match="65 tokens behind 0 do not fit a context of 64; load"):
        small_model.session().append([1] * 65)
    with pytest.raises(ContextError, match="a prompt of 65 tokens for a context of 64"):
        small_model.generate([1] * 65)
    with pytest.raises(ContextError, match="no tokens to append"):
        small_model.session().append([])
    with pytest.raises(ContextError, match="the prompt has no tokens"):
        small_model.generate("")
    with pytest.raises(ContextError, match="65 more tokens behind 0 do not fit a context of 64"):
        small_model.session().advance(1, 65)
    made = small_model.generate([1] * 62, max_tokens=50, **GREEDY)
    assert (len(made.tokens), made.finish) == (2, "length")
    assert small_model.generate([1] * 64, **GREEDY).tokens == ()


class Fixed:
    """Stands for a sampler: chooses the tokens of a text."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = iter(ids)

    def choose(self, logits: Any, before: Any) -> int:
        return next(self.ids)


def written(model: LanguageModel, text: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[list[str], Any]:
    """What is given piece by piece where the model writes a text, special tokens in it."""
    ids = model.tokenizer.encode(text, special=True)
    monkeypatch.setattr(language, "Sampler", lambda _: Fixed(ids))
    stream = model.stream("hello", max_tokens=options.pop("max_tokens", len(ids)), **options)
    return list(stream), stream.result


@pytest.mark.parametrize(
    ("text", "stop", "pieces", "finish"),
    [
        ("hello wow", (), ["hello", " wo", "w"], "length"),
        ("hello<|im_end|>wow", (), ["hello"], "stop"),
        ("hello wow12", "ow", ["hello", " w"], "stop"),
        ("hello wow12", ("zz", "w12"), ["hello", " wo"], "stop"),
        ("hello wow", "w!", ["hello", " wo", "w"], "length"),
        ("é", (), ["é"], "length"),
        ("aé", "é", ["a"], "stop"),
    ],
)
def test_pieces_end_where_the_text_does(
    text: str, stop: Any, pieces: list[str], finish: str, small_model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a token that ends it, at a stop string, of which no part is given, at the number of tokens."""
    found, result = written(small_model, text, monkeypatch, stop=stop)
    assert "".join(found) == "".join(pieces) == result.text
    assert result.finish == finish


def test_pieces_come_as_soon_as_they_are_sure(small_model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may begin a stop string waits; so does a character of which bytes lack."""
    found, _ = written(small_model, "wxwywé", monkeypatch, stop="wz")
    assert found == ["wx", "wy", "wé"]


def test_seeds_make_the_same_text(small_model: LanguageModel) -> None:
    """And others another."""
    one, two, three = (small_model.generate(PROMPT, max_tokens=8, seed=seed, temperature=2.0) for seed in (1, 1, 2))
    assert one.tokens == two.tokens != three.tokens


def test_conversations_are_spelt_by_the_template(small_model: LanguageModel) -> None:
    """And what is written is the answer."""
    messages = [{"role": "user", "content": "hello"}]
    ids = small_model.template.tokens(messages)
    assert small_model.chat(messages, max_tokens=3, **GREEDY).tokens == tuple(by_logits(small_model, ids, 3))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stop": ""}, "an empty stop string"),
        ({"max_tokens": -1}, "max_tokens=-1; use 0 or more"),
        ({"temperature": -1}, "temperature=-1; use"),
        ({"schema": {"type": 3}}, "schema: "),
        ({"schema": "{"}, "schema: "),
    ],
)
def test_options_are_checked(options: dict[str, Any], words: str, small_model: LanguageModel) -> None:
    """Before anything is computed."""
    with pytest.raises(ConfigError, match=words):
        small_model.stream("hello", **options)
    with pytest.raises(TypeError, match="no option temprature"):
        small_model.stream("hello", temprature=1)


def test_answers_fit_their_schema(small_model: LanguageModel) -> None:
    """Whatever a model of random weights would write."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}, "b": {"enum": ["hello", "wow"]}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    for seed in range(2):
        made = small_model.generate("hello", schema=schema, max_tokens=60, seed=seed, top_k=0, temperature=1.0)
        assert made.finish == "stop"
        found = json.loads(made.text)
        assert found.keys() == {"a", "b"}
        assert found["a"] in range(100)
        assert found["b"] in ("hello", "wow")


def test_perplexity_counts_second_halves(small_model: LanguageModel) -> None:
    """Of chunks, each read alone."""
    text = "hello wow 12 " * 6
    ids, losses = small_model.tokenizer.encode(text), []
    for first in range(0, len(ids) - 15, 16):
        part = ids[first : first + 16]
        logits = small_model.logits(part).astype(np.float64)
        losses += [np.logaddexp.reduce(logits[at]) - logits[at, part[at + 1]] for at in range(8, 15)]
    assert small_model.perplexity(text, chunk=16) == pytest.approx(math.exp(np.mean(losses)), rel=1e-3)
    with pytest.raises(ContextError, match="a text of 1 tokens for chunks of 64; use chunk="):
        small_model.perplexity("hello", chunk=64)
    with pytest.raises(ContextError, match="chunks of 65 tokens; use 2 to 64"):
        small_model.perplexity("hello", chunk=65)


def changed(path: Path, metadata: Mapping[str, Any], without: str = "", **tensors: Any) -> Path:
    """The small llama with other metadata and tensors."""
    given, drawn = small_files.drawn("llama")
    kept = {name: tensor for name, tensor in {**drawn, **tensors}.items() if name != without}
    return small_files.write(path, {key: v for key, v in {**given, **metadata}.items() if v is not None}, kept)


@pytest.mark.parametrize(
    ("metadata", "error", "words"),
    [
        ({"general.architecture": "lama"}, UnsupportedArchitecture, "no architecture 'lama'; there is llama"),
        ({"tokenizer.ggml.pre": "new"}, UnsupportedArchitecture, "no pre-tokeniser 'new'"),
        ({"llama.block_count": None}, GgufError, r"llama\.block_count is missing"),
        ({"llama.block_count": 0}, GgufError, r"llama\.block_count is 0; it must be a positive integer"),
        ({"llama.block_count": 3}, TensorNotFound, r"no tensor 'blk\.2\."),
        ({"llama.block_count": 1}, UnsupportedArchitecture, r"9 tensors of m\.gguf are not known of llama, blk\.1\."),
        (
            {"llama.embedding_length": 64},
            GgufError,
            r"'token_embd\.weight' has shape \(267, 32\); .*make it \(267, 64\)",
        ),
        ({"llama.attention.head_count": 3}, UnsupportedArchitecture, "3 heads, 2 of keys"),
        ({"llama.attention.value_length": 8}, UnsupportedArchitecture, "values must be as long as keys"),
        (
            {"llama.rope.scaling.type": "su"},
            UnsupportedArchitecture,
            r"rope\.scaling\.type is 'su'; supported are none",
        ),
        ({"llama.attention.clamp_kqv": 8.0}, UnsupportedArchitecture, r"llama\.attention\.clamp_kqv is set"),
        ({"llama.attention.layer_norm_rms_epsilon": "x"}, GgufError, "is 'x'; it must be a number"),
        ({"llama.rope.dimension_count": 17}, GgufError, "rope.dimension_count is 17 for heads of 16"),
    ],
)
def test_models_of_another_kind_are_refused(
    metadata: dict[str, Any], error: type[Exception], words: str, tmp_path: Path
) -> None:
    """By name, before anything is computed with what was guessed."""
    with pytest.raises(error, match=words):
        load(changed(tmp_path / "m.gguf", metadata), DEVICE)


def test_tensors_that_are_missing_or_left_over_are_named(tmp_path: Path) -> None:
    """Silent nonsense would come of either."""
    with pytest.raises(TensorNotFound, match=r"no tensor 'blk\.1\.ffn_up\.weight'"):
        load(changed(tmp_path / "a.gguf", {}, without="blk.1.ffn_up.weight"), DEVICE)
    more = {"blk.0.attn_rot.weight": np.ones(3, np.float32)}
    with pytest.raises(UnsupportedArchitecture, match=r"1 tensors of b\.gguf .* of llama, blk\.0\.attn_rot\.weight"):
        load(changed(tmp_path / "b.gguf", {}, **more), DEVICE)


def test_a_model_without_a_template_says_so(tmp_path: Path) -> None:
    """Its prompts are texts."""
    model = load(changed(tmp_path / "m.gguf", {"tokenizer.chat_template": None}), DEVICE)
    with pytest.raises(TemplateError, match="has no chat template; give its prompt as a text"):
        model.chat([{"role": "user", "content": "x"}])


def test_options_of_loading_are_checked(small_path: Path) -> None:
    """And the context is no longer than the model was trained for."""
    with pytest.raises(ConfigError, match="kv='q8'; use one of f16, f32"):
        load(small_path, DEVICE, kv="q8")
    with pytest.raises(ConfigError, match="context=0; use 1 or more"):
        load(small_path, DEVICE, context=0)
    assert load(small_path, DEVICE).context == 64


def test_loading_tells_its_progress(small_path: Path) -> None:
    """Layer by layer."""
    told = list[tuple[str, int, int]]()
    load(small_path, DEVICE, progress=lambda *at: told.append(at))
    assert told == [("layers", 1, 2), ("layers", 2, 2)]


def in_blocks(rng: np.random.Generator, rows: int, columns: int, name: str) -> tuple[Any, Any, Any]:
    """A random matrix in blocks, their type, and the values that they hold."""
    kind = gguf.GGMLQuantizationType[name]
    raw = gguf.quants.quantize((rng.standard_normal((rows, columns)) / 8).astype(np.float32), kind)
    return raw, kind, gguf.quants.dequantize(raw, kind)


def test_matrices_of_several_formats_are_joined(tmp_path: Path) -> None:
    """Queries and keys of blocks, values of halves, gates of other blocks: results are within their rounding."""
    rng = np.random.default_rng(5)
    metadata, tensors = small_files.drawn("qwen2")
    held: dict[str, Any] = dict(tensors)
    for at in ("blk.0", "blk.1"):
        for name, kind in (("attn_q", "Q8_0"), ("attn_k", "Q8_0"), ("ffn_gate", "Q8_0"), ("ffn_up", "Q5_0")):
            raw, number, values = in_blocks(rng, *tensors[f"{at}.{name}.weight"].shape, kind)
            held[f"{at}.{name}.weight"], tensors[f"{at}.{name}.weight"] = (raw, number), values
        half = tensors[f"{at}.attn_v.weight"].astype(np.float16)
        held[f"{at}.attn_v.weight"], tensors[f"{at}.attn_v.weight"] = half, half.astype(np.float32)
    model = load(small_files.write(tmp_path / "m.gguf", metadata, held), DEVICE, kv="f32")
    ids = [5, 60, 7, 200, 9]
    expected = plain_numpy.logits(metadata, tensors, ids, 64)
    assert np.abs(model.logits(ids) - expected).max() <= 0.04 * np.abs(expected).max()


def test_formats_without_products_fail_at_their_use(tmp_path: Path) -> None:
    """The model loads, with its tokenizer; what multiplies by the tensor names it."""
    path = changed(tmp_path / "m.gguf", {})
    content = bytearray(path.read_bytes())
    at = content.index(b"blk.1.ffn_up.weight") + len(b"blk.1.ffn_up.weight") + 4 + 16
    content[at : at + 4] = (16).to_bytes(4, "little")
    path.write_bytes(content)
    model = load(path, DEVICE)
    assert model.tokenizer.decode(model.tokenizer.encode("hello")) == "hello"
    with pytest.raises(FormatNotFound, match=r"tensor 'blk\.1\.ffn_up\.weight' of m\.gguf: no kernels for iq2_xxs"):
        model.logits([1])


def test_the_module_is_reached_from_the_package(small_path: Path) -> None:
    """`rk.models.load`, on any device by name."""
    assert repr(rk.models.load(small_path, "emulator:gfx1100")) == (
        "LanguageModel('small', llama of 2 layers, 64 tokens, emulator:gfx1100)"
    )
