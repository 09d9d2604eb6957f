"""The tensor operations: the array API's functions and those of neural networks."""
