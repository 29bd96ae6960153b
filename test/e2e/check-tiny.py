"""Compiles tiny models in every form, and compares logits, presents and greedy
tokens with what onnxruntime gave (stored beside the models).

    check-tiny.py SDC GREEDY TINY OUT [ARCHITECTURE...]

GREEDY is the program of greedy.c. Prints a line for each form; exits 1 if one
differs.
"""

import json
import os
import subprocess
import sys

FORMS = ["torch18", "torch20", "torch20_eager", "torch23", "torch24",
         "genai_fp32", "optimum"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def check(sdc, greedy, folder, sdx):
    """Empty if all is equal, else what is not."""
    options = ["--dtype", "f32", "--kv-dtype", "f32", "--context", "64",
               "--all-logits"]
    for batch, chunk in [("1", "64"), ("3", "4")]:
        made = run(sdc, "compile", folder, "-o", sdx, *options, "-b", batch,
                   "--prefill-chunk", chunk, "--tokenizer", "none", "-q")
        if made.returncode:
            return "compile: " + made.stderr
        numbers = run(sdc, "verify", sdx, "--test-data", folder)
        if numbers.returncode:
            return "verify: " + numbers.stderr
        with open(os.path.join(folder, "greedy.json")) as file:
            wanted = json.load(file)
        tokens = wanted["greedy"]
        for threads in ["1", "2"]:
            got = run(greedy, sdx, threads, str(len(tokens)),
                      *map(str, wanted["prompt"]))
            if got.returncode:
                return "greedy: " + got.stderr
            if list(map(int, got.stdout.split())) != tokens:
                return (f"batch {batch}, {threads} threads: wrote "
                        f"{got.stdout.strip()}, expected {tokens}")
    return ""


def main():
    sdc, greedy, tiny, out = sys.argv[1:5]
    architectures = sys.argv[5:] or sorted(
        name for name in os.listdir(tiny)
        if os.path.isdir(os.path.join(tiny, name)))
    os.makedirs(out, exist_ok=True)
    checked = failed = 0
    for architecture in architectures:
        for form in FORMS:
            folder = os.path.join(tiny, architecture, form)
            if not os.path.isdir(folder):
                continue
            checked += 1
            problem = check(sdc, greedy, folder,
                            os.path.join(out, f"{architecture}.sdx"))
            print(f"{architecture} {form}: {problem or 'equal'}")
            failed += bool(problem)
    print(f"{checked} forms, {failed} differ")
    sys.exit(1 if failed or not checked else 0)


main()
