"""Kernels made ahead of time for the shapes of a model: the configuration, its checks, the compiled files."""

from rocmkern.specialize.config import Request, load
from rocmkern.specialize.descriptor import TensorDescriptor, parse

__all__ = ["Request", "TensorDescriptor", "load", "parse"]
