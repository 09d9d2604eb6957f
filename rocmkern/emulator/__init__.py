"""AMDGPU code objects on the CPU: decode, translate to LLVM IR, run."""
