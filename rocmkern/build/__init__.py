"""Compiling kernels_hip/ to hsaco/."""
