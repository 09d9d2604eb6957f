"""Names that are not there are answered with those that are."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from rocmkern.cli import main
from rocmkern.errors import TensorNotFound
from rocmkern.quant.gguf_file import GgufFile


def test_unknown_commands() -> None:
    """The nearest ones are named."""
    found = CliRunner().invoke(main, ["kernls"])
    assert found.exit_code == 2
    assert "no command 'kernls'; there is kernels" in found.output


def test_unknown_tensors_of_a_file() -> None:
    """A KeyError, as of every mapping, in words."""
    file = GgufFile(Path("a.gguf"), {}, {"token_embd.weight": None, "output.weight": None})  # type: ignore[dict-item]
    assert file.get("nope") is None and "nope" not in file
    with pytest.raises(KeyError, match=r"a\.gguf: no tensor 'token_emb.weight'; it has token_embd.weight") as caught:
        file["token_emb.weight"]
    assert isinstance(caught.value, TensorNotFound) and str(caught.value).startswith("a.gguf:")
