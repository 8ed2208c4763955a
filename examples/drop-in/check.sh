#!/usr/bin/env bash
# Templatizes and tunes examples/gemm.cu, then builds the drop-in program with nvcc and runs it where there is a GPU.
# usage: check.sh BUILD/bin WORK; exit code 77: no nvcc here, nothing was tested.
set -euo pipefail
bin=$1 work=$2 here=$(cd "$(dirname "$0")" && pwd)
nvcc=
for candidate in "${CUDACXX:-}" "${CUDA_HOME:-}/bin/nvcc" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
  [ -z "$nvcc" ] && [ -x "$candidate" ] && nvcc=$candidate
done
[ -n "$nvcc" ] || { echo "no nvcc: the drop-in example is not built"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
"$bin/kernel-templatize" "$here/../gemm.cu" -o "$work/gemm.retile"
if nvidia-smi -L >/dev/null 2>&1; then
  "$bin/kernel-tune" "$work/gemm.retile" --size M=2048,N=2048,K=2048 --budget 20s --quiet
else
  "$bin/kernel-tune" "$work/gemm.retile" --device cpu --size M=64,N=64,K=64 --budget 4 --quiet
fi
for tuned in "$work/gemm.retile/tuned" ""; do
  cmake -S "$here" -B "$work/build" -DCMAKE_CUDA_COMPILER="$nvcc" -DRETILE_TUNED="$tuned" >"$work/log" 2>&1 &&
    cmake --build "$work/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  [ -x "$work/build/drop-in" ] || { cat "$work/log"; echo "nothing was built"; exit 1; }
  code=0
  "$work/build/drop-in" || code=$?
  # 77: no device to run it on, the program was compiled.
  [ $code -eq 0 ] || [ $code -eq 77 ] || exit $code
done
