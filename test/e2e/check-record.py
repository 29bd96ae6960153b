"""`sdc record` against onnxruntime: the sums of all inputs of linears, the
counts, the rollouts and how they end, on tiny models.

    check-record.py SDC TINY OUT [ARCHITECTURE/FORM...]
"""

import filecmp
import os
import random
import sys

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from recordings import (CLASSES, STOPS, Activations, Recording, distance,
                        make_model, make_tokenizer, run)

# The issue asks for 1e-3; a single position more or less would pass that.
LIMIT = 1e-5
CONTEXT, MAX_NEW, TOP_K, TOP_P, TEMPERATURE = 150, 40, 20, 0.8, 0.7
# Around one and two chunks of prefill, one token alone, one that nearly fills
# the context, and one that fills it but for a position.
LENGTHS = [1, 2, 17, 63, 64, 65, 127, 128, 130, CONTEXT - 1]


def write_prompts(path):
    """Texts of known numbers of tokens; their ids by the Python package."""
    rng = random.Random(3)
    texts = ["".join(rng.choice("abcdefg") for _ in range(n)) for n in LENGTHS]
    with open(path, "w") as file:
        file.write("\n".join(texts) + "\n")
    ids = [make_tokenizer().encode(text).ids for text in texts]
    assert [len(i) for i in ids] == LENGTHS
    return ids


def record(sdc, folder, out, *options):
    run(sdc, "record", folder, "-o", out, "-q", "-c", CONTEXT, *options)
    return Recording(out)


def check_sums(what, recording, sums, counts):
    worst = 0
    for key in recording.columns:
        got = dict(zip(CLASSES, recording.counts[key]))
        assert got == counts, f"{what}: {key} counts {got}, expected {counts}"
        for kind in CLASSES:
            if not counts[kind]:
                continue
            far = distance(recording.sums[key, kind], sums[key, kind])
            assert far < LIMIT, f"{what}: {key}.{kind} is {far:.2e} away"
            worst = max(worst, far)
    return worst


def check_linears(recording, layers):
    """Which linear reads which matrix."""
    inputs = {l["name"]: l["input"] for l in recording.linears}
    expected = {"head": "head_in"}
    for i in range(layers):
        for part, names in [("attn_in", "qkv"), ("attn_out", "o"),
                            ("mlp_in", ["gate", "up"]), ("mlp_mid", ["down"])]:
            expected.update({f"layers.{i}.{n}": f"layers.{i}.{part}"
                             for n in names})
    assert inputs == expected, inputs


def check_rollouts(what, recording, prompts, budget, logits=None, greedy=False):
    """Prompts in order and again; every text ends for a reason, no earlier and
    no later; the recording ends with the rollout that reaches the budget. With
    onnxruntime's logits: every token could have been drawn."""
    ends = set()
    for r, (prompt, written) in enumerate(recording.rollouts):
        where = f"{what}: rollout {r}"
        assert prompt == prompts[r % len(prompts)], f"{where}: other prompt"
        assert written, f"{where}: nothing written"
        assert not set(written[:-1]) & set(STOPS), f"{where}: passed its end"
        if written[-1] in STOPS:
            ends.add("stop")
        elif len(prompt) + len(written) - 1 == CONTEXT:
            ends.add("context")
        else:
            assert len(written) == MAX_NEW, f"{where}: ends early"
            ends.add("length")
        for step, token in enumerate(written if logits else []):
            scores = logits[r][step].astype(np.float64)
            order = np.argsort(-scores)
            if greedy:
                assert scores[order[0]] - scores[token] < 1e-3, \
                    f"{where}: token {step} is not the likeliest"
                continue
            rank = list(order).index(token)
            assert scores[token] > scores[order[TOP_K - 1]] - 1e-3, \
                f"{where}: token {step} is number {rank}"
            kept = np.exp((scores[order[:TOP_K]] - scores[order[0]])
                          / TEMPERATURE)
            before = kept[:rank].sum() / kept.sum()
            assert before < TOP_P + 1e-3, \
                f"{where}: token {step} is beyond top-p: {before}"
    if not greedy:
        written = recording.written()
        last = max(0, len(recording.rollouts[-1][1]) - 1)
        assert written - last < budget <= written, \
            f"{what}: {written} positions of {budget}"
    return ends


