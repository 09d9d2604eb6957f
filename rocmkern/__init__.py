"""Tensor kernels for AMD GPUs, compiled ahead of time; on the CPU through an emulator where there is no GPU."""
