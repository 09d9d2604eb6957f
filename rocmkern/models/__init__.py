"""Models written with the public tensor operations: language models from GGUF files, and a sentence encoder."""

from __future__ import annotations

from rocmkern.models.language import Generation, LanguageModel, Stream, load
from rocmkern.models.sampling import Sampling
from rocmkern.models.session import Session

__all__ = ["Generation", "LanguageModel", "Sampling", "Session", "Stream", "load"]
