#!/bin/sh
# Runs the runtime's tests on this machine's GPU, with kernels built by nvcc.
#
#   test/cuda/run-device.sh PROGRAMS
#
# PROGRAMS is a folder with the test CudaTest (test/runtime of a build); the
# kernels are put beside it. Fails if a test is skipped: here is where they run.
set -eu
programs=${1:?"usage: run-device.sh PROGRAMS"}
source=$(cd "$(dirname "$0")/../.." && pwd)
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
# CudaTest names the image by the whole compute capability.
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
"$nvcc" -cubin -arch="sm_$arch" -std=c++17 -I"$source" \
  -o "$programs/toy.cubin" "$source/test/cuda/ToyKernels.cu"
log=$(mktemp)
"$programs/CudaTest" > "$log" 2>&1 || { cat "$log"; exit 1; }
cat "$log"
# Those that look into the fake driver cannot run here.
if grep SKIPPED "$log" | grep -v "SKIPPED  *\] [0-9]* test" |
   grep -vE "SaysItsMemoryBefore|UploadsOnceAndFreesAll|RunsAStepAsOneGraph|UsesTheCallersStreamAndAllocator"; then
  echo "run-device.sh: a test was skipped that should run on a GPU" >&2
  exit 1
fi
