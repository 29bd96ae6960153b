#!/bin/sh
# check_decoder.sh FOLDER PYTHON SDC_OPT RUN_LOGITS CASE DTYPE [FUSIONS
# [FIRST]]: compiles a case of decoder.py, with the passes FIRST in front, and
# compares its logits with those in float64.
set -e
folder=$1 python=$2 opt=$3 run=$4 case=$5 dtype=$6 fusions=$7 first=$8
here=$(dirname "$0")
rm -rf "$folder"
mkdir -p "$folder"
"$python" "$here/decoder.py" write "$folder" "$case"
"$opt" "$folder/model.mlir" -o "$folder/emitted.mlir" --pass-pipeline="builtin.module(
  ${first:+$first,}pack-weights{dtype=$dtype spool=$folder/spool folder=$folder},verify-packed,
  ${fusions:+func.func($fusions),}lower-to-kernels,verify-lowered,plan-memory,
  verify-planned,emit-executable{output=$folder/model.sdx folder=$folder})"
tokens=$("$python" -c 'print(*[(7 * i * i + 3) % 51 for i in range(19)])')
for threads in 1 2; do
  "$run" "$folder/model.sdx" $threads 13 6 $tokens > "$folder/logits$threads"
done
# The number of threads does not show.
cmp "$folder/logits1" "$folder/logits2"
"$python" "$here/decoder.py" check "$folder" "$case" "$folder/logits1"
