#!/usr/bin/env bash
# What `tools/test.sh --full` does beyond the fast tests: the suite under
# AddressSanitizer and UndefinedBehaviorSanitizer, clang-tidy, a decode under
# valgrind, the memory of a large compile, and SmolLM2 against onnxruntime.
set -uo pipefail
cd "$(dirname "$0")/.."
say() { printf '[full] %s\n' "$*" >&2; }
failed=0
step() {
  local name=$1
  shift
  say "$name"
  if "$@"; then say "$name: passed"; else say "$name: FAILED"; failed=1; fi
}

asan() {
  cmake --preset asan >build/configure-asan.log 2>&1 &&
    cmake --build --preset asan && ctest --preset asan
}

tidy() {
  git ls-files '*.cpp' | grep -v '^test/' |
    xargs -P "$(nproc)" -n 4 clang-tidy-22 -p build/dev --quiet
}

# AVX2 is the level that valgrind knows. Debian's valgrind 3.19 gives up at the
# DWARF 5 of clang 22, so the program goes without debug information.
decode_under_valgrind() {
  local out=build/full
  mkdir -p $out/tiny
  tar xJf test/Inputs/tiny.tar.xz -C $out &&
    build/dev/bin/sdc compile $out/tiny/llama/torch20 -o $out/tiny.sdx -c 64 \
      --tokenizer none --pattern 16:32 --method magnitude &&
    clang-22 test/e2e/Inputs/greedy.c -Iruntime/include -Lbuild/dev/lib \
      -l:libsdc_runtime.a -lpthread -lm -Wl,--strip-debug -o $out/greedy &&
    valgrind -q --error-exitcode=1 $out/greedy $out/tiny.sdx 2 12 5 6 7
}

step "sanitizers" asan
step "clang-tidy" tidy
step "valgrind" decode_under_valgrind
# 8B takes 16 GB of sparse files, 40 GB of disk and some minutes:
#   build/py/bin/python test/e2e/check-memory.py build/dev/bin/sdc OUT 8b
step "memory of a compile" \
  build/py/bin/python test/e2e/check-memory.py build/dev/bin/sdc build/full 1b
step "SmolLM2 against onnxruntime" \
  build/py/bin/python test/e2e/check-smollm2.py build/dev/bin/sdc build/full
exit $failed
