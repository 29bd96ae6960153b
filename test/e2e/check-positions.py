"""A toy decoder whose linears see other columns in a prompt than in decode
steps: recording one or the other gives other masks. Its embedding of tokens
that prompts hold is 0 in odd columns, of all others 0 in even ones (but for
column 0, by which the head tells them apart), and its layers add next to nothing, to that column only.

    check-positions.py SDC FORM OUT
"""

import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from recordings import (VOCABULARY, Activations, Recording, make_model,
                        make_tokenizer, run)

PROMPT = "the quick brown fox jumps over the lazy dog"


def make_toy(form, folder):
    """Gives the tiny model `form` the weights of the toy."""
    make_model(form, folder, stops=[0])
    path = os.path.join(folder, "model.onnx")
    # The sign that column 0 has before the head.
    model = onnx.load(path)
    tensors = {i.name: i for i in model.graph.initializer}
    reads = [n for n in model.graph.node if n.input[0] in tensors
             or len(n.input) > 1 and n.input[1] in tensors]
    table = next(n.input[0] for n in reads if n.op_type == "Gather")
    weights = [n.input[1] for n in reads if n.op_type == "MatMul"]
    assert len(weights) == 15

    asked = np.zeros(VOCABULARY, bool)
    asked[list(make_tokenizer().get_vocab().values())] = True
    rng = np.random.default_rng(11)
    embedding = rng.standard_normal((VOCABULARY, 64)).astype(np.float32)
    embedding[asked, 1::2] = 0
    embedding[~asked, 2::2] = 0
    embedding[:, 0] = 1
    values = {table: embedding}
    for number, name in enumerate(weights[:-1]):
        shape = list(tensors[name].dims)
        values[name] = rng.standard_normal(shape).astype(np.float32)
        # o and down add to column 0 only.
        if number % 7 in (3, 6):
            values[name] *= 1e-6
            values[name][:, 1:] = 0

    def save():
        for name, value in values.items():
            tensors[name].CopyFrom(numpy_helper.from_array(value, name))
        onnx.save(model, path)

    save()
    _, taps = Activations(path).run([5])
    head = rng.standard_normal((64, VOCABULARY)).astype(np.float32)
    head[0] = np.where(asked, -100, 100) * np.sign(taps["head_in"][0, 0])
    values[weights[-1]] = head
    save()
    return path, weights


def main():
    sdc, form, out = sys.argv[1:]
    folder = os.path.join(out, "toy")
    path, weights = make_toy(form, folder)
    prompts = os.path.join(out, "prompts.txt")
    with open(prompts, "w") as file:
        file.write(PROMPT + "\n" + PROMPT[::-1] + "\n")
    record = os.path.join(out, "record")
    run(sdc, "record", folder, "-o", record, "--prompts", prompts, "--raw",
        "--tokens", 200, "--max-new", 60, "-c", 200, "-q")
    recording = Recording(record)
    for kind, dead in [("decode", slice(2, None, 2)), ("prompt", slice(1, None, 2)),
                       ("first", slice(1, None, 2))]:
        for key in ("layers.0.attn_in", "layers.1.mlp_in", "head_in"):
            diagonal = np.diag(recording.sums[key, kind])
            live = np.ones(64, bool)
            live[dead] = False
            assert (diagonal[live] > 0).all() and (diagonal[dead] == 0).all(), \
                f"{key}.{kind} is not what the toy was made for"

    kept = {}
    for positions in ("decode", "prompt", "all"):
        pruned = os.path.join(out, positions + ".onnx")
        run(sdc, "compile", folder, "-o", pruned, "--emit", "onnx", "-q",
            "--pattern", "16:32", "--dtype", "f32", "--calibration", record,
            "--positions", positions)
        tensors = {i.name: i for i in onnx.load(pruned).graph.initializer}
        kept[positions] = [
            numpy_helper.to_array(tensors[name], out).T != 0
            for number, name in enumerate(weights[:-1])
            if number % 7 in (0, 1, 2, 4, 5)]
    for decode, prompt, both in zip(*kept.values()):
        # Columns 32 to 63: those that were seen, and no other.
        assert decode[:, 33::2].all() and not decode[:, 32::2].any()
        assert prompt[:, 32::2].all() and not prompt[:, 33::2].any()
        assert both[:, 32::2].any() and both[:, 33::2].any()

    # Groups with fewer live columns than N keep N bits all the same.
    for pattern in ("3:4", "8:16", "24:32"):
        sdx = os.path.join(out, "toy.sdx")
        run(sdc, "compile", folder, "-o", sdx, "-q", "--pattern", pattern,
            "--calibration", record, "--pattern-for", "^head$=" + pattern,
            "--tokenizer", "none", "-c", 64)
        said = run(sdc, "verify", sdx).stdout
        wanted = "15 sparse weights, each with exactly N bits in every group"
        assert wanted in said, f"{pattern}: {said}"
    print("prompts and decode steps give other masks")


main()
