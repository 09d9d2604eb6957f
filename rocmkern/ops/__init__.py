"""Tensor operations."""
