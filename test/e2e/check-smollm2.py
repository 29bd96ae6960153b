"""SmolLM2-135M in f32 against onnxruntime: 8 prompts, 64 greedy tokens each, in
the forms torch20, torch23 and genai_fp32. A token may differ where the two best
logits of onnxruntime are closer than 1e-3; the comparison of that prompt ends
there.

    check-smollm2.py SDC OUT [FORM...]
"""

import glob
import json
import os
import subprocess
import sys
import tarfile

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PROMPTS = [
    "The capital of France is", "Once upon a time", "def fibonacci(n):",
    "Water boils at", "My favourite season is", "1, 2, 3, 4,",
    "The difference between a frog and a toad", "Dear Sir or Madam,"]
TOKENS = 64


def unpack(out, form):
    """The folder of a form, with its weights."""
    folder = os.path.join(out, "smollm2", form)
    if os.path.exists(os.path.join(folder, "complete")):
        return folder
    with tarfile.open(os.path.join(ROOT, "test/Inputs/smollm2.tar.xz")) as tar:
        tar.extractall(out)
    gguf = glob.glob(os.path.join(ROOT, "build/py/**/SmolLM2*.gguf"),
                     recursive=True)[0]
    subprocess.run([sys.executable,
                    os.path.join(out, "smollm2/fill_weights.py"), gguf,
                    folder], check=True)
    open(os.path.join(folder, "complete"), "w").close()
    return folder


def greedy(session, prompt):
    """64 tokens and, for each, the distance of the two best logits."""
    inputs = {i.name: i for i in session.get_inputs()}
    outputs = [o.name for o in session.get_outputs()]
    past = {n: np.zeros([1, 3, 0, 64], np.float32)
            for n in inputs if n.startswith("past_key_values")}
    feed, length, tokens, margins = list(prompt), 0, [], []
    for _ in range(TOKENS):
        ids = np.array([feed], np.int64)
        total = length + len(feed)
        values = {"input_ids": ids,
                  "attention_mask": np.ones([1, total], np.int64),
                  "position_ids": np.arange(length, total)[None], **past}
        results = session.run(
            None, {n: v for n, v in values.items() if n in inputs})
        named = dict(zip(outputs, results))
        past = {n: named[n.replace("past_key_values", "present")]
                for n in past}
        best = np.sort(named["logits"][0, -1])[-2:]
        tokens.append(int(named["logits"][0, -1].argmax()))
        margins.append(float(best[1] - best[0]))
        feed, length = [tokens[-1]], total
    return tokens, margins


def main():
    sdc, out = sys.argv[1:3]
    forms = sys.argv[3:] or ["torch20", "torch23", "genai_fp32"]
    tokenizer = Tokenizer.from_file(
        os.path.join(os.path.dirname(unpack(out, forms[0])), "tokenizer.json"))
    failed = 0
    for form in forms:
        folder = unpack(out, form)
        sdx = os.path.join(out, "smollm2.sdx")
        subprocess.run([sdc, "compile", folder, "-o", sdx, "--dtype", "f32",
                        "-c", "256", "-q", "--tokenizer",
                        os.path.dirname(folder)], check=True)
        session = onnxruntime.InferenceSession(
            os.path.join(folder, "model.onnx"),
            providers=["CPUExecutionProvider"])
        equal = 0
        for text in PROMPTS:
            prompt = tokenizer.encode(text).ids
            tokens, margins = greedy(session, prompt)
            made = subprocess.run(
                [sdc, "run", sdx, "--raw", "-p", text, "-n", str(TOKENS),
                 "--ignore-eos", "--json"],
                check=True, capture_output=True, text=True)
            got = json.loads(made.stdout)["tokens"]
            first = next((i for i in range(TOKENS)
                          if i >= len(got) or got[i] != tokens[i]), TOKENS)
            if first == TOKENS or margins[first] < 1e-3:
                equal += 1
            else:
                failed += 1
                print(f"{form}: '{text}' differs at token {first}: got "
                      f"{got[first:first + 1]}, expected {tokens[first]}, "
                      f"margin {margins[first]:.4f}")
        print(f"{form}: {equal} of {len(PROMPTS)} prompts equal", flush=True)
    sys.exit(1 if failed else 0)


main()
