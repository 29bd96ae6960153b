"""A small decoder, as a module of the decode dialect and in float64.

decoder.py write FOLDER CASE: writes model.mlir and weights.bin.
decoder.py check FOLDER CASE LOGITS: compares raw f32 logits, those that
run_logits gives for TOKENS, with the decoder in numpy.

No size divides another or a vector's length where it need not.
"""

import sys

import numpy as np

HIDDEN, HEADS, KV, SIZE, MLP, VOCABULARY, LAYERS = 44, 3, 1, 12, 77, 51, 2
CONTEXT, CHUNK, EPS = 40, 8, 1e-5
PROMPT = 13
TOKENS = [(7 * i * i + 3) % VOCABULARY for i in range(PROMPT + 6)]

# Each case: batch, pattern, type of matrices, biases, head norms, layer norms,
# interleaved pairs, a gate (else a plain activation), window, softcap.
CASES = {
    "llama": dict(),
    "sparse": dict(pattern=(2, 4)),
    "bf16": dict(pattern=(8, 16), dtype="bf16"),
    "f16": dict(pattern=(5, 8), dtype="f16"),
    "qwen2": dict(bias=True, batch=3),
    "qwen3": dict(head_norm=True),
    "others": dict(layer_norm=True, interleaved=True, gated=False, window=5,
                   softcap=3.0, bias=True),
}


