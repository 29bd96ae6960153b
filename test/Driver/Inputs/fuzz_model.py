"""Damaged models: whatever the damage, sdc gives a result or an error, never a
signal, an assertion or a wait without end.

    fuzz_model.py SDC MODEL OUT BYTES NODES [SEED]

MODEL is a folder of a small model. BYTES mutants differ from it by flipped,
set, dropped or repeated bytes, NODES by a number, shape, type, name or wire of
the graph.
"""

import os
import random
import resource
import shutil
import subprocess
import sys

import onnx

NUMBERS = [-1, 0, 1, 2, 3, 7, 16, 63, 64, 65, 1 << 31, 1 << 62, -(1 << 63),
           (1 << 63) - 1]


def damage_bytes(data, rng):
    data = bytearray(data)
    kind = rng.randrange(10)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(data))
        if kind < 6:
            data[at] ^= 1 << rng.randrange(8)
        elif kind < 8:
            data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif kind == 8:
            del data[at:at + rng.randrange(1, 9)]
        else:
            start = rng.randrange(len(data))
            data[at:at] = data[start:start + rng.randrange(1, 40)]
    return bytes(data)


def spoil(numbers, rng):
    """Another number in a repeated field, or one more."""
    if numbers and rng.random() < 0.8:
        numbers[rng.randrange(len(numbers))] = rng.choice(NUMBERS)
    else:
        numbers.append(rng.choice(NUMBERS))


def damage_attribute(attribute, rng):
    kinds = onnx.AttributeProto
    if attribute.type == kinds.INT:
        attribute.i = rng.choice(NUMBERS)
    elif attribute.type == kinds.INTS:
        spoil(attribute.ints, rng)
    elif attribute.type == kinds.FLOAT:
        attribute.f = rng.choice([0, -1, float("nan"), float("inf"), 1e30])
    elif attribute.type == kinds.TENSOR:
        spoil(attribute.t.dims, rng)


def damage_graph(graph, rng):
    node = rng.choice(graph.node)
    port = rng.choice([*graph.input, *graph.output]).type.tensor_type
    tensor = rng.choice(graph.initializer)
    values = [name for n in graph.node for name in n.output if name]
    values += [p.name for p in graph.input] + [""]
    kind = rng.randrange(13)
    if kind == 0 and node.attribute:
        damage_attribute(rng.choice(node.attribute), rng)
    elif kind == 1:
        spoil(tensor.dims, rng)
    elif kind == 2:
        tensor.data_type = rng.randrange(25)
    elif kind == 3:
        port.elem_type = rng.randrange(25)
    elif kind == 4 and port.shape.dim:
        rng.choice(port.shape.dim).dim_value = rng.choice(NUMBERS)
    elif kind == 5 and port.shape.dim:
        del port.shape.dim[rng.randrange(len(port.shape.dim))]
    elif kind == 6 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(values)
    elif kind == 7 and node.input:
        del node.input[rng.randrange(len(node.input))]
    elif kind == 8:
        node.input.append(rng.choice(values))
    elif kind == 9:
        node.op_type = rng.choice(graph.node).op_type
    elif kind == 10 and node.output:
        node.output[rng.randrange(len(node.output))] = rng.choice(values)
    elif kind == 11:
        graph.node.remove(node)
    elif kind == 12:
        small = [t for t in graph.initializer
                 if t.data_type == onnx.TensorProto.INT64
                 and 0 < len(t.raw_data) <= 64]
        if small:
            tensor = rng.choice(small)
            at = rng.randrange(len(tensor.raw_data) // 8) * 8
            number = rng.choice(NUMBERS).to_bytes(8, "little", signed=True)
            tensor.raw_data = (tensor.raw_data[:at] + number
                               + tensor.raw_data[at + 8:])


def limit():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))


def main():
    sdc, model, out, of_bytes, of_nodes = sys.argv[1:6]
    seed = int(sys.argv[6]) if len(sys.argv) > 6 else 1
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    path = os.path.join(out, "model.onnx")
    data = open(os.path.join(model, "model.onnx"), "rb").read()
    parsed = onnx.load_model_from_string(data)
    # AddressSanitizer takes terabytes of addresses.
    sanitized = b"__asan_init" in open(sdc, "rb").read()
    counts = {0: 0, 1: 0}
    for i in range(int(of_bytes) + int(of_nodes)):
        rng = random.Random(f"{seed}.{i}")
        if i < int(of_bytes):
            mutant = damage_bytes(data, rng)
        else:
            proto = onnx.ModelProto()
            proto.CopyFrom(parsed)
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                damage_graph(proto.graph, rng)
            mutant = proto.SerializeToString()
        with open(path, "wb") as file:
            file.write(mutant)
        done = subprocess.run(
            [sdc, "compile", path, "-o", os.path.join(out, "x.mlir"), "-q",
             "-c", "64", "--compile-to", "plan", "--weights-dir", model],
            capture_output=True, timeout=60,
            preexec_fn=None if sanitized else limit)
        counts[done.returncode] = counts.get(done.returncode, 0) + 1
        error = b"error: " in done.stderr
        if done.returncode not in (0, 1) or (done.returncode == 1) != error:
            kept = os.path.join(out, f"{i}.onnx")
            shutil.copy(path, kept)
            sys.exit(f"{kept}: status {done.returncode}\n"
                     + done.stderr.decode(errors="replace"))
    print(f"{counts[0]} compiled, {counts[1]} refused")
    # A fuzzer that is refused at the door tests the door only.
    sys.exit(0 if counts[0] and counts[1] else 1)


main()
