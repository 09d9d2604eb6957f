"""`rocmkern serve`: a language model behind OpenAI's endpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from rocmkern.cli.language import context_option, device_option, file_argument, kv_option, loaded
from rocmkern.cli.output import json_option, print_json

_HERE: Final = ("127.0.0.1", "localhost")


@click.command()
@file_argument
@click.option("--host", default="127.0.0.1", show_default=True, help="Others than this machine reach 0.0.0.0.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option("--texts", type=click.IntRange(1), default=4, show_default=True, help="Texts that are written at once.")
@click.option("--waiting", type=click.IntRange(1), default=16, show_default=True, help="Requests that may wait.")
@click.option("--max-tokens", type=click.IntRange(1), default=2048, show_default=True, help="Of one answer.")
@click.option("--seconds", type=click.FloatRange(0), default=600.0, show_default=True, help="That an answer may take.")
@device_option
@context_option
@kv_option
@json_option
def serve(
    file: Path, host: str, port: int, texts: int, waiting: int, max_tokens: int, seconds: float,
    device_name: str | None, context: int, kv: str, as_json: bool,
) -> None:  # fmt: skip
    """Answer OpenAI's chat and completion requests with the model in FILE, until Ctrl-C.

    \b
    Example:
      rocmkern serve SmolLM2.gguf --port 8080
      curl http://127.0.0.1:8080/v1/chat/completions -H "content-type: application/json" \\
        -d '{"messages": [{"role": "user", "content": "Name three colours."}]}'
    """
    from rocmkern.models.packages import package
    from rocmkern.models.service import Limits, Service

    server = package("uvicorn", "serve", "serve")
    model = loaded(file, device_name, context, kv)
    here = _HERE if host in _HERE else ()
    application = Service(model, Limits(texts, waiting, max_tokens, seconds)).application(here)
    address = f"http://{host}:{port}/v1"
    if as_json:
        print_json({"address": address, "model": model.name})
    else:
        click.echo(f"{model.name} on {model.device.info.name} answers at {address}")
    server.run(application, host=host, port=port, log_level="warning", timeout_keep_alive=30, limit_concurrency=256)
