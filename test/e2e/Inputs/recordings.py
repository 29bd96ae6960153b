"""What the tests of `sdc record` share: model folders with a small tokenizer,
calibration files as Python reads them, and the second moments of activations
that onnxruntime gives for the same tokens."""

import json
import os
import shutil
import subprocess

import numpy as np
import onnx
import onnxruntime
from safetensors import safe_open
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

CLASSES = ["decode", "prompt", "first"]
VOCABULARY = 256
# A twentieth of the ids end a text, so that rollouts end at every length.
STOPS = list(range(7, VOCABULARY, 20))
TEMPLATE = ("{% for message in messages %}<|user|>{{ message['content'] }}"
            "<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>"
            "{% endif %}")


def run(*command, check=True):
    done = subprocess.run(list(map(str, command)), capture_output=True,
                          text=True)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done


def make_tokenizer():
    """Letters, spaces and two merges, far below the model's vocabulary."""
    tokens = list("abcdefghijklmnopqrstuvwxyz\u0120") + ["th", "the"]
    vocabulary = {token: 30 + 5 * i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("t", "h"), ("th", "e")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    text = json.loads(tokenizer.to_str())
    for i, token in enumerate(["<|user|>", "<|end|>", "<|assistant|>"]):
        text["added_tokens"].append({
            "id": 1 + i, "content": token, "single_word": False,
            "lstrip": False, "rstrip": False, "normalized": False,
            "special": True})
        text["model"]["vocab"][token] = 1 + i
    return Tokenizer.from_str(json.dumps(text))


def make_model(form, folder, stops=STOPS):
    """A folder with the model of `form`, a tokenizer and a chat template."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for file in os.listdir(form):
        if file.startswith("model.onnx"):
            shutil.copy(os.path.join(form, file), folder)
    make_tokenizer().save(os.path.join(folder, "tokenizer.json"))
    for name, content in [("tokenizer_config.json",
                           {"chat_template": TEMPLATE}),
                          ("generation_config.json",
                           {"eos_token_id": stops})]:
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file)
    return folder


class Recording:
    """A calibration file, read without sdc."""

    def __init__(self, path):
        with safe_open(path, "numpy") as file:
            metadata = file.metadata()
            self.linears = json.loads(metadata["linears"])
            self.sources = json.loads(metadata["sources"])
            self.columns = {l["input"]: l["columns"] for l in self.linears}
            prompts = file.get_tensor("rollouts.prompt_lengths")
            totals = file.get_tensor("rollouts.total_lengths")
            tokens = file.get_tensor("rollouts.tokens")
            ends = np.cumsum(totals)
            assert len(prompts) == len(totals) and ends[-1] == len(tokens)
            # (tokens of the prompt, tokens written)
            self.rollouts = [
                (list(map(int, tokens[end - total:end - total + prompt])),
                 list(map(int, tokens[end - total + prompt:end])))
                for end, total, prompt in zip(ends, totals, prompts)]
            self.counts = {key: list(map(int, file.get_tensor(key + ".counts")))
                           for key in self.columns}
            names = set(file.keys())
            self.sums = {}
            for key, columns in self.columns.items():
                for kind, count in zip(CLASSES, self.counts[key]):
                    name = f"{key}.{kind}"
                    assert (name in names) == (count > 0), name
                    if count:
                        self.sums[key, kind] = full(file.get_tensor(name),
                                                    columns)

    def written(self):
        return sum(max(0, len(w) - 1) for _, w in self.rollouts)


def full(triangle, columns):
    """The matrix of which the rows of the upper triangle are given."""
    h = np.zeros((columns, columns))
    h[np.triu_indices(columns)] = triangle
    return h + np.triu(h, 1).T


def distance(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


class Activations:
    """The model in onnxruntime, with the inputs of its linears as outputs."""

    def __init__(self, path):
        model = onnx.load(path)
        graph = model.graph
        weights = {i.name for i in graph.initializer}
        weights |= {n.output[0] for n in graph.node if n.op_type == "Transpose"
                    and n.input[0] in weights}
        # In the order of the graph: q, k, v share one, then o, then gate and
        # up share one, then down; at the end the head.
        inputs = [n.input[0] for n in graph.node
                  if n.op_type in ("MatMul", "Gemm") and n.input[1] in weights]
        self.inputs = list(dict.fromkeys(inputs))
        graph.output.extend(
            onnx.helper.make_tensor_value_info(
                name, onnx.TensorProto.FLOAT, None)
            for name in self.inputs)
        del graph.value_info[:]
        # As the graph stands: its values are asked for by name.
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = \
            onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        os.makedirs(path + ".taps", exist_ok=True)
        tapped = os.path.join(path + ".taps", "model.onnx")
        onnx.save(model, tapped)
        self.session = onnxruntime.InferenceSession(
            tapped, options, ["CPUExecutionProvider"])
        self.outputs = [o.name for o in self.session.get_outputs()]
        assert (len(self.inputs) - 1) % 4 == 0
        layers = (len(self.inputs) - 1) // 4
        self.keys = [f"layers.{i}.{part}" for i in range(layers) for part in
                     ("attn_in", "attn_out", "mlp_in", "mlp_mid")] + ["head_in"]

    def run(self, tokens):
        """Logits, and for each key what a linear sees at each position."""
        count = len(tokens)
        feeds = {}
        for given in self.session.get_inputs():
            name = given.name
            if name == "input_ids":
                feeds[name] = np.array([tokens], np.int64)
            elif name == "attention_mask":
                feeds[name] = np.ones((1, count), np.int64)
            elif name == "position_ids":
                feeds[name] = np.arange(count, dtype=np.int64)[None]
            else:
                heads, size = given.shape[1], given.shape[3]
                feeds[name] = np.zeros((1, heads, 0, size), np.float32)
        results = dict(zip(self.outputs, self.session.run(None, feeds)))
        taps = {key: results[name].astype(np.float64).reshape(count, -1)
                for key, name in zip(self.keys, self.inputs)}
        return results["logits"][0], taps

    def moments(self, rollouts, read_only=False):
        """Sums and counts by the definition: the first position of a sequence,
        the others of its prompt, and what was written but for the last token,
        which was never fed."""
        sums, counts, logits = {}, dict.fromkeys(CLASSES, 0), []
        for prompt, written in rollouts:
            fed = prompt + written[:-1]
            scores, taps = self.run(fed)
            logits.append(scores[len(prompt) - 1:])
            parts = {"first": slice(0, 1), "prompt": slice(1, len(prompt)),
                     "decode": slice(len(prompt), len(fed))}
            for kind, part in parts.items():
                counts[kind] += len(range(*part.indices(len(fed))))
                for key, x in taps.items():
                    sums[key, kind] = sums.get((key, kind), 0) + \
                        x[part].T @ x[part]
        return sums, counts, logits
