# Shared by utils/quickstart and utils/check: packages, CUDA headers and NVRTC, configure, build. Source it from the root.
set -euo pipefail

packages=(clang-22 libclang-22-dev llvm-22-dev llvm-22-tools lld-22 libisl-dev libfmt-dev nlohmann-json3-dev libsqlite3-dev
          libboost-context-dev libcli11-dev libgtest-dev cmake ninja-build g++ python3 python3-venv zlib1g-dev libzstd-dev
          libxml2-dev)

install_packages() {
  local missing=() name
  for name in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  echo "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq "${missing[@]}" >/dev/null
}

# A toolkit on the machine, else the wheels that carry headers and NVRTC.
find_cuda() {
  local folder
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [ -n "$folder" ] && [ -f "$folder/include/cuda_runtime.h" ]; then
      export CUDA_HOME=$folder
      return
    fi
  done
  local wheels=$PWD/build/cuda-wheels
  if [ ! -d "$wheels" ]; then
    echo "no CUDA toolkit: fetching its headers and NVRTC as Python wheels"
    python3 -m venv build/venv
    build/venv/bin/pip -q install --target "$wheels" 'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cccl==13.0.*' \
      'nvidia-cuda-crt==13.0.*'
  fi
  folder=$(dirname "$(dirname "$(find "$wheels" -name cuda_runtime.h | head -n 1)")")
  export CUDA_HOME=$folder
}

build_all() {
  [ -f build/build.ninja ] || cmake --preset default >build/configure.log 2>&1 || { cat build/configure.log; return 1; }
  ninja -C build "$@"
}

mkdir -p build
install_packages
find_cuda
