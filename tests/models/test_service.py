"""The server, as OpenAI's own client sees it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import openai
import pytest
import uvicorn
from starlette.testclient import TestClient

from rocmkern.models import LanguageModel
from rocmkern.models.service import Limits, Service

MESSAGES: list[Any] = [{"role": "user", "content": "hello"}]
GREEDY: dict[str, Any] = {"temperature": 0, "max_tokens": 4}


@pytest.fixture(scope="module")
def address(small_model: LanguageModel) -> Iterator[str]:
    """A server on a port of its own."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    application = Service(small_model, Limits(texts=2, tokens=8)).application()
    server = uvicorn.Server(uvicorn.Config(application, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[held])))
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{held.getsockname()[1]}/v1"
    server.should_exit = True
    thread.join()
    held.close()


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[openai.OpenAI]:
    """OpenAI's."""
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as found:
        yield found


def test_chats_are_answered(client: openai.OpenAI, small_model: LanguageModel) -> None:
    """With the model's text, its end and what it took."""
    expected = small_model.chat(MESSAGES, **GREEDY)
    found = client.chat.completions.create(model="any", messages=MESSAGES, **GREEDY)
    (choice,) = found.choices
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", expected.text, "length")
    assert found.usage is not None
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (expected.prompt_tokens, 4)
    assert found.object == "chat.completion"


def test_chats_are_streamed(client: openai.OpenAI, small_model: LanguageModel) -> None:
    """Piece by piece, with the end in the last one and the usage behind it."""
    options: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = list(client.chat.completions.create(model="any", messages=MESSAGES, **GREEDY, **options))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == small_model.chat(MESSAGES, **GREEDY).text
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"
    assert chunks[-1].usage is not None and chunks[-1].usage.completion_tokens == 4


def test_prompts_are_completed(client: openai.OpenAI, small_model: LanguageModel) -> None:
    """Texts, and tokens; the longest answer is the server's."""
    expected = small_model.generate("hello", temperature=0, max_tokens=8).text
    for prompt in ("hello", small_model.tokenizer.encode("hello")):
        found = client.completions.create(model="any", prompt=prompt, temperature=0, max_tokens=500)
        assert found.choices[0].text == expected
        pieces = client.completions.create(model="any", prompt=prompt, temperature=0, max_tokens=8, stream=True)
        assert "".join(piece.choices[0].text for piece in pieces) == expected


def test_answers_fit_a_response_format(client: openai.OpenAI) -> None:
    """Of a schema."""
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    form: Any = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    found = client.chat.completions.create(model="any", messages=MESSAGES, response_format=form, max_tokens=8, seed=-1)
    assert (found.choices[0].message.content or "").replace(" ", "").startswith("{")


def test_several_texts_are_written_at_once(client: openai.OpenAI) -> None:
    """In turn: the second one ends before the first, which nobody reads on; a third waits for a place."""
    options: dict[str, Any] = {"model": "any", "messages": MESSAGES, "temperature": 0, "max_tokens": 8}
    first = client.chat.completions.create(**options, stream=True)
    next(iter(first))
    assert client.chat.completions.create(**options).choices[0].finish_reason == "length"
    first.close()
    assert [client.chat.completions.create(**options).choices[0].finish_reason for _ in range(3)] == ["length"] * 3


def test_models_are_listed(client: openai.OpenAI, small_model: LanguageModel) -> None:
    """The one."""
    assert [model.id for model in client.models.list()] == [small_model.name]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"messages": []}, "messages is no list of messages"),
        ({"messages": [{"role": "root", "content": ""}]}, "role 'root'; use one of"),
        ({"messages": [{"role": "user"}]}, "a message has no content"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "parts other than text"),
        ({"messages": MESSAGES, "tools": [{}]}, "tools is not supported"),
        ({"messages": MESSAGES, "n": 2}, "n=2; one answer"),
        ({"messages": MESSAGES, "max_tokens": -1}, "max_tokens=-1"),
        ({"messages": MESSAGES, "temperature": "warm"}, "temperature='warm'; use"),
        ({"messages": MESSAGES, "stop": [1]}, "stop is neither"),
        ({"messages": MESSAGES, "seed": "x"}, "seed='x'; use an integer"),
        ({"messages": MESSAGES, "response_format": {"type": "xml"}}, "response_format is none of"),
        ({"messages": [{"role": "user", "content": "hello " * 80}]}, "for a context of 64"),
    ],
)
def test_requests_that_are_wrong_say_why(body: dict[str, Any], words: str, small_model: LanguageModel) -> None:
    """As OpenAI's errors do, streamed or not; the place of the text is free again."""
    with TestClient(Service(small_model, Limits(texts=1)).application()) as web:
        for streams in (False, True, False):
            found = web.post("/v1/chat/completions", json={**body, "stream": streams})
            assert found.status_code == 400
            assert words in found.json()["error"]["message"]
            assert found.json()["error"]["type"] == "invalid_request_error"


