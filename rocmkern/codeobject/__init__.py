"""Reading code objects: ELF, clang offload bundles, kernel metadata."""

from rocmkern.codeobject.model import Argument, CodeObject, Kernel, Segment

__all__ = ["Argument", "CodeObject", "Kernel", "Segment"]
