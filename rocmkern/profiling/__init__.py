"""What kernels ask of a GPU: counts of the emulator's observer, occupancy, and bounds on the time on a named chip."""
