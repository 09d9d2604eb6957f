"""What watches the emulator: `seam.py` says how, each other file is one observer."""
