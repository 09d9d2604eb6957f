"""Measuring which instance of a kernel is fastest for the shapes of a model."""
