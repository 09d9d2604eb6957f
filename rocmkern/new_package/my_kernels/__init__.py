"""Kernels of our own."""

import rocmkern as rk

kernels = rk.KernelLibrary(__name__)
