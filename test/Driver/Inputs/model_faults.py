"""Faults of models, calibrations, prompts and flags, each through the binary.

    model_faults.py SDC TINY OUT
"""

import os
import resource
import shutil
import signal
import sys

from faults import Faults, copy_model, patch_calibration

sdc, tiny, out = sys.argv[1:]
f = Faults(sdc, out)
copy_model(f"{tiny}/llama/genai_fp32", "model")
copy_model(f"{tiny}/llama/genai_fp32", "beyond", extra=3)
copy_model(f"{tiny}/qwen3/genai_fp32", "qwen3")
small = ["-o", "x.sdx", "-q", "-c", "32"]


def compile(status, patterns, *command, **options):
    f.fail(status, patterns, "compile", *command, *small, **options)


# --- files that are no model ---
def write(name, content):
    with open(name, "wb") as file:
        file.write(content)


os.mkdir("empty")
write("a.safetensors", b"\x10\0\0\0\0\0\0\0{\"a\":[0,0,0,0]}  ")
write("a.pt", b"PK\3\4\x14\0archive/data.pkl")
write("a.gguf", b"GGUF\3\0\0\0")
write("lfs.onnx", b"version https://git-lfs.github.com/spec/v1\n")
write("junk.onnx", b"junk")
compile(1, r"^none.onnx: error: no such file", "none.onnx")
compile(1, r"empty/model.onnx: error: the folder has no model.onnx", "empty")
for name, what in [("a.safetensors", "a safetensors file"),
                   ("a.pt", "a zip archive"), ("a.gguf", "a GGUF file")]:
    compile(1, [rf"^{name}: error: expected an ONNX model, got {what}",
                r"hint: export the model to ONNX"], name)
compile(1, ["^lfs.onnx: error: .*git-LFS pointer", "hint: .*git lfs pull"],
        "lfs.onnx")
compile(1, "^junk.onnx: error: not an ONNX model", "junk.onnx")
compile(1, "error: .*no such file", "")

# --- external data ---
shutil.copytree("model", "cut")
os.truncate("cut/model.onnx.data", 100000)
compile(1, r"model.onnx: error: external data file .*model.onnx.data' is "
        r"truncated: expected at least \d+ bytes, for '.*'.*, got 100000", "cut")
shutil.copytree("model", "absent")
os.remove("absent/model.onnx.data")
compile(1, [r"model.onnx: error: external data file '.*' is absent; it holds ",
            "hint: .*--weights-dir"], "absent")
shutil.copytree("model", "leaving")
graph = open("model/model.onnx", "rb").read()
write("leaving/model.onnx", graph.replace(b"model.onnx.data", b"../../../passwd"))
compile(1, r"error: external data '../../../passwd' leaves the model's folder",
        "leaving")

# --- graphs ---
graphs = {
    "operators": ("21", """{ [one] a = Frobnicate (x)
        [two] b = com.microsoft.Gizmo (a)  [three] y = my.own.Bar (b) }""", ""),
    "new": ("29", "{ y = Neg (x) }", ""),
    "type": ("21", "{ y = Neg (x) }", "<float8e4m3fn[2] w = {1, 2}>"),
    "int4": ("21", "{ y = Neg (x) }", "<int4[2] w = {1, 2}>"),
}
for name, (opset, body, weights) in graphs.items():
    write(f"{name}.onnxtxt", f"""<ir_version: 10, opset_import: ["" : {opset},
        "com.microsoft" : 1]> g (float[2] x) => (float[2] y) {weights} {body}
        """.encode())
compile(1, ["operators.onnxtxt:one: error: operator Frobnicate of domain "
            "ai.onnx, opset 21", "operators.onnxtxt:two: error: operator Gizmo",
            "operators.onnxtxt:three: error: operator Bar of domain my.own"],
        "operators.onnxtxt")
compile(1, "new.onnxtxt: error: expected an opset of at most 28, got 29",
        "new.onnxtxt")
compile(1, "type.onnxtxt:w: error: tensor of type float8e4m3fn", "type.onnxtxt")
compile(1, ["int4.onnxtxt:w: error: tensor of type int4", "hint: .*quantized"],
        "int4.onnxtxt")

# --- patterns and rules ---
for pattern in ["4:2", "0:4", "3:7", "2", "2:4:8", "-2:4", ""]:
    compile(2, "error: --pattern: ", "model", f"--pattern={pattern}")