class Decoder:
    def __init__(self, batch=1, pattern=None, dtype="f32", bias=False,
                 head_norm=False, layer_norm=False, interleaved=False,
                 gated=True, window=None, softcap=None):
        self.batch, self.pattern, self.bias = batch, pattern, bias
        self.head_norm, self.layer_norm = head_norm, layer_norm
        self.interleaved, self.gated = interleaved, gated
        self.window, self.softcap = window, softcap
        random = np.random.default_rng(7)
        self.weights = {}

        def add(name, *shape, scale=1.0, shift=0.0):
            w = (random.standard_normal(shape) * scale + shift)
            w = w.astype(np.float32)
            if len(shape) == 2 and dtype == "bf16":
                w = (w.view(np.uint32) & 0xFFFF0000).view(np.float32)
            if len(shape) == 2 and dtype == "f16":
                w = w.astype(np.float16).astype(np.float32)
            self.weights[name] = w

        def linear(name, rows, k):
            add(name, rows, k, scale=k**-0.5)
            if pattern and name != "head":
                n, m = pattern
                w = self.weights[name]
                for first in range(0, k, m):
                    order = np.argsort(np.abs(w[:, first:first + m]), axis=1)
                    drop = order[:, :max(0, min(m, k - first) - n)]
                    np.put_along_axis(w[:, first:first + m], drop, 0, axis=1)
            if bias:
                add(name + ".bias", rows, scale=0.1)

        def norm(name, size):
            add(name, size, scale=0.1, shift=1.0)
            if layer_norm:
                add(name + ".bias", size, scale=0.1)

        add("embed", VOCABULARY, HIDDEN)
        for i in range(LAYERS):
            p = f"layers.{i}."
            norm(p + "attn_norm", HIDDEN)
            linear(p + "q", HEADS * SIZE, HIDDEN)
            linear(p + "k", KV * SIZE, HIDDEN)
            linear(p + "v", KV * SIZE, HIDDEN)
            if head_norm:
                norm(p + "q_norm", SIZE)
                norm(p + "k_norm", SIZE)
            linear(p + "o", HIDDEN, HEADS * SIZE)
            norm(p + "mlp_norm", HIDDEN)
            if gated:
                linear(p + "gate", MLP, HIDDEN)
            linear(p + "up", MLP, HIDDEN)
            linear(p + "down", HIDDEN, MLP)
        norm("norm", HIDDEN)
        linear("head", VOCABULARY, HIDDEN)
        self.weights["frequencies"] = (
            100.0 ** (-np.arange(SIZE // 2) / (SIZE // 2))).astype(np.float32)

    # --- the module -----------------------------------------------------------

    def write(self, folder):
        with open(folder + "/weights.bin", "wb") as data:
            lines = ["module @toy {"]
            for name, w in self.weights.items():
                shape = "x".join(map(str, w.shape))
                at = data.tell()
                data.write(w.tobytes())
                lines.append(
                    f"decode.weight @{name} : tensor<{shape}xf32> "
                    f'from #decode.file<"weights.bin", {at}, {w.nbytes}>')
        cache = self.cache()
        for i in range(LAYERS):
            for kind in ("keys", "values"):
                lines.append(f"decode.state @layers.{i}.{kind} : {cache} "
                             f'past "past.{i}.{kind}" present "now.{i}.{kind}"')
        lines += self.entry("decode", self.batch, 1)
        lines += self.entry("prefill", 1, CHUNK)
        with open(folder + "/model.mlir", "w") as file:
            file.write("\n".join(lines) + "\n}\n")

    def cache(self):
        return f"!decode.cache<{self.batch}x{KV}x{CONTEXT}x{SIZE}xf32>"

    def entry(self, kind, batch, rows):
        out, fresh = [], iter(range(10**6))
        cache = self.cache()
        t = f"tensor<{batch}x{rows}xi64>"
        p, s = f"tensor<{batch}x{rows}xi32>", f"tensor<{batch}xi32>"

        def tensor(*last):
            return "tensor<" + "x".join(map(str, (batch, rows) + last)) + "xf32>"

        def op(text):
            out.append(f"  %{(n := next(fresh))} = {text}")
            return f"%{n}"

        def load(name):
            w = self.weights[name]
            t = "tensor<" + "x".join(map(str, w.shape)) + "xf32>"
            return op(f"decode.load @{name} : {t}"), t

        def norm(x, xt, name):
            w, wt = load(name)
            if not self.layer_norm:
                return op(f"decode.rms_norm {x}, {w} eps {EPS:.6e} : {xt}, {wt}")
            b, bt = load(name + ".bias")
            return op(f"decode.layer_norm {x}, {w}, {b} eps {EPS:.6e} "
                      f": {xt}, {wt}, {bt}")

        def linear(x, k, name):
            w, wt = load(name)
            bias = ""
            if self.bias:
                b, bt = load(name + ".bias")
                bias = (f"bias {b} ", f"bias {bt} ")
            sparse = self.pattern and name != "head"
            pattern = "pattern <%d:%d> " % self.pattern if sparse else ""
            return op(f"{'nm' if sparse else 'decode'}.linear {x}, {w} "
                      f"{bias and bias[0]}{pattern}: {tensor(k)}, {wt} "
                      f"{bias and bias[1]}-> "
                      f"{tensor(self.weights[name].shape[0])}")

        def heads(x, n):
            return op(f"tensor.expand_shape {x} [[0], [1], [2, 3]] output_shape "
                      f"[{batch}, {rows}, {n}, {SIZE}] : {tensor(n * SIZE)} "
                      f"into {tensor(n, SIZE)}")

        f, ft = load("frequencies")

        def rotary(x, n):
            flag = " {interleaved}" if self.interleaved else ""
            return op(f"decode.rotary {x}, %p, {f}{flag} "
                      f": {tensor(n, SIZE)}, {p}, {ft}")

        table, tt = load("embed")
        x = op(f"decode.embed %t, {table} : {t}, {tt} "
               f"-> {tensor(HIDDEN)}")
        for i in range(LAYERS):
            l = f"layers.{i}."
            y = norm(x, tensor(HIDDEN), l + "attn_norm")
            q = heads(linear(y, HIDDEN, l + "q"), HEADS)
            k = heads(linear(y, HIDDEN, l + "k"), KV)
            v = heads(linear(y, HIDDEN, l + "v"), KV)
            if self.head_norm:
                q = norm(q, tensor(HEADS, SIZE), l + "q_norm")
                k = norm(k, tensor(KV, SIZE), l + "k_norm")
            q, k = rotary(q, HEADS), rotary(k, KV)
            k, v = (op(f"decode.append {a}, %p, %s into @{l}{n} "
                       f": {tensor(KV, SIZE)}, {p}, {s} -> {cache}")
                    for a, n in ((k, "keys"), (v, "values")))
            flags = f" {{window = {self.window} : i64, softcap = " \
                    f"{self.softcap} : f64}}" if self.window else ""
            a = op(f"decode.attention {q}, {k}, {v}, %p, %s scale "
                   f"{SIZE**-0.5:.17e}{flags} : {tensor(HEADS, SIZE)}, {cache}, "
                   f"{cache}, {p}, {s} -> {tensor(HEADS, SIZE)}")
            a = op(f"tensor.collapse_shape {a} [[0], [1], [2, 3]] : "
                   f"{tensor(HEADS, SIZE)} into {tensor(HEADS * SIZE)}")
            o = linear(a, HEADS * SIZE, l + "o")
            x = op(f"arith.addf {x}, {o} : {tensor(HIDDEN)}")
            y = norm(x, tensor(HIDDEN), l + "mlp_norm")
            u = linear(y, HIDDEN, l + "up")
            if self.gated:
                g = linear(y, HIDDEN, l + "gate")
                u = op(f"decode.gate silu {g}, {u} : {tensor(MLP)}")
            else:
                u = op(f"decode.activate gelu_tanh {u} : {tensor(MLP)}")
            d = linear(u, MLP, l + "down")
            x = op(f"arith.addf {d}, {x} : {tensor(HIDDEN)}")
        x = norm(x, tensor(HIDDEN), "norm")
        if rows > 1:
            x = op(f"decode.last_row {x}, %p : {tensor(HIDDEN)}, {p} "
                   f"-> tensor<1x1x{HIDDEN}xf32>")
            batch, rows = 1, 1
        y = linear(x, HIDDEN, "head")
        return [f"func.func @{kind}(%t: {t}, %p: {p}, %s: {s}) -> "
                f"{tensor(VOCABULARY)} "
                f'attributes {{decode.entry = "{kind}"}} {{'] + out + \
               [f"  return {y} : {tensor(VOCABULARY)}", "}"]

    # --- the oracle -----------------------------------------------------------

    def logits(self, tokens):
        w = {n: v.astype(np.float64) for n, v in self.weights.items()}

        def norm(x, name):
            if self.layer_norm:
                x = x - x.mean(-1, keepdims=True)
            x = x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * w[name]
            return x + w[name + ".bias"] if self.layer_norm else x

        def linear(x, name):
            y = x @ w[name].T
            return y + w[name + ".bias"] if self.bias else y

        angles = np.arange(len(tokens))[:, None] * w["frequencies"]
        c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]

        def rotary(x):
            h = SIZE // 2
            a, b = (x[..., ::2], x[..., 1::2]) if self.interleaved else \
                   (x[..., :h], x[..., h:])
            a, b = a * c - b * s, b * c + a * s
            if self.interleaved:
                return np.stack((a, b), -1).reshape(x.shape)
            return np.concatenate((a, b), -1)

        n = len(tokens)
        i, j = np.arange(n)[:, None], np.arange(n)
        seen = j <= i
        if self.window:
            seen &= j > i - self.window
        x = w["embed"][tokens]
        for layer in range(LAYERS):
            l = f"layers.{layer}."
            y = norm(x, l + "attn_norm")
            q = linear(y, l + "q").reshape(n, HEADS, SIZE)
            k = linear(y, l + "k").reshape(n, KV, SIZE)
            v = linear(y, l + "v").reshape(n, KV, SIZE)
            if self.head_norm:
                q, k = norm(q, l + "q_norm"), norm(k, l + "k_norm")
            q, k = rotary(q), rotary(k)
            a = np.zeros_like(q)
            for h in range(HEADS):
                g = h // (HEADS // KV)
                scores = q[:, h] @ k[:, g].T * SIZE**-0.5
                if self.softcap:
                    scores = self.softcap * np.tanh(scores / self.softcap)
                scores = np.where(seen, scores, -np.inf)
                e = np.exp(scores - scores.max(-1, keepdims=True))
                a[:, h] = e / e.sum(-1, keepdims=True) @ v[:, g]
            x = x + linear(a.reshape(n, -1), l + "o")
            y = norm(x, l + "mlp_norm")
            u = linear(y, l + "up")
            if self.gated:
                g = linear(y, l + "gate")
                u = g / (1 + np.exp(-g)) * u
            else:
                u = 0.5 * u * (1 + np.tanh(
                    np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
            x = x + linear(u, l + "down")
        return linear(norm(x, "norm"), "head")


def main():
    verb, folder, case = sys.argv[1:4]
    decoder = Decoder(**CASES[case])
    if verb == "write":
        decoder.write(folder)
        return
    got = np.fromfile(sys.argv[4], np.float32).reshape(-1, VOCABULARY)
    expected = decoder.logits(TOKENS)[PROMPT - 1:]
    assert got.shape == expected.shape, (got.shape, expected.shape)
    worst = np.max(np.abs(got - expected) / (1 + np.abs(expected)))
    print(f"{case}: worst {worst:.2e}")
    sys.exit(not worst < 2e-5)


main()
