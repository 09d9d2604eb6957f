"""Models written with the public tensor operations: what the demo runs, and how to write your own."""