compile(2, ["error: compile: a sparse pattern needs a calibration",
            "hint: --calibration FILE"], "model", "--pattern", "2:4")
magnitude = ["--method", "magnitude", "--pattern", "2:4"]
compile(1, r"error: rule 'layers.0.Q=dense' matches no linear; the nearest "
        r"names are .*layers.0.q", "model", *magnitude, "--skip", "layers.0.Q")
compile(2, r"error: compile: '\[' is no regular expression", "model",
        *magnitude, "--skip", "[")

# --- calibration ---
write("prompts.txt", b"hello\nworld\n")
record = ["--prompts", "prompts.txt", "--tokens", "40", "--max-new", "20", "-q",
          "-c", "32"]
f.do("record", "model", "-o", "good.calib", *record)
f.do("record", "qwen3", "-o", "qwen3.calib", *record)
shutil.copytree("model", "other")
data = bytearray(open("other/model.onnx.data", "rb").read())
# Other signs of what follows the embedding: the first layer's projections.
data[70003:90003:4] = bytes(b ^ 0x80 for b in data[70003:90003:4])
write("other/model.onnx.data", data)
f.do("record", "other", "-o", "other.calib", *record)
patch_calibration("good.calib", "nan.calib", "layers.1.mlp_in.decode",
                  float("nan"))
write("cut.calib", open("good.calib", "rb").read()[:100000])
sparse = ["--pattern", "2:4", "--calibration"]
compile(1, "error: qwen3.calib: was recorded from another architecture: '.*'",
        "model", *sparse, "qwen3.calib")
compile(1, "error: other.calib: was recorded from other weights of the same "
        r"architecture: \d+ of 15 linears", "model", *sparse, "other.calib")
compile(1, "nan.calib: tensor 'layers.1.mlp_in.decode' has nan at 0, 0",
        "model", *sparse, "nan.calib")
compile(1, "cut.calib: .*truncated", "model", *sparse, "cut.calib")
compile(1, "prompts.txt: is no safetensors file", "model", *sparse,
        "prompts.txt")
compile(2, "error: --calibration: .*nothing", "model", *sparse, "nothing")

# --- tokenizer and prompts ---
compile(1, r"tokenizer.json: error: .*25[68].* 256", "beyond")
f.do("compile", "model", "-o", "model.sdx", "-q", "-c", "32")
long = "x" * 40
write("long.txt", b"short\n" + long.encode() + b"\n")
write("long-chat.txt", long.encode() + b"\n")
write("bytes.txt", b"caf\xc3\xa9 \xff\xfe\n")
write("wrong.jsonl", b'{"prompt": 5}\n{"messages": "x"}\n[1]\n{"prompt"\n')
f.fail(1, "error: -p: the prompt has 41 tokens, the context is 32", "run",
       "model.sdx", "-p", long)
f.fail(1, "error: long.txt: the prompt has 47 tokens, the context is 32", "run",
       "model.sdx", "--raw", "-f", "long.txt")
f.fail(1, "error: long.txt:2: the prompt has 41 tokens, the context is 32",
       "record", "model", "-o", "x.calib", "-q", "-c", "32", "--prompts",
       "long.txt")
f.fail(1, "error: the prompt has 41 tokens, the context is 32", "chat",
       "model.sdx", stdin=open("long-chat.txt"))
f.fail(1, "error: bytes.txt: .*not UTF-8", "run", "model.sdx", "-f",
       "bytes.txt")
f.fail(1, "error: empty: Is a directory", "run", "model.sdx", "-f", "empty")
f.fail(1, [rf"wrong.jsonl:{line}: \S" for line in range(1, 5)], "record",
       "model", "-o", "x.calib", "--prompts", "wrong.jsonl")

# --- outputs ---
for name in ["model/model.onnx", "model/model.onnx.data",
             "model/tokenizer.json"]:
    f.fail(1, f"error: {name}: is an input of this command", "compile", "model",
           "-o", name, "-q")
f.fail(1, "error: good.calib: is an input", "compile", "model", "-o",
       "good.calib", *sparse, "good.calib", "-q")
f.fail(1, "error: prompts.txt: is an input", "record", "model", "-o",
       "prompts.txt", *record)
