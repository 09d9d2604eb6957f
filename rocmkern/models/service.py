"""OpenAI's chat and completion endpoints over one model, as an ASGI application.

Several texts are written at once, token by token in turn: one thread works for all of them. Requests beyond the number
of texts wait, and beyond a number of waiting ones are refused.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

from attrs import define, field, frozen

from rocmkern.errors import RocmkernError
from rocmkern.models.packages import package

if TYPE_CHECKING:
    from rocmkern.models.language import Generation, LanguageModel, Prompt, Stream

Made = TypeVar("Made")
_JSON: Final = "application/json"
# What a request may say of how tokens are chosen, and what the model calls it.
_OPTIONS: Final = {
    "temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "min_p": "min_p",
    "frequency_penalty": "frequency_penalty", "presence_penalty": "presence_penalty",
    "repeat_penalty": "repeat_penalty",
}  # fmt: skip
# What would change the answer and is not done here: refused unless it says nothing.
_REFUSED: Final = (
    "tools", "functions", "logprobs", "top_logprobs", "logit_bias", "audio", "modalities", "suffix", "echo",
)  # fmt: skip


@frozen
class Limits:
    """What requests may take: texts at once, requests that wait, tokens of an answer, seconds, bytes of a request."""

    texts: int = 4
    waiting: int = 16
    tokens: int = 2048
    seconds: float = 600.0
    nbytes: int = 1 << 20


class _Refused(Exception):
    """A request that gets an error."""

    def __init__(self, status: int, message: str, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


@define(eq=False)
class _Ask:
    """What one request asks for."""

    prompt: Prompt
    options: dict[str, Any]
    is_chat: bool
    streams: bool
    tells_usage: bool


@frozen(eq=False)
class _Placed:
    """A response that has a place, and leaves it also where nobody reads it from the beginning."""

    response: Any
    leave: Callable[[], None]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await self.response(scope, receive, send)
        finally:
            self.leave()


@define(eq=False)
class Service:
    """One model and its limits: `Service(model).application()` is what a server runs."""

    model: LanguageModel
    limits: Limits = field(factory=Limits)
    _thread: ThreadPoolExecutor = field(init=False, factory=lambda: ThreadPoolExecutor(1, "rocmkern-model"))
    _places: asyncio.Semaphore = field(init=False)
    _waiting: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self._places = asyncio.Semaphore(self.limits.texts)

    def application(self, hosts: Sequence[str] = ()) -> Any:
        """Of starlette. Requests have to name one of the hosts, where some are given: a page of the web whose name
        leads to this machine names another.

        Raises ModelNotFound (a LookupError) where starlette is not installed.
        """
        applications = package("starlette.applications", "serve", "serve")
        route = package("starlette.routing", "serve", "serve").Route
        guard = package("starlette.middleware.trustedhost", "serve", "serve").TrustedHostMiddleware
        wrapped = package("starlette.middleware", "serve", "serve").Middleware
        return applications.Starlette(
            middleware=[wrapped(guard, allowed_hosts=list(hosts), www_redirect=False)] if hosts else [],
            routes=[
                route("/health", self._health, methods=["GET"]),
                route("/v1/models", self._models, methods=["GET"]),
                route("/v1/chat/completions", self._chat, methods=["POST"]),
                route("/v1/completions", self._completions, methods=["POST"]),
            ],
        )

    async def _health(self, request: Any) -> Any:
        return _answer({"status": "ok"})

    async def _models(self, request: Any) -> Any:
        row = {"id": self.model.name, "object": "model", "created": 0, "owned_by": "rocmkern"}
        return _answer({"object": "list", "data": [row]})

    async def _chat(self, request: Any) -> Any:
        return await self._answered(request, is_chat=True)

    async def _completions(self, request: Any) -> Any:
        return await self._answered(request, is_chat=False)

    async def _answered(self, request: Any, *, is_chat: bool) -> Any:
        try:
            ask = _ask(await self._body(request), is_chat, self.limits)
            if self._waiting >= self.limits.waiting:
                raise _Refused(429, "too many requests wait; try again later", "rate_limit_error")
            self._waiting += 1
            try:
                await self._places.acquire()
            finally:
                self._waiting -= 1
        except _Refused as refused:
            return _error(refused)
        try:
            stream = await self._worked(lambda: self.model.stream(ask.prompt, **ask.options))
            if ask.streams:
                responses = package("starlette.responses", "serve", "serve")
                response = responses.StreamingResponse(self._events(ask, stream), media_type="text/event-stream")
                return _Placed(response, self._places.release)
        except (RocmkernError, TypeError) as error:
            self._places.release()
            return _error(_Refused(400, str(error)))
        except BaseException:
            self._places.release()
            raise
        try:
            text = "".join([piece async for piece in self._pieces(stream)])
        except RocmkernError as error:
            return _error(_Refused(500, str(error), "server_error"))
        finally:
            self._places.release()
        return _answer(_whole(ask, self.model.name, text, stream.result))

    async def _worked(self, work: Callable[[], Made]) -> Made:
        """Done by the thread that works for all requests."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _pieces(self, stream: Stream) -> AsyncIterator[str]:
        """What is written, until the time is over or nobody reads on."""
        end = time.monotonic() + self.limits.seconds
        try:
            while time.monotonic() < end:
                piece = await self._worked(lambda: next(stream, None))
                if piece is None:
                    return
                yield piece
        finally:
            await asyncio.shield(self._worked(stream.close))

    async def _events(self, ask: _Ask, stream: Stream) -> AsyncIterator[str]:
        """Server-sent events, as OpenAI's clients read them."""
        head = _head(ask, self.model.name, streams=True)

        def event(delta: dict[str, str], finish: str | None = None) -> str:
            part = {"delta": delta} if ask.is_chat else {"text": delta.get("content", "")}
            return _event({**head, "choices": [_choice(part, finish)]})

        try:
            if ask.is_chat:
                yield event({"role": "assistant", "content": ""})
            async for piece in self._pieces(stream):
                yield event({"content": piece})
            yield event({}, _finish(stream.result))
            if ask.tells_usage and stream.result is not None:
                yield _event({**head, "choices": [], "usage": _usage(stream.result)})
            yield "data: [DONE]\n\n"
        except RocmkernError as error:
            yield _event(_error_body(_Refused(500, str(error), "server_error")))

    async def _body(self, request: Any) -> dict[str, Any]:
        """What a request says: JSON, which no page of another origin may send unasked."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            raise _Refused(415, f"the content type must be {_JSON}")
        held = bytearray()
        async for part in request.stream():
            held += part
            if len(held) > self.limits.nbytes:
                raise _Refused(413, f"a request may have {self.limits.nbytes} bytes")
        try:
            found = json.loads(held)
        except (ValueError, RecursionError):
            raise _Refused(400, "the request is no JSON") from None
        if not isinstance(found, dict):
            raise _Refused(400, "the request is no JSON object")
        return found


def _ask(body: Mapping[str, Any], is_chat: bool, limits: Limits) -> _Ask:
    for name in _REFUSED:
        if body.get(name):
            raise _Refused(400, f"{name} is not supported; leave it out")
    if body.get("n", 1) not in (1, None):
        raise _Refused(400, f"n={body['n']!r}; one answer is given to a request")
    most = next((body[key] for key in ("max_completion_tokens", "max_tokens") if body.get(key) is not None), None)
    if most is not None and (type(most) is not int or most < 0):
        raise _Refused(400, f"max_tokens={most!r}; use an integer from 0")
    options: dict[str, Any] = {"max_tokens": limits.tokens if most is None else min(most, limits.tokens)}
    options |= {ours: body[name] for name, ours in _OPTIONS.items() if body.get(name) is not None}
    seed = body.get("seed")
    if seed is not None:
        if type(seed) is not int:
            raise _Refused(400, f"seed={seed!r}; use an integer")
        options["seed"] = seed % (1 << 32)
    stop = body.get("stop") or []
    if not isinstance(stop, str | list) or any(not isinstance(text, str) for text in stop):
        raise _Refused(400, "stop is neither a string nor a list of strings")
    options["stop"] = stop
    schema = _schema(body.get("response_format"))
    if schema is not None:
        options["schema"] = schema
    usage = body.get("stream_options") or {}
    tells_usage = isinstance(usage, Mapping) and bool(usage.get("include_usage"))
    prompt = _messages(body.get("messages")) if is_chat else _prompt(body.get("prompt"))
    return _Ask(prompt, options, is_chat, bool(body.get("stream")), tells_usage)


def _messages(given: Any) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not given:
        raise _Refused(400, "messages is no list of messages")
    return [_message(message) for message in given]


def _message(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or not isinstance(given.get("role"), str):
        raise _Refused(400, "a message is no object with a role")
    content = given.get("content")
    if isinstance(content, list):
        if not all(isinstance(p, dict) and p.get("type") == "text" and isinstance(p.get("text"), str) for p in content):
            raise _Refused(400, "a message has parts other than text, which are not supported")
        content = "".join(part["text"] for part in content)
    if not isinstance(content, str):
        raise _Refused(400, "a message has no content")
    return {"role": given["role"], "content": content}


def _prompt(given: Any) -> Prompt:
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], str | list):
        return _prompt(given[0])
    if isinstance(given, str) or (isinstance(given, list) and given and all(type(one) is int for one in given)):
        return given
    raise _Refused(400, "prompt is neither a string nor a list of tokens")


def _schema(given: Any) -> Mapping[str, Any] | None:
    """The schema of a response format."""
    if given is None:
        return None
    kind = given.get("type") if isinstance(given, dict) else None
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    inner = given.get("json_schema") if kind == "json_schema" else None
    if isinstance(inner, dict) and isinstance(inner.get("schema"), dict):
        found: Mapping[str, Any] = inner["schema"]
        return found
    raise _Refused(400, "response_format is none of text, json_object, json_schema with a schema")


def _head(ask: _Ask, model: str, *, streams: bool) -> dict[str, Any]:
    kind = ("chat.completion.chunk" if streams else "chat.completion") if ask.is_chat else "text_completion"
    before = "chatcmpl" if ask.is_chat else "cmpl"
    return {"id": f"{before}-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": model}


def _choice(part: Mapping[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, **part, "logprobs": None, "finish_reason": finish}


def _finish(made: Generation | None) -> str:
    return "length" if made is None else made.finish  # none: the time was over


def _usage(made: Generation) -> dict[str, int]:
    read, written = made.prompt_tokens, len(made.tokens)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _whole(ask: _Ask, model: str, text: str, made: Generation | None) -> dict[str, Any]:
    part = {"message": {"role": "assistant", "content": text}} if ask.is_chat else {"text": text}
    found = {**_head(ask, model, streams=False), "choices": [_choice(part, _finish(made))]}
    return found if made is None else {**found, "usage": _usage(made)}


def _event(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _answer(value: Mapping[str, Any], status: int = 200) -> Any:
    return package("starlette.responses", "serve", "serve").JSONResponse(value, status)


def _error_body(refused: _Refused) -> dict[str, Any]:
    return {"error": {"message": str(refused), "type": refused.kind, "param": None, "code": None}}


def _error(refused: _Refused) -> Any:
    return _answer(_error_body(refused), refused.status)
