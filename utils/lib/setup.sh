# Shared by utils/quickstart and utils/check; source it from the repository's root. It installs what is missing, points
# CUDA_HOME at headers and NVRTC, and offers build_all. Nothing is fetched or changed where everything is there.
set -euo pipefail

packages=(clang-22 libclang-22-dev llvm-22-dev llvm-22-tools lld-22 clang-format-22 libisl-dev libfmt-dev nlohmann-json3-dev
          libsqlite3-dev libboost-context-dev libcli11-dev libgtest-dev cmake ninja-build g++ python3 python3-venv
          zlib1g-dev libzstd-dev libxml2-dev)
# What CUDA 13.0 calls its headers, crt/ and NVRTC as Python packages.
wheels=('nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cccl==13.0.*' 'nvidia-cuda-crt==13.0.*')

say() { printf '== %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 3; }

install_packages() {
  local name missing=() as_root=()
  for name in "${packages[@]}"; do
    dpkg -s "$name" 2>/dev/null | grep -q '^Status: .* ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "these packages are missing, and there is no sudo to install them: ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  # The lists of packages are only updated where they are missing or too old to have these.
  if ! apt-get install -s -qq "${missing[@]}" >/dev/null 2>&1; then
    "${as_root[@]}" apt-get update -qq
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null ||
    fail "apt-get cannot install: ${missing[*]} (LLVM 22 needs a package source that has it)"
}

# Whether a folder has CUDA's headers and NVRTC.
is_toolkit() {
  local library
  [ -f "$1/include/cuda_runtime.h" ] || return 1
  for library in "$1"/lib64/libnvrtc.so* "$1"/lib/libnvrtc.so* "$1"/targets/*/lib/libnvrtc.so*; do
    [ ! -e "$library" ] || return 0
  done
  return 1
}

# A toolkit of the machine, else the Python packages that carry its headers and NVRTC.
find_cuda() {
  local folder target=$PWD/build/cuda-wheels
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" "${RETILE_CUDA_DEFAULT-/usr/local/cuda}" "$target"/nvidia/*; do
    if [ -n "$folder" ] && is_toolkit "$folder"; then
      export CUDA_HOME=$folder
      return
    fi
  done
  say "no CUDA toolkit: fetching its headers and NVRTC as Python packages"
  rm -rf build/venv "$target" "$target.part"
  python3 -m venv build/venv || fail "python3 cannot make a virtual environment (package python3-venv)"
  build/venv/bin/pip -q --disable-pip-version-check install --target "$target.part" "${wheels[@]}" ||
    fail "pip cannot fetch ${wheels[*]}"
  # It appears as a whole, so that an interrupted run starts over.
  mv "$target.part" "$target"
  for folder in "$target"/nvidia/*; do
    if is_toolkit "$folder"; then
      export CUDA_HOME=$folder
      return
    fi
  done
  fail "the Python packages have no CUDA headers where they are expected: $target"
}

# build_all [TARGET...]: configures once, builds what is out of date.
build_all() {
  if [ ! -f build/build.ninja ]; then
    say "configuring (build/configure.log)"
    cmake --preset default >build/configure.log 2>&1 || { cat build/configure.log >&2; return 1; }
  fi
  say "building ${*:-everything}"
  ninja -C build ${RETILE_JOBS:+-j "$RETILE_JOBS"} "$@"
}

mkdir -p build
install_packages
find_cuda