def check_model(sdc, form, out, name, whole):
    """`whole`: also what does not depend on the architecture."""
    folder = make_model(form, os.path.join(out, "model"))
    model = Activations(os.path.join(folder, "model.onnx"))
    file = os.path.join(out, "prompts.txt")
    prompts = write_prompts(file)
    common = ["--prompts", file, "--raw", "--max-new", MAX_NEW]

    # Sampled, in more passes than one, with waves that are full and not.
    budget = 400
    a = record(sdc, folder, os.path.join(out, "a"), *common, "--tokens", budget,
               "-b", 16)
    sums, counts, logits = model.moments(a.rollouts)
    assert counts["decode"] == a.written() and counts["first"] == len(
        a.rollouts)
    worst = check_sums(name, a, sums, counts)
    ends = check_rollouts(name, a, prompts, budget, logits)
    assert len(a.rollouts) > len(prompts)
    assert ends == {"stop", "context", "length"}, f"{name}: only {ends}"
    check_linears(a, len(model.keys) // 4)

    if not whole:
        return worst, len(a.rollouts), a.written()

    # The batch changes neither tokens nor, beyond rounding, sums; the number
    # of threads changes nothing.
    first = os.path.join(out, "b1")
    for threads in (1, 2):
        b = record(sdc, folder, os.path.join(out, f"b{threads}"), *common,
                   "--tokens", budget, "-b", 1, "-t", threads)
        assert b.rollouts == a.rollouts, f"{name}: batch 1 differs"
        check_sums(f"{name}, batch 1", b, sums, counts)
    assert filecmp.cmp(first, os.path.join(out, "b2"), shallow=False), \
        f"{name}: threads show"

    # Another seed, other tokens; both files add up.
    c = record(sdc, folder, os.path.join(out, "c"), *common, "--tokens", 90,
               "-s", 1)
    assert c.rollouts != a.rollouts[:len(c.rollouts)], f"{name}: seed"
    run(sdc, "record", "--merge", os.path.join(out, "a"),
        os.path.join(out, "c"), "-o", os.path.join(out, "ac"))
    merged = Recording(os.path.join(out, "ac"))
    assert merged.rollouts == a.rollouts + c.rollouts
    assert len(merged.sources) == 2
    both, total, _ = model.moments(merged.rollouts)
    check_sums(f"{name}, merged", merged, both, total)
    for key in a.sums:
        assert distance(merged.sums[key], a.sums[key] + c.sums[key]) < 1e-7

    # Greedy: one pass, the likeliest token each time.
    d = record(sdc, folder, os.path.join(out, "d"), *common, "--tokens", 10000,
               "--temp", 0)
    sums, counts, logits = model.moments(d.rollouts)
    assert len(d.rollouts) == len(prompts)
    check_sums(f"{name}, greedy", d, sums, counts)
    check_rollouts(f"{name}, greedy", d, prompts, 0, logits, greedy=True)

    # Through the template, from .jsonl.
    conversations = os.path.join(out, "prompts.jsonl")
    with open(conversations, "w") as lines:
        lines.write('{"prompt": "the cat"}\n{"messages": [{"role": "user", '
                    '"content": "a dog"}]}\n')
    e = record(sdc, folder, os.path.join(out, "e"), "--prompts", conversations,
               "--tokens", 20, "--max-new", MAX_NEW)
    texts = [f"<|user|>{t}<|end|><|assistant|>" for t in ("the cat", "a dog")]
    check_rollouts(f"{name}, template", e,
                   [make_tokenizer().encode(t).ids for t in texts], 20)
    check_sums(f"{name}, template", e, *model.moments(e.rollouts)[:2])

    # A text is read, not written: all of it counts as prompt.
    text = os.path.join(out, "text.txt")
    with open(text, "w") as stream:
        stream.write("abc" * 150)
    f = record(sdc, folder, os.path.join(out, "f"), "--text", text, "--tokens",
               310, "-b", 1)
    assert [len(p) for p, w in f.rollouts] == [150] * 3 and \
        not any(w for _, w in f.rollouts)
    check_sums(f"{name}, text", f, *model.moments(f.rollouts)[:2])
    return worst, len(a.rollouts), a.written()


def main():
    sdc, tiny, out = sys.argv[1:4]
    forms = sys.argv[4:] or ["llama/torch20", "qwen3/torch20", "qwen2/torch20"]
    for form in forms:
        folder = os.path.join(out, form.replace("/", "-"))
        os.makedirs(folder, exist_ok=True)
        worst, rollouts, positions = check_model(
            sdc, os.path.join(tiny, form), folder, form, form == forms[0])
        print(f"{form}: {rollouts} rollouts, {positions} decode positions, "
              f"sums within {worst:.1e}", flush=True)


main()
