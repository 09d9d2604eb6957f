"""Block-quantised tensors and GGUF files."""
