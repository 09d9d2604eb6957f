#!/bin/sh
# From a CUDA program to one that runs on AMD GPUs and here: `sh from_cuda.sh` in an empty folder.
set -e
cp "$(dirname "$0")/reduce.cu" reduce.hip
rocmkern hipify --write reduce.hip
rocmkern lint-waves reduce.hip || echo "(these places count on warps of 32 lanes)"
rocmkern lint-waves --fix reduce.hip
rocmkern hipcc --offload-arch=gfx942,gfx1100 reduce.hip -o reduce
rocmkern run-hip --device gfx942 ./reduce
rocmkern run-hip --device gfx1100 ./reduce
