"""Peak anonymous memory of whole compiles of large graphs.

    check-memory.py SDC OUT 1b [FLAG...]    limit 2 GiB, random weights
    check-memory.py SDC OUT 8b [FLAG...]    limit 4 GiB, 16 GB of data

With `1b` the weights are a random stream. With `8b` they are real external
files: sparse ones, so that the disk need not hold them, with random values in
the first KiB of each MiB. Without flags the pattern is 16:32 by magnitude. RssAnon is sampled, as VmHWM also counts pages of
mapped files, which the kernel may drop. The output is checked and removed.
"""

import os
import subprocess
import sys
import tarfile
import threading
import time

import numpy as np
import onnx

GIB = 1 << 30
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
GRAPHS = {"1b": "big/llama-3.2-1b/model.onnx",
          "8b": "big/llama-3.1-8b/model.onnx"}
LIMITS = {"1b": 2 * GIB, "8b": 4 * GIB}
DTYPES = {onnx.TensorProto.FLOAT16: np.float16,
          onnx.TensorProto.FLOAT: np.float32}


def external_files(model):
    """Length and element type of each data file."""
    files = {}
    for tensor in model.graph.initializer:
        entry = {e.key: e.value for e in tensor.external_data}
        if not entry:
            continue
        end = int(entry.get("offset", 0)) + int(entry["length"])
        name = entry["location"]
        files[name] = (max(files.get(name, (0,))[0], end),
                       DTYPES[tensor.data_type])
    return files


def make_data(folder, model):
    random = np.random.default_rng(1)
    for name, (length, dtype) in external_files(model).items():
        values = (random.standard_normal(1024 // dtype().itemsize) * 0.02)
        block = values.astype(dtype).tobytes()
        with open(os.path.join(folder, name), "wb") as file:
            file.truncate(length)
            for offset in range(0, length - len(block), 1 << 20):
                os.pwrite(file.fileno(), block, offset)


def anonymous(pid):
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def watch(process):
    """The peak of RssAnon, every 50 ms."""
    peak = 0

    def sample():
        nonlocal peak
        while process.poll() is None:
            peak = max(peak, anonymous(process.pid))
            time.sleep(0.05)

    thread = threading.Thread(target=sample)
    thread.start()
    process.wait()
    thread.join()
    return peak


def main():
    sdc, out, size, *flags = sys.argv[1:]
    flags = flags or ["--pattern", "16:32", "--method", "magnitude"]
    folder = os.path.join(out, "memory-" + size)
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, "out.sdx")
    graph = os.path.join(folder, "model.onnx")
    command = [sdc, "compile", folder, "-o", target, "--tokenizer", "none",
               "-c", "512", *flags]
    made = [graph]
    try:
        with tarfile.open(os.path.join(ROOT, "test/Inputs/big.tar.xz")) as tar:
            with open(graph, "wb") as copy:
                copy.write(tar.extractfile(GRAPHS[size]).read())
        if size == "1b":
            command += ["--weights", "random:1"]
        else:
            model = onnx.load(graph, load_external_data=False)
            made += [os.path.join(folder, name)
                     for name in external_files(model)]
            make_data(folder, model)
        planned = subprocess.run([*command, "--dry-run", "--json"], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
        begin = time.monotonic()
        process = subprocess.Popen(command)
        peak = watch(process)
        seconds = time.monotonic() - begin
        if process.returncode != 0:
            sys.exit(f"{size}: sdc compile failed")
        written = os.path.getsize(target)
        print(f"{size}: peak anonymous memory {peak / GIB:.2f} GiB, limit "
              f"{LIMITS[size] / GIB:.0f} GiB; {written / 1e9:.2f} GB in "
              f"{seconds:.0f} s")
        problems = []
        if peak >= LIMITS[size]:
            problems.append("peak anonymous memory is above the limit")
        if peak < 1 << 20:
            problems.append("no sample of its memory was taken")
        if f'"bytes": {written},' not in planned:
            problems.append(f"--dry-run did not say {written} bytes")
        if problems:
            sys.exit(f"{size}: " + "; ".join(problems))
    finally:
        for path in [*made, target]:
            if os.path.exists(path):
                os.unlink(path)


main()
