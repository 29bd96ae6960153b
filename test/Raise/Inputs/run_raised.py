"""Runs a raised model in numpy and compares it with what onnxruntime gave.

    run_raised.py RAISED.mlir MODEL-FOLDER

Knows the operations of the decode dialect from their documentation alone. The
folder holds model.onnx, test_data_set_*/ with stored inputs and outputs, and
greedy.json with the tokens that the model writes after a prompt. The prefill
entry must give the logits of all its rows.
"""

import json
import math
import os
import re
import sys

import numpy as np
import onnx
from onnx import numpy_helper

TYPES = {"f32": np.dtype("<f4"), "f16": np.dtype("<f2"), "i64": np.dtype("<i8")}


def parse_tensor(text):
    *sizes, element = text.split("x")
    return [int(size) for size in sizes], element


def read_source(source, dtype, folder):
    file = re.match(r'#decode\.file<"([^"]*)", (\d+), (\d+)>', source)
    if file:
        with open(os.path.join(folder, file[1]), "rb") as stream:
            stream.seek(int(file[2]))
            return np.frombuffer(stream.read(int(file[3])), dtype)
    text = re.match(r"dense<(.*?)> : tensor<", source)[1]
    if text.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(text[3:-1]), dtype)
    return np.array(json.loads(text), dtype).reshape(-1)


def read_weight(line, folder):
    name, sizes, rest = re.match(
        r"decode\.weight @(\S+) : tensor<([^>]*)> from (.*)", line).groups()
    shape, element = parse_tensor(sizes)
    view = re.search(r" view <tensor<([^>]*)>, (\d+)(, transposed)?>|"
                     r" view #decode\.view<tensor<([^>]*)>, (\d+)(, transposed)?>",
                     rest)
    values = read_source(rest, TYPES[element], folder)
    if view:
        groups = [group for group in (view.groups()[:3] if view[1] else
                                      view.groups()[3:])]
        stored, _ = parse_tensor(groups[0])
        first = int(groups[1])
        if len(shape) == 1:
            values = values[first:first + shape[0]]
        else:
            matrix = values.reshape(stored)
            values = (matrix.T if groups[2] else matrix)[first:first + shape[0]]
    elif values.size == 1:
        values = np.full(shape, values[0])
    return name, values.reshape(shape).astype(np.float32)


