"""A language model's tokenizer, from the vocabulary in its file.

The package `tokenizers` splits and merges; here is how a file's entries become its parts. `gpt2` vocabularies are byte
pairs (Sennrich et al. 2016, arXiv:1508.07909) of bytes, with a pattern that splits text before; `llama` vocabularies
are SentencePiece's, whose merges follow from the pieces' scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import define, field, frozen

from rocmkern.errors import GgufError, KernelIndexError, UnsupportedArchitecture
from rocmkern.models.packages import package
from rocmkern.near import near

UNKNOWN, CONTROL, USER_DEFINED, BYTE = 2, 3, 4, 6  # kinds of tokens in a file
_CONTRACTIONS: Final = "'(?:[sdmt]|ll|ve|re)"
_ENDS: Final = r"\s+(?!\S)|\s+"
_GPT2: Final = rf"{_CONTRACTIONS}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|{_ENDS}"


def _words(letters: str, digits: str, behind_marks: str = "", endings: str = "") -> str:
    """The patterns since Llama 3: a mark before a word goes with it, line ends are pieces of their own."""
    return f"{endings}{letters}|{digits}| ?[^\\s\\p{{L}}\\p{{N}}]+[\\r\\n{behind_marks}]*|\\s*[\\r\\n]+|{_ENDS}"


_ANY_CASE: Final = rf"(?i:{_CONTRACTIONS})"
_PLAIN: Final = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_BEFORE: Final = r"[^\r\n\p{L}\p{N}]?"
_LLAMA3: Final = (_words(_PLAIN, r"\p{N}{1,3}", endings=f"{_ANY_CASE}|"),)
_QWEN2: Final = (_words(_PLAIN, r"\p{N}", endings=f"{_ANY_CASE}|"),)
_BY_DIGIT: Final = (r"\p{N}", _GPT2)


def _cased(behind: str, digits: str) -> str:
    return _words(f"{_BEFORE}{_UPPER}*{_LOWER}+{behind}|{_BEFORE}{_UPPER}+{_LOWER}*{behind}", digits, "/")


# By the name in a file: patterns whose matches are pieces, one pass after another; whether a piece that is a token is
# taken whole, whatever its merges; whether a text begins with the first token where the file does not say.
PATTERNS: Final[dict[str, tuple[tuple[str, ...], bool, bool]]] = {
    **dict.fromkeys(("gpt-2", "olmo", "mpt", "phi-2", "exaone4", "jais", "trillion"), ((_GPT2,), False, False)),
    **dict.fromkeys(
        ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"), (_BY_DIGIT, False, False)
    ),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "lfm2"), (_LLAMA3, True, True)),
    **dict.fromkeys(("dbrx", "smaug-bpe", "glm4", "chatglm-bpe"), (_LLAMA3, False, False)),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez", "grok-2"), (_QWEN2, False, False)),
    "tekken": ((_cased("", r"\p{N}"),), True, True),
    **dict.fromkeys(("gpt-4o", "llama4"), ((_cased(f"{_ANY_CASE}?", r"\p{N}{1,3}"),), True, False)),
}  # fmt: skip
# Tokens that end an answer, by text: many files name a wrong one.
_ENDINGS: Final = frozenset((
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|eom_id|>", "<|end_of_text|>",
    "<|return|>", "<|call|>", "</s>", "<EOT>", "[EOS]",
))  # fmt: skip
_SPACE: Final = "▁"


@define(eq=False)
class Tokenizer:
    """Text to tokens and back: `tokenizer.encode(text)`, `tokenizer.decode(ids)`."""

    texts: tuple[str, ...] = field(repr=False)  # of every token, as the file has them
    kinds: tuple[int, ...] = field(repr=False)
    bos: int | None
    eos: int | None
    adds_bos: bool
    adds_eos: bool
    endings: frozenset[int]  # tokens that end an answer
    _backend: Any = field(repr=False)
    _special: re.Pattern[str] | None = field(repr=False)
    _ids: dict[str, int] = field(repr=False)

    def __len__(self) -> int:
        return len(self.texts)

    def encode(self, text: str, *, special: bool = False, add_bos: bool | None = None) -> list[int]:
        """The tokens of a text, which begins with the first token where the model wants it.

        What spells a special token is text like any other, unless `special` has it become that token.
        """
        starts = self.adds_bos if add_bos is None else add_bos
        ids = [self.bos] if starts and self.bos is not None else []
        ids += self.spelt(text) if special else self.plain(text)
        return [*ids, self.eos] if self.adds_eos and add_bos is None and self.eos is not None else ids

    def plain(self, text: str) -> list[int]:
        """The tokens of text alone, none of them special."""
        found: list[int] = self._backend.encode(text, add_special_tokens=False).ids if text else []
        return found

    def spelt(self, text: str, mark: str = "") -> list[int]:
        """The tokens of a text that spells special ones. What a mark parts is not spelt; marks are left out."""
        ids = list[int]()
        for number, piece in enumerate([text] if self._special is None else self._special.split(text)):
            ids += [self._ids[piece]] if number % 2 else self.plain(piece.replace(mark, "") if mark else piece)
        return ids

    @property
    def special_texts(self) -> tuple[str, ...]:
        """What spells a special token."""
        return tuple(text for text, kind in zip(self.texts, self.kinds, strict=True) if kind == CONTROL and text)

    def decode(self, ids: Iterable[int], *, special: bool = False) -> str:
        """The text of tokens; `special` spells special ones too. Raises KernelIndexError (an IndexError) for another
        number.
        """
        text: str = self._backend.decode(self.known(ids), skip_special_tokens=not special)
        return text

    def known(self, ids: Iterable[int]) -> list[int]:
        """The ids themselves. Raises KernelIndexError for one that is no token."""
        given = [int(one) for one in ids]
        for one in given:
            if not 0 <= one < len(self.texts):
                raise KernelIndexError(f"tokens: id {one} of {len(self.texts)}; use 0..{len(self.texts) - 1}")
        return given

    def pieces(self) -> Pieces:
        """For the text of tokens that come one by one."""
        return Pieces(self._backend, package("tokenizers", "decode").decoders.DecodeStream(skip_special_tokens=True))

    def bytes_of(self, token: int) -> bytes:
        """What a token stands for in a text; of a special one, how it is spelt."""
        text, kind = self.texts[token], self.kinds[token]
        if kind in (CONTROL, USER_DEFINED):
            return text.encode()
        if kind == BYTE:
            return bytes([int(text[3:5], 16)])
        if not self._backend.model.byte_fallback:
            return bytes(_BYTE_OF[letter] for letter in text) if all(c in _BYTE_OF for c in text) else text.encode()
        return text.replace(_SPACE, " ").encode()


@frozen(eq=False)
class Pieces:
    """Text as tokens come: `pieces.add(id)` gives what is whole."""

    _backend: Any
    _stream: Any

    def add(self, token: int) -> str:
        """The text that the token completes; empty within a character of several tokens."""
        return self._stream.step(self._backend, token) or ""


def _letters_of_bytes() -> dict[str, int]:
    """How byte-level vocabularies spell bytes: printable ones as they are, the others from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(0x100 + n): byte for n, byte in enumerate(others)}