def test_requests_have_a_kind_and_a_size(small_model: LanguageModel) -> None:
    """JSON, which a page of another origin can't send unasked, of so many bytes."""
    with TestClient(Service(small_model, Limits(nbytes=100)).application()) as web:
        body = json.dumps({"prompt": "hello", "max_tokens": 0})
        headers = {"content-type": "application/json"}
        assert web.post("/v1/completions", content=body, headers={"content-type": "text/plain"}).status_code == 415
        assert web.post("/v1/completions", content=body + " " * 99, headers=headers).status_code == 413
        assert web.post("/v1/completions", content="[" * 99, headers=headers).status_code == 400
        assert web.post("/v1/completions", content="[1]", headers=headers).status_code == 400
        assert web.post("/v1/completions", content=body, headers=headers).json()["choices"][0]["text"] == ""
        assert web.get("/health").json() == {"status": "ok"}


def test_answers_end_with_their_time(small_model: LanguageModel) -> None:
    """As at the number of tokens."""
    with TestClient(Service(small_model, Limits(seconds=0.0)).application()) as web:
        found = web.post("/v1/completions", json={"prompt": "hello"}).json()
        assert (found["choices"][0]["text"], found["choices"][0]["finish_reason"]) == ("", "length")


def test_too_many_requests_are_told_to_come_later(small_model: LanguageModel) -> None:
    """With the status that clients retry."""
    with TestClient(Service(small_model, Limits(waiting=0)).application()) as web:
        found = web.post("/v1/completions", json={"prompt": "hello"})
        assert (found.status_code, found.json()["error"]["type"]) == (429, "rate_limit_error")


def test_a_server_of_this_machine_has_no_other_name(small_model: LanguageModel) -> None:
    """A page of the web whose name leads to this machine may ask what it likes of it, and gets no answer."""
    application = Service(small_model).application(("127.0.0.1", "localhost"))
    with TestClient(application, base_url="http://localhost:8080") as web:
        assert web.get("/health").status_code == 200
    with TestClient(application, base_url="http://elsewhere.example:8080") as web:
        assert web.get("/health").status_code == 400
        assert web.post("/v1/completions", json={"prompt": "hello", "max_tokens": 0}).status_code == 400


def test_a_stream_that_nobody_reads_leaves_its_place(small_model: LanguageModel) -> None:
    """The reader is gone before the first piece is made."""
    application = Service(small_model, Limits(texts=1)).application()
    body = json.dumps({"prompt": "hello", "max_tokens": 2, "stream": True}).encode()
    scope = {
        "type": "http", "method": "POST", "path": "/v1/completions", "raw_path": b"", "query_string": b"",
        "headers": [(b"content-type", b"application/json")], "http_version": "1.1", "scheme": "http", "root_path": "",
        "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1), "asgi": {"version": "3.0", "spec_version": "2.3"},
    }  # fmt: skip

    async def given_up() -> None:
        messages = [{"type": "http.request", "body": body, "more_body": False}, {"type": "http.disconnect"}]

        async def receive() -> dict[str, Any]:
            return messages.pop(0)

        async def send(message: Any) -> None:
            await asyncio.sleep(60)

        await application(dict(scope), receive, send)

    async def twice() -> None:
        for _ in range(2):
            await asyncio.wait_for(given_up(), 30)

    asyncio.run(twice())
