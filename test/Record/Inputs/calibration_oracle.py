"""Calibration files against numpy and the Python safetensors package, both ways.

usage: calibration_oracle.py CALIBRATION_FILE WORK_DIR
"""

import json
import os
import subprocess
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

CLASSES = ["decode", "prompt", "first"]


def splitmix64(x):
    mask = (1 << 64) - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def signs(indices):
    hashes = [splitmix64(i & ((1 << 64) - 1)) for i in indices]
    return np.array([[1 - 2 * (h >> t & 1) for t in range(8)] for h in hashes])


def full(triangle, columns):
    h = np.zeros((columns, columns))
    h[np.triu_indices(columns)] = triangle
    return h + np.triu(h, 1).T


def relative(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


def check_written(tool, work, rng, rows, columns):
    """Our writer, read by Python."""
    x = rng.standard_normal((rows, columns)).astype(np.float32)
    x *= np.exp(rng.standard_normal(columns)).astype(np.float32)
    kinds = rng.choice(4, rows, p=[0.6, 0.3, 0.05, 0.05]).astype(np.uint8)
    prefix = os.path.join(work, f"written{columns}")
    x.tofile(prefix + ".x")
    kinds.tofile(prefix + ".classes")
    path = prefix + ".safetensors"
    subprocess.run([tool, "record", prefix + ".x", prefix + ".classes",
                    str(rows), str(columns), path], check=True)
    x64 = x.astype(np.float64)
    with safe_open(path, "numpy") as file:
        for index, name in enumerate(CLASSES):
            part = x64[kinds == index]
            got = full(file.get_tensor(f"layers.0.attn_in.{name}"), columns)
            error = relative(got, part.T @ part)
            assert error < 1e-6, f"{name}: {error}"
            count = file.get_tensor("layers.0.attn_in.counts")[index]
            assert count == len(part), f"{name}: {count} positions"
        assert list(file.get_tensor("rollouts.tokens")) == [5, 6, 7]
        metadata = file.metadata()
    linear, = json.loads(metadata["linears"])
    assert linear["name"] == "layers.0.q" and linear["columns"] == columns
    weight = x64[:2]
    norm = np.linalg.norm(weight)
    expected = [
        signs(~np.arange(2).astype(object))[:, t] @ weight
        @ signs(range(columns))[:, t] / norm for t in range(8)]
    assert abs(linear["norm"] - norm) < 1e-6 * norm
    assert np.abs(np.array(linear["projections"]) - expected).max() < 1e-5
    return path


def check_read(tool, work, rng, columns, name, dominant):
    """A file that Python wrote, read by us."""
    moments = {}
    counts = [400, 90, 7]
    for kind, count in zip(CLASSES, counts):
        x = rng.standard_normal((count, columns))
        x[:, : columns // 3] *= dominant
        moments[kind] = (x.T @ x).astype(np.float32)
    tensors = {"mid." + kind: h[np.triu_indices(columns)]
               for kind, h in moments.items()}
    tensors["mid.counts"] = np.array(counts, np.int64)
    tensors["rollouts.prompt_lengths"] = np.array([2], np.int32)
    tensors["rollouts.total_lengths"] = np.array([4], np.int32)
    tensors["rollouts.tokens"] = np.array([1, 2, 3, 4], np.int32)
    linear = {"name": "a", "rows": 3, "columns": columns, "input": "mid",
              "norm": 1.0, "projections": [0.0] * 8}
    path = os.path.join(work, name)
    save_file(tensors, path, {"format": "sdc-calibration", "version": "1",
                              "linears": json.dumps([linear]),
                              "sources": json.dumps([{"seed": "1"}])})
    for text, weights in [("decode", (1, 0, 0)), ("prompt", (0, 1, 1)),
                          ("all", (1, 1, 1)), ("1,3,0.25", (1, 3, 0.25))]:
        subprocess.run([tool, "weigh", path, "mid", str(columns), text,
                        path + ".h"], check=True)
        got = np.fromfile(path + ".h", np.float32).reshape(columns, columns)
        expected = sum(w * moments[k].astype(np.float64)
                       for w, k in zip(weights, CLASSES))
        assert relative(got, expected) < 1e-6, text
        assert (got == got.T).all()
    return path, moments["decode"].astype(np.float64) / counts[0]


def check_discrepancy(tool, a, b, share):
    (path_a, h_a), (path_b, h_b) = a, b
    line = subprocess.run([tool, "compare", path_a, path_b, "decode",
                           str(share)], check=True, capture_output=True,
                          text=True).stdout.split()
    k = max(1, round(share * len(h_a)))
    assert line[0] == "mid" and int(line[1]) == k, line
    values, vectors = np.linalg.eigh(h_a)
    values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
    scaled = vectors / np.sqrt(values)
    expected = np.linalg.norm(scaled.T @ h_b @ scaled - np.eye(k), 2)
    got = float(line[2])
    assert abs(got - expected) <= 0.01 * expected, f"{got}, expected {expected}"
    print(f"discrepancy of {k} directions: {expected:.4f}")


def main():
    tool, work = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    rng = np.random.default_rng(7)
    for rows, columns in [(3000, 576), (700, 33), (40, 1)]:
        check_written(tool, work, rng, rows, columns)
    a = check_read(tool, work, rng, 150, "a.safetensors", 3.0)
    b = check_read(tool, work, rng, 150, "b.safetensors", 5.0)
    for share in (0.01, 0.1, 0.5, 1.0):
        check_discrepancy(tool, a, b, share)
    print("calibration files agree")


if __name__ == "__main__":
    main()