f.fail(1, "error: good.calib: is an input", "record", "--merge", "good.calib",
       "good.calib", "-o", "good.calib")
f.fail(1, "error: /dev/null: is not a regular file", "compile", "model", "-o",
       "/dev/null", "-q")
f.fail(1, "error: empty: is a folder", "compile", "model", "-o", "empty", "-q")
f.fail(1, "error: no/x.d: no such folder no", "compile", "model", *small,
       "--depfile", "no/x.d")
f.fail(1, "error: no/c: no such folder no", "record", "model", "-o", "no/c",
       *record)


# --- a disk that is full: no file may grow beyond 64 KiB, then 400 KiB ---
def limit(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


for command in [["compile", "model", *small],
                ["compile", "model", *small, *magnitude],
                ["compile", "model", "-o", "x.mlir", "-q", *magnitude,
                 "--compile-to", "prune"],
                ["compile", "model", "-o", "x.onnx", "-q", *magnitude, "--emit",
                 "onnx"],
                ["compile", "model", "-o", "x.s", "-q", "--emit", "asm"],
                ["record", "model", "-o", "x.calib", *record],
                ["record", "--merge", "good.calib", "good.calib", "-o",
                 "x.calib"]]:
    f.fail(1, "error: .*: File too large", *command, before=limit(1 << 16))
# The spool fits, the executable does not.
compile(1, "error: x.sdx: .*File too large", "model",
        before=limit(400 << 10))
for command in [["inspect", "model.sdx"], ["inspect", "model", "--json"],
                ["run", "model.sdx", "-p", "x", "-n", "2"], ["--help"],
                ["compile", "model", "-o", "-", "--compile-to", "raise", "-q"]]:
    f.fail(1, "sdc: error: stdout: cannot be written", *command,
           stdout=open("/dev/full", "w"))

# --- flags that would not act, and numbers that are none ---
for flags, pattern in [
        (["--seed", "3"], "--seed requires --prompts"),
        (["--method", "wanda"], "--method has no effect: every linear stays"),
        (["--skip", "q"], "--skip has no effect"),
        ([*magnitude, "--damp", "0.1"], "--damp has no effect: magnitude has"),
        (["--keep-sparsity", "--method", "magnitude"],
         "--method has no effect: --keep-sparsity prunes nothing"),
        (["--compile-to", "raise", "--dtype", "f32"],
         "--dtype has no effect: the phase prune is not run"),
        (["--compile-from", "lower", "--batch", "2"],
         "--batch has no effect: the phase import is not run"),
        (["--compile-from", "lower", "--compile-to", "raise"], "comes after"),
        (["--compile-from", "import"], "begins with a model"),
        (["--add-passes", "emit:cse"], "hint: --add-passes plan:cse"),
        (["--compile-to", "raise", "--add-passes", "lower:cse"],
         "the phase lower is not run"),
        (["--emit", "onnx", "--kv-dtype", "f16"], "generates no code"),
        ([*magnitude, "--positions", "all"], "there is no calibration"),
        ([*sparse, "good.calib", "--positions", "0,0,0"], "positions '0,0,0'"),
        ([*sparse, "good.calib", "--damp", "nan"], "--damp: expected a number"),
        (["--batch", "99999999999999999999"], "--batch: "),
        (["--frobnicate"], "unknown flag '--frobnicate'"),
        (["--contxt=5"], "hint: did you mean '--context'?")]:
    compile(2, pattern, "model", *flags)
for command, pattern in [
        (["run", "model.sdx", "-p", "x", "--temp", "nan"], "--temp: expected"),
        (["run", "model.sdx", "-p", "x", "-s", "18446744073709551616"],
         "-s: expected a whole number up to 18446744073709551615"),
        (["run", "model.sdx", "--output", "d", "-n", "4"], "-n excludes"),
        (["record", "model", "-o", "x", "--text", "long.txt", "--temp", "1"],
         "--text excludes --temp"),
        (["record", "--merge", "a", "b", "-o", "x", "--seed", "1"],
         "--seed excludes --merge"),
        (["verify", "model.sdx", "--atol", "nan"], "--atol: expected")]:
    f.fail(2, pattern, *command)
f.fail(1, "needs a context of 4294967296, was compiled for 32", "bench",
       "model.sdx", "-p", "1", "-n", "4294967295", "-w", "1", "-q")
f.finish()
