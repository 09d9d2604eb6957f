"""Is every shipped kernel right on a device? Calls that reach them, against NumPy and against the emulator."""