_BYTE_OF: Final = _letters_of_bytes()


def tokenizer(metadata: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer of a file's metadata.

    Raises UnsupportedArchitecture for a vocabulary or a pre-tokeniser that is not known, GgufError (a ValueError) for
    entries that don't fit together, ModelNotFound where `tokenizers` is not installed.
    """
    model = metadata.get("tokenizer.ggml.model")
    if model not in ("gpt2", "llama"):
        raise UnsupportedArchitecture(f"load tokenizer: vocabulary {model!r} is not known; there are gpt2, llama")
    texts, count = _texts(metadata, "tokens"), len(_texts(metadata, "tokens"))
    kinds = metadata.get("tokenizer.ggml.token_type", [1] * count)
    if not isinstance(kinds, list) or len(kinds) != count:
        raise GgufError(f"load tokenizer: tokenizer.ggml.token_type does not have {count} entries, as tokens has")
    ids = {text: number for number, text in enumerate(texts)}
    backend, starts = (_of_bytes if model == "gpt2" else _of_pieces)(metadata, ids, texts, kinds)
    module = package("tokenizers", "load tokenizer")
    special = [text for text, kind in zip(texts, kinds, strict=True) if kind == CONTROL and text]
    backend.add_special_tokens([module.AddedToken(text, special=True, normalized=False) for text in special])
    backend.add_tokens([
        module.AddedToken(text, special=False, normalized=False)
        for text, kind in zip(texts, kinds, strict=True) if kind == USER_DEFINED and text
    ])  # fmt: skip
    backend.encode_special_tokens = True
    named = {name: _id(metadata, f"{name}_token_id", count) for name in ("bos", "eos", "eot", "eom")}
    if model == "llama":
        named = {**named, "bos": 1 if named["bos"] is None else named["bos"]}
        named = {**named, "eos": 2 if named["eos"] is None else named["eos"]}
    pattern = "|".join(re.escape(text) for text in sorted(special, key=len, reverse=True))
    return Tokenizer(
        texts=tuple(texts),
        kinds=tuple(kinds),
        bos=named["bos"],
        eos=named["eos"],
        adds_bos=bool(metadata.get("tokenizer.ggml.add_bos_token", starts)),
        adds_eos=bool(metadata.get("tokenizer.ggml.add_eos_token", False)),
        endings=frozenset(
            {one for name, one in named.items() if name != "bos" and one is not None}
            | {ids[text] for text in _ENDINGS if text in ids and kinds[ids[text]] in (CONTROL, USER_DEFINED)}
        ),
        backend=backend,
        special=re.compile(f"({pattern})") if special else None,
        ids=ids,
    )


def _texts(metadata: Mapping[str, Any], key: str) -> list[str]:
    found = metadata.get(f"tokenizer.ggml.{key}")
    if not isinstance(found, list) or not found or not isinstance(found[0], str):
        raise GgufError(f"load tokenizer: tokenizer.ggml.{key} is missing; convert the model anew")
    return found


def _id(metadata: Mapping[str, Any], key: str, count: int) -> int | None:
    found = metadata.get(f"tokenizer.ggml.{key}")
    if found is not None and (type(found) is not int or not 0 <= found < count):
        raise GgufError(f"load tokenizer: tokenizer.ggml.{key} is {found!r} of {count} tokens")
    return found


def _of_bytes(
    metadata: Mapping[str, Any], ids: dict[str, int], texts: Sequence[str], kinds: Sequence[int]
) -> tuple[Any, bool]:
    """Byte pairs, and whether texts begin with the first token by default."""
    name = metadata.get("tokenizer.ggml.pre")
    if name not in PATTERNS:
        raise UnsupportedArchitecture(
            f"load tokenizer: no pre-tokeniser {name!r} in tokenizer.ggml.pre; there is {near(name, PATTERNS)}"
        )
    patterns, whole, starts = PATTERNS[name]
    module = package("tokenizers", "load tokenizer")
    merges = [_parted(text) for text in _texts(metadata, "merges")]
    for pair in merges:
        if any(part not in ids for part in (*pair, "".join(pair))):
            raise GgufError(f"load tokenizer: the merge {' '.join(pair)!r} is of no tokens; get the file again")
    backend = module.Tokenizer(module.models.BPE(vocab=ids, merges=merges, ignore_merges=whole))
    splits = [module.pre_tokenizers.Split(module.Regex(pattern), "isolated") for pattern in patterns]
    letters = module.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = module.pre_tokenizers.Sequence([*splits, letters])
    backend.decoder = module.decoders.ByteLevel()
    return backend, starts


def _parted(merge: str) -> tuple[str, str]:
    """The two tokens of a merge; the first may begin with a space itself."""
    at = merge.find(" ", 1)
    return (merge, "") if at < 0 else (merge[:at], merge[at + 1 :])


def _of_pieces(
    metadata: Mapping[str, Any], ids: dict[str, int], texts: Sequence[str], kinds: Sequence[int]
) -> tuple[Any, bool]:
    """SentencePiece's pieces. Of every two that make a third, the merge whose result scores best comes first."""
    scores = metadata.get("tokenizer.ggml.scores")
    if not isinstance(scores, list) or len(scores) != len(texts):
        raise GgufError(f"load tokenizer: tokenizer.ggml.scores does not have {len(texts)} entries, as tokens has")
    module = package("tokenizers", "load tokenizer")
    ordinary = {text for text, kind in zip(texts, kinds, strict=True) if kind not in (UNKNOWN, CONTROL, BYTE)}
    merges = [
        (-scores[ids[text]], text[:at], text[at:])
        for text in texts if text in ordinary
        for at in range(1, len(text)) if text[:at] in ordinary and text[at:] in ordinary
    ]  # fmt: skip
    merges.sort(key=lambda merge: merge[0])
    unknown = _id(metadata, "unknown_token_id", len(texts))
    backend = module.Tokenizer(
        module.models.BPE(
            vocab=ids,
            merges=[merge[1:] for merge in merges],
            unk_token=texts[0 if unknown is None else unknown],
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    prefixed = bool(metadata.get("tokenizer.ggml.add_space_prefix", True))
    normalizers, decoders = module.normalizers, module.decoders
    before = [normalizers.Prepend(_SPACE)] if prefixed else []
    backend.normalizer = normalizers.Sequence([*before, normalizers.Replace(" ", _SPACE)])
    stripped = [decoders.Strip(" ", 1, 0)] if prefixed else []
    backend.decoder = decoders.Sequence(
        [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), *stripped]
    )
    return backend, True
