"""Installs sdc and builds the outside project of this folder with it.

    check-package.py SOURCE BUILD MODEL OUT
"""

import json
import os
import shutil
import subprocess
import sys
import time


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return result.stdout


def byte_tokenizer(path):
    """A tokenizer of 256 bytes and no merges, in the usual byte alphabet."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, extra = {}, 256
    for byte in range(256):
        if byte in plain:
            letters[byte] = chr(byte)
        else:
            letters[byte] = chr(extra)
            extra += 1
    level = {"type": "ByteLevel", "add_prefix_space": False,
             "trim_offsets": True, "use_regex": True}
    with open(path, "w") as file:
        json.dump({
            "version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [], "normalizer": None, "pre_tokenizer": level,
            "post_processor": None, "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None,
                      "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False,
                      "byte_fallback": False, "ignore_merges": False,
                      "vocab": {c: b for b, c in letters.items()},
                      "merges": []}}, file)


def main():
    source, build, model, out = sys.argv[1:5]
    prefix, inputs, project = (os.path.join(out, name) for name in
                               ("prefix", "inputs", "build"))
    run("cmake", "--install", build, "--prefix", prefix)
    os.makedirs(inputs)
    shutil.copytree(model, os.path.join(inputs, "model"))
    byte_tokenizer(os.path.join(inputs, "tokenizer.json"))
    with open(os.path.join(inputs, "prompts.txt"), "w") as file:
        file.write("one\ntwo words\nthree more words\n")

    configure = ["cmake", "-G", "Ninja", "-S",
                 os.path.join(source, "test", "package"), "-B", project,
                 f"-DCMAKE_PREFIX_PATH={prefix}", f"-DINPUTS={inputs}",
                 f"-DMODEL={os.path.join(inputs, 'model')}",
                 f"-DEMBED={os.path.join(prefix, 'share/sdc/examples/embed.c')}",
                 "-DCMAKE_BUILD_TYPE=Release"]
    run(*configure)
    run("cmake", "--build", project)
    shutil.copy(os.path.join(project, "saved.safetensors"),
                os.path.join(inputs, "calibration.safetensors"))
    run(*configure)
    run("cmake", "--build", project)

    products = {name: os.path.join(project, name)
                for name in ("recorded.sdx", "out/calibrated.sdx")}
    both, recorded = set(products), {"recorded.sdx"}
    calibrated = {"out/calibrated.sdx"}
    touched = [
        (None, set()),
        (os.path.join(inputs, "model", "model.onnx.data"), both),
        (os.path.join(inputs, "model", "model.onnx"), both),
        (os.path.join(inputs, "calibration.safetensors"), calibrated),
        (os.path.join(inputs, "prompts.txt"), recorded),
        (os.path.join(inputs, "tokenizer.json"), both),
        (os.path.join(prefix, "bin", "sdc"), both),
        (None, set())]
    failed = False
    for path, expected in touched:
        before = {name: os.stat(file).st_mtime_ns
                  for name, file in products.items()}
        time.sleep(0.02)
        if path:
            os.utime(path)
        run("cmake", "--build", project)
        rebuilt = {name for name, file in products.items()
                   if os.stat(file).st_mtime_ns != before[name]}
        what = os.path.relpath(path, out) if path else "nothing"
        print(f"touched {what}: rebuilt {sorted(rebuilt)}")
        if rebuilt != expected:
            print(f"  expected {sorted(expected)}")
            failed = True

    # pkg-config says enough to link a program without CMake.
    environment = {**os.environ, "PKG_CONFIG_PATH": subprocess.run(
        ["find", prefix, "-name", "pkgconfig"], capture_output=True,
        text=True).stdout.strip()}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "sdc"],
                           capture_output=True, text=True, env=environment)
    if flags.returncode:
        print(flags.stderr)
        failed = True
    sys.exit(failed)


main()
