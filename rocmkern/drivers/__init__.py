"""Backends behind one protocol: hip, emulator, cuda."""
