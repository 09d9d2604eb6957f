"""The packages of the extra `models`, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rocmkern.errors import ModelNotFound


def package(name: str, operation: str, extra: str = "models") -> Any:
    """A module. Raises ModelNotFound (a LookupError) with the command that installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        top = name.partition(".")[0]
        raise ModelNotFound(f"{operation}: {top} is not installed; pip install 'rocmkern[{extra}]'") from error
