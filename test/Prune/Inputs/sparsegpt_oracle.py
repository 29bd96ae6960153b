"""SparseGPT, Wanda and magnitude pruning in plain fp64 numpy, written from the
papers (arXiv:2301.00774, arXiv:2306.11695), and the comparison of sdc's library
with them on random correlated matrices.

usage: sparsegpt_oracle.py PRUNE_MATRIX WORK_DIR
"""

import os
import subprocess
import sys

import numpy as np

DAMPING = 0.01


def group_mask(scores, n):
    """Keeps the n largest of each row; the first of equals."""
    order = np.argsort(-scores, axis=1, kind="stable")
    mask = np.zeros(scores.shape, bool)
    np.put_along_axis(mask, order[:, :n], True, axis=1)
    return mask


def sparsegpt(weights, moments, n, m, damping):
    """Column by column, without blocks: the textbook form."""
    w, h = weights.copy(), moments.copy()
    dead = np.diag(h) == 0
    mean = np.diag(h)[~dead].mean()
    h[dead, dead] = mean
    w[:, dead] = 0
    h[np.diag_indices_from(h)] += damping * mean
    # numpy's factor is lower: inv = L L^T, so U = L^T is upper, U^T U = inv.
    inverse = np.linalg.inv(h)
    u = np.linalg.cholesky((inverse + inverse.T) / 2).T
    columns = w.shape[1]
    mask = np.zeros(w.shape, bool)
    for j in range(columns):
        if j % m == 0:
            end = min(j + m, columns)
            d = np.diag(u)[j:end]
            mask[:, j:end] = group_mask((w[:, j:end] / d) ** 2, n)
        q = np.where(mask[:, j], w[:, j], 0)
        error = (w[:, j] - q) / u[j, j]
        w[:, j] = q
        w[:, j + 1:] -= np.outer(error, u[j, j + 1:])
    return w, mask


def simple(weights, scale, n, m):
    mask = np.zeros(weights.shape, bool)
    for j in range(0, weights.shape[1], m):
        mask[:, j:j + m] = group_mask(np.abs(weights * scale)[:, j:j + m], n)
    return np.where(mask, weights, 0), mask


def loss_of(weights, pruned, moments):
    d = weights - pruned
    return float(np.einsum("ij,ij->", d @ moments, d))


def moments_of(rng, columns, positions, sink, dead):
    """Correlated columns of very different size, and one huge direction."""
    mix = rng.standard_normal((columns, columns)) / np.sqrt(columns)
    scale = np.exp(rng.standard_normal(columns))
    x = (rng.standard_normal((positions, columns)) @ mix
         + 0.5 * rng.standard_normal((positions, columns))) * scale
    if sink:
        x[: positions // 50] += sink * rng.standard_normal(columns)
    x[:, dead] = 0
    return (x.T @ x).astype(np.float32)


def unpack_bits(words, rows, columns):
    words = words.reshape(rows, -1)
    bits = (words[:, :, None] >> np.arange(32, dtype=np.uint32)) & 1
    return bits.reshape(rows, -1).astype(bool), columns


def check_mask(name, bits, columns, n, m):
    counts = bits.reshape(bits.shape[0], -1, m).sum(axis=2)
    assert (counts == n).all(), f"{name}: groups keep {np.unique(counts)}"
    for start in range(0, bits.shape[1], m):
        real = min(max(columns - start, 0), m)
        padding = bits[:, start + real:start + m].sum(axis=1)
        assert (padding == max(0, n - real)).all(), f"{name}: padding"


def main():
    tool, work = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    rng = np.random.default_rng(20240101)
    # The shapes cross the blocks of 128 and 512 columns and of 64 rows, and end
    # inside a group and inside a mask word.
    cases = []
    for pattern in ["2:4", "4:8", "8:16", "16:32", "1:4", "3:4", "24:32"]:
        cases.append((pattern, 70, 640, 0.0, 0))
        cases.append((pattern, 33, 203, 30.0, 9))
    cases += [("1:2", 5, 31, 0.0, 1), ("5:16", 3, 8, 0.0, 0),
              ("31:32", 130, 1100, 300.0, 40), ("2:4", 1, 1, 0.0, 0),
              ("1:32", 65, 129, 0.0, 3)]
    for index, (pattern, rows, columns, sink, dead_count) in enumerate(cases):
        n, m = map(int, pattern.split(":"))
        dead = rng.choice(columns, dead_count, replace=False)
        h32 = moments_of(rng, columns, 2 * columns + 50, sink, dead)
        w32 = rng.standard_normal((rows, columns)).astype(np.float32)
        w, h = w32.astype(np.float64), h32.astype(np.float64)
        prefix = os.path.join(work, f"case{index}")
        w32.tofile(prefix + ".w.f32")
        h32.tofile(prefix + ".h.f32")
        energy = loss_of(w, 0, h)
        norms = np.sqrt(np.diag(h))
        references = {
            "sparsegpt": sparsegpt(w, h, n, m, DAMPING),
            "wanda": simple(w, norms, n, m),
            "magnitude": simple(w, 1.0, n, m),
        }
        losses = {}
        for method, (expected, expected_mask) in references.items():
            name = f"{pattern} {rows}x{columns} {method}"
            out = f"{prefix}.{method}"
            line = subprocess.run(
                [tool, method, pattern, str(rows), str(columns), str(DAMPING),
                 "2", prefix + ".w.f32", prefix + ".h.f32", out],
                check=True, capture_output=True, text=True).stdout.split()
            report = dict(zip(line[::2], map(float, line[1::2])))
            got = np.fromfile(out + ".w", np.float32).reshape(w.shape)
            got = got.astype(np.float64)
            bits, _ = unpack_bits(np.fromfile(out + ".mask", np.uint32), rows,
                                  columns)
            check_mask(name, bits, columns, n, m)
            mask = bits[:, :columns]
            assert (got[~mask] == 0).all(), f"{name}: a lost weight is not 0"
            loss = loss_of(w, got, h)
            losses[method] = loss
            reference = loss_of(w, expected, h)
            assert abs(loss - reference) <= 1e-3 * reference + 1e-9 * energy, \
                f"{name}: loss {loss}, expected {reference}"
            assert abs(report["loss"] - loss) <= 1e-3 * loss + 1e-6 * energy, \
                f"{name}: reports {report['loss']}, is {loss}"
            assert abs(report["relative"] - loss / energy) <= \
                1e-3 * loss / energy + 1e-6, f"{name}: relative loss"
            if method == "sparsegpt":
                assert report["dead"] == dead_count, f"{name}: dead columns"
                assert report["damping"] == DAMPING, f"{name}: damping"
                assert (got[:, dead] == 0).all(), f"{name}: dead weights"
                differ = (mask != expected_mask).mean()
                assert differ < 0.01, f"{name}: {differ:.2%} of the mask"
            else:
                live = np.ones(columns, bool)
                live[dead] = False
                assert (mask == expected_mask)[:, live].all(), f"{name}: mask"
        if columns >= 200:
            assert losses["sparsegpt"] < losses["wanda"] < losses["magnitude"], \
                f"{pattern}: {losses}"
        print(f"{pattern} {rows}x{columns}:",
              " ".join(f"{k} {v / energy:.5f}" for k, v in losses.items()))
    print(f"{len(cases)} cases agree")


if __name__ == "__main__":
    main()
