"""The catalogue of kernels, launch plans and the packaged code objects."""
