"""Chat templates: messages as the text that a model was trained on.

Templates come with files that anybody may have made, so they run in Jinja's immutable sandbox. What users write stays
text: where it spells a special token, or could by what stands beside it, a noncharacter of Unicode parts it until the
rendered text is encoded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from attrs import define, field

from rocmkern.errors import TemplateError
from rocmkern.models.packages import package
from rocmkern.models.tokens import Tokenizer

KEY: Final = "tokenizer.chat_template"
ROLES: Final = ("system", "developer", "user", "assistant", "tool")
LONGEST: Final = 1 << 22  # characters that a template may make
_MARKS: Final = tuple(map(chr, range(0xFDD0, 0xFDF0)))  # noncharacters, which no text holds by right
_AS_THEY_ARE: Final = ("role", "type")  # entries that templates compare


@define(eq=False)
class Template:
    """A chat template. It is compiled when it is first used: one that does not parse keeps no model from loading."""

    source: str
    tokenizer: Tokenizer
    _compiled: Any = field(init=False, default=None)

    def tokens(
        self, messages: Sequence[Mapping[str, Any]], *, add_generation_prompt: bool = True, **values: Any
    ) -> list[int]:
        """The tokens of a conversation. Raises TemplateError (a ValueError) as `render` does."""
        known = self.tokenizer.special_texts
        mark = self._mark([messages, values])
        text = self.render(
            _parted(messages, known, mark), add_generation_prompt=add_generation_prompt, **_parted(values, known, mark)
        )
        ids = self.tokenizer.spelt(text, mark)
        bos = self.tokenizer.bos
        return [bos, *ids] if self.tokenizer.adds_bos and bos is not None and ids[:1] != [bos] else ids

    def render(self, messages: Sequence[Mapping[str, Any]], **values: Any) -> str:
        """The text of a conversation: a sequence of {"role": …, "content": …}.

        Raises TemplateError (a ValueError) where the template does not parse or refuses the messages, or makes more
        than 4 Mi characters, and for a role that is none of ROLES.
        """
        for message in messages:
            if message.get("role") not in ROLES:
                raise TemplateError(f"chat: role {message.get('role')!r}; use one of {', '.join(ROLES)}")
        jinja = package("jinja2", "chat")
        given = {
            "messages": messages,
            "tools": None,
            "documents": None,
            "bos_token": self._spelt(self.tokenizer.bos),
            "eos_token": self._spelt(self.tokenizer.eos),
            **values,
        }
        try:
            if self._compiled is None:
                self._compiled = _environment().from_string(self.source)
            found, length = list[str](), 0
            for piece in self._compiled.generate(**given):
                found.append(piece)
                length += len(piece)
                if length > LONGEST:
                    raise TemplateError(
                        f"chat: the template makes more than {LONGEST} characters; shorten the messages"
                    )
            return "".join(found)
        except (jinja.TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            if isinstance(error, TemplateError):
                raise
            raise TemplateError(f"chat: the template of the model says {error}; change the messages") from error

    def _spelt(self, token: int | None) -> str:
        return "" if token is None else self.tokenizer.texts[token]

    def _mark(self, values: object) -> str:
        """A noncharacter that no text holds."""
        held = "".join(_strings(values))
        found = next((mark for mark in _MARKS if mark not in held and mark not in self.source), None)
        if found is None:
            raise TemplateError("chat: the messages hold all noncharacters from U+FDD0 on; leave one out")
        return found


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _strings(key)
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


def _parted(value: Any, special: Sequence[str], mark: str) -> Any:
    """Values of a template whose texts spell no special token, alone or with what stands beside them."""
    if isinstance(value, str):
        return _apart(value, special, mark)
    if isinstance(value, Mapping):
        return {
            key: inner if key in _AS_THEY_ARE and isinstance(inner, str) else _parted(inner, special, mark)
            for key, inner in value.items()
        }
    return [_parted(inner, special, mark) for inner in value] if isinstance(value, list | tuple) else value


def _apart(text: str, special: Sequence[str], mark: str) -> str:
    for token in special:
        if len(token) > 1 and token in text:
            text = text.replace(token, token[0] + mark + token[1:])
        if token in text:  # of one character
            text = text.replace(token, mark)
    cuts = set[int]()
    for token in special:
        if text and len(text) < len(token) and text in token:
            cuts.add(1)
        for length in range(1, min(len(token), len(text) + 1)):
            if text.endswith(token[:length]):
                cuts.add(len(text) - length + 1)
            if text.startswith(token[-length:]):
                cuts.add(length - 1)
    for at in sorted(cuts, reverse=True):
        text = text[:at] + mark + text[at:]
    return text


def _environment() -> Any:
    """A sandbox with what templates use."""
    sandbox, jinja = package("jinja2.sandbox", "chat"), package("jinja2", "chat")
    package("jinja2.ext", "chat")
    made = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )

    def raise_exception(message: str) -> None:
        raise jinja.TemplateError(message)

    def as_json(value: Any, indent: int | None = None, **_: Any) -> str:
        return json.dumps(value, ensure_ascii=False, indent=indent)

    class Generation(jinja.ext.Extension):  # type: ignore[name-defined,misc]  # a module that comes late
        """`{% generation %}`, which marks answers for training."""

        tags = frozenset({"generation"})

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    made.add_extension(Generation)
    made.globals.update(raise_exception=raise_exception, strftime_now=lambda form: datetime.now().strftime(form))
    made.filters["tojson"] = as_json
    return made
