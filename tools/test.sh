#!/usr/bin/env bash
# Builds sdc and runs its tests.
#
#   tools/test.sh           dev build, formatting, all fast tests
#   tools/test.sh --full    also asan + ubsan, clang-tidy, valgrind, SmolLM2
#                           against onnxruntime
#
# No GPU and, after the setup, no network is needed.
set -euo pipefail
cd "$(dirname "$0")/.."

full=no
case "${1:-}" in
  --full) full=yes ;;
  "") ;;
  -h|--help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "test.sh: unknown option '$1' (--full, --help)" >&2; exit 2 ;;
esac

say() { printf '[test] %s\n' "$*" >&2; }

if [ $full = yes ]; then tools/setup.sh --full; else tools/setup.sh; fi
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi

say "formatting"
git ls-files '*.cpp' '*.h' '*.hpp' '*.c' '*.cuh' |
  xargs -r clang-format-22 --dry-run -Werror

say "dev build"
cmake --preset dev >build/configure.log 2>&1 ||
  { tail -30 build/configure.log >&2; exit 1; }
cmake --build --preset dev

say "tests"
failed=0
ctest --preset dev || failed=1

if [ $full = yes ]; then
  tools/test-full.sh || failed=1
fi
exit $failed