ACTIVATIONS = {
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(
        math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_erf": lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "relu": lambda x: np.maximum(x, 0),
    "quick_gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "relu2": lambda x: np.maximum(x, 0)**2,
}


class Model:
    def __init__(self, path, folder):
        self.weights, self.states, self.entries = {}, {}, {}
        entry = None
        for line in open(path):
            line = line.strip()
            if line.startswith("decode.weight"):
                name, values = read_weight(line, folder)
                self.weights[name] = values
            elif line.startswith("decode.state"):
                match = re.match(r'decode\.state @(\S+) : !decode\.cache<([^>]*)> '
                                 r'past "([^"]*)" present "([^"]*)"', line)
                shape, _ = parse_tensor(match[2])
                self.states[match[1]] = (np.zeros(shape, np.float32), match[3],
                                         match[4])
            elif line.startswith("func.func"):
                name = re.search(r'decode\.entry = "(\w+)"', line)[1]
                rows = parse_tensor(re.search(r"tensor<([^>]*)>", line)[1])[0][1]
                entry = []
                self.entries[name] = (rows, entry)
            elif entry is not None and line not in ("}", ""):
                entry.append(line)

    def run(self, name, tokens, positions):
        """Logits of `tokens`, one sequence in slot 0."""
        rows, lines = self.entries[name]
        pad = rows - len(tokens)
        values = {
            "%arg0": np.array([list(tokens) + [0] * pad]),
            "%arg1": np.array([list(positions) + [-1] * pad]),
            "%arg2": np.array([0]),
        }
        for line in lines:
            if line.startswith("return"):
                return values[line.split()[1]][0, :len(tokens)]
            result, rest = line.split(" = ", 1)
            op, rest = rest.split(" ", 1)
            operands = re.findall(r"%[\w]+", rest)
            x = [values[operand] for operand in operands]
            values[result] = getattr(self, op.replace(".", "_"))(rest, *x)

    def number(self, text, key, default=None):
        match = re.search(rf"\b{key}(?: =)? ([-+.\deE]+)", text)
        return float(match[1]) if match else default

    def decode_load(self, text):
        return self.weights[re.match(r"@(\S+)", text)[1]]

    def decode_embed(self, text, tokens, table):
        return table[tokens] * np.float32(self.number(text, "scale", 1.0))

    def decode_rms_norm(self, text, x, weight):
        mean = np.mean(x * x, axis=-1, keepdims=True)
        return x / np.sqrt(mean + np.float32(self.number(text, "eps"))) * weight

    def decode_layer_norm(self, text, x, weight, bias=0):
        x = x - np.mean(x, axis=-1, keepdims=True)
        mean = np.mean(x * x, axis=-1, keepdims=True)
        return x / np.sqrt(mean + np.float32(self.number(text, "eps"))) * weight + bias

    def decode_linear(self, text, x, weight, bias=0):
        return x @ weight.T + bias

    def decode_rotary(self, text, x, positions, frequencies):
        angle = positions[:, :, None, None] * frequencies.astype(np.float64)
        scale = self.number(text, "scale", 1.0)
        cos, sin = np.cos(angle) * scale, np.sin(angle) * scale
        half = len(frequencies)
        y = x.copy()
        first, second = ((slice(0, 2 * half, 2), slice(1, 2 * half, 2))
                         if "interleaved" in text else
                         (slice(0, half), slice(half, 2 * half)))
        y[..., first] = x[..., first] * cos - x[..., second] * sin
        y[..., second] = x[..., second] * cos + x[..., first] * sin
        return y

    def decode_append(self, text, x, positions, slots):
        cache = self.states[re.search(r"into @(\S+)", text)[1]][0]
        for b, s in np.ndindex(*positions.shape):
            if positions[b, s] >= 0:
                cache[slots[b], :, positions[b, s]] = x[b, s]
        return cache

    def decode_attention(self, text, q, keys, values, positions, slots):
        batch, rows, heads, _ = q.shape
        group = heads // keys.shape[1]
        window, softcap = self.number(text, "window"), self.number(text, "softcap")
        result = np.zeros((batch, rows, heads, values.shape[3]), np.float32)
        for b, s, h in np.ndindex(batch, rows, heads):
            p = positions[b, s]
            if p < 0:
                continue
            first = max(0, p - int(window) + 1) if window else 0
            k = keys[slots[b], h // group, first:p + 1]
            v = values[slots[b], h // group, first:p + 1]
            score = k @ q[b, s, h] * self.number(text, "scale")
            if softcap:
                score = softcap * np.tanh(score / softcap)
            weight = np.exp(score - score.max())
            result[b, s, h] = weight / weight.sum() @ v
        return result

    def decode_gate(self, text, gate, up):
        return ACTIVATIONS[text.split()[0]](gate) * up

    def decode_activate(self, text, x):
        return ACTIVATIONS[text.split()[0]](x)

    def arith_addf(self, text, a, b):
        return a + b

    def tensor_expand_shape(self, text, x):
        return x.reshape(parse_tensor(re.search(r"into tensor<([^>]*)>", text)[1])[0])

    tensor_collapse_shape = tensor_expand_shape


def load(path):
    tensor = onnx.TensorProto()
    with open(path, "rb") as stream:
        tensor.ParseFromString(stream.read())
    return numpy_helper.to_array(tensor)


def compare(what, got, expected, tolerance):
    error = np.max(np.abs(got - expected) / (1 + np.abs(expected)))
    print(f"{what}: largest error {error:.1e}")
    if not error <= tolerance:
        sys.exit(f"{what}: expected at most {tolerance}")


def main(path, folder, tolerance=1e-3):
    graph = onnx.load(os.path.join(folder, "model.onnx"),
                      load_external_data=False).graph
    for number in range(2):
        data = os.path.join(folder, f"test_data_set_{number}")
        inputs = {value.name: load(os.path.join(data, f"input_{i}.pb"))
                  for i, value in enumerate(graph.input)}
        outputs = {value.name: load(os.path.join(data, f"output_{i}.pb"))
                   for i, value in enumerate(graph.output)}
        model = Model(path, folder)
        for cache, past, _ in model.states.values():
            cache[0, :, :inputs[past].shape[2]] = inputs[past][0]
        tokens = inputs["input_ids"][0]
        total = inputs["attention_mask"].shape[1]
        positions = range(total - len(tokens), total)
        entry = "decode" if len(tokens) == 1 else "prefill"
        logits = model.run(entry, tokens, positions)
        compare(f"{entry} logits", logits, outputs["logits"][0], tolerance)
        for cache, _, present in model.states.values():
            compare(present, cache[0, :, :total], outputs[present][0], tolerance)

    reference = json.load(open(os.path.join(folder, "greedy.json")))
    model = Model(path, folder)
    tokens, written = list(reference["prompt"]), []
    logits = model.run("prefill", tokens, range(len(tokens)))
    for _ in reference["greedy"]:
        written.append(int(np.argmax(logits[-1])))
        tokens.append(written[-1])
        logits = model.run("decode", tokens[-1:], [len(tokens) - 1])
    print("greedy:", written)
    if written != reference["greedy"]:
        sys.exit(f"expected {reference['greedy']}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], *map(float, sys.argv[3:]))
