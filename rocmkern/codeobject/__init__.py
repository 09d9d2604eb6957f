"""Reading code objects: ELF, clang offload bundles, kernel metadata."""

from rocmkern.codeobject.bundle import BundleEntry, read_bundle
from rocmkern.codeobject.model import MOST_BYTES, Argument, CodeObject, Kernel, Segment
from rocmkern.codeobject.reader import read

__all__ = ["MOST_BYTES", "Argument", "BundleEntry", "CodeObject", "Kernel", "Segment", "read", "read_bundle"]
