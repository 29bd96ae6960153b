"""SIGKILL during a compile or a recording, at several moments: nothing has the
final name, and the next one writes what it would have written, and only that.

    killed.py SDC TINY OUT [PRELOADED_LIBRARY]

With the library, as on a file system that keeps no files without a name.
"""

import os
import shutil
import subprocess
import sys
import time

from faults import copy_model

sdc, tiny, out, *library = sys.argv[1:]
shutil.rmtree(out, ignore_errors=True)
os.makedirs(out)
os.chdir(out)
copy_model(f"{tiny}/qwen2/genai_fp32", "model")
with open("prompts.txt", "w") as file:
    file.write("hello\nworld\n")
environment = dict(os.environ)
if library:
    environment["LD_PRELOAD"] = library[0]
record = ["--prompts", "prompts.txt", "--tokens", "60", "--max-new", "30"]
subprocess.run([sdc, "record", "model", "-o", "calib", "-q", "-c", "48",
                *record], check=True)


def command(folder, name):
    """Of a kind, with the files that it leaves when it is done."""
    sparse = ["--pattern", "2:4", "--calibration", "calib"]
    end = ["-q", "-c", "48", "-o"]
    return {
        "sdx": ([*sparse, *end, f"{folder}/x"], {"x"}),
        "work": ([*sparse, "--work", f"{folder}/w", *end, f"{folder}/x"],
                 {"x", "w"}),
        "onnx": ([*sparse, "--emit", "onnx", *end, f"{folder}/x"],
                 {"x", "x.data"}),
        "text": ([*sparse, "--compile-to", "pack", *end, f"{folder}/x"],
                 {"x", "x.weights"}),
        "step": (["--pattern", "2:4", *record, *end, f"{folder}/x"], {"x"}),
    }[name]


def start(folder, name):
    return subprocess.Popen([sdc, "compile", "model",
                             *command(folder, name)[0]], env=environment)


def content(folder):
    return {os.path.join(root, file)[len(folder):]:
            open(os.path.join(root, file), "rb").read()
            for root, _, files in os.walk(folder) for file in files}


def check(name, moments):
    whole, folder = f"whole-{name}", f"killed-{name}"
    os.mkdir(whole)
    os.mkdir(folder)
    begin = time.monotonic()
    assert start(whole, name).wait() == 0
    seconds = time.monotonic() - begin
    kills = 0
    for i in range(moments):
        process = start(folder, name)
        time.sleep(seconds * (i + 0.5) / moments)
        process.kill()
        if process.wait() == 0:
            os.remove(f"{folder}/x")  # it was quicker this time
            continue
        kills += 1
        # Nothing, or, if it was all but over, the whole.
        if os.path.exists(f"{folder}/x"):
            assert content(folder)["/x"] == content(whole)["/x"], name
            os.remove(f"{folder}/x")
    # Two at once are the next ones: each writes the whole file.
    both = [start(folder, name) for _ in range(2 if name == "sdx" else 1)]
    assert [process.wait() for process in both] == [0] * len(both), name
    left = set(os.listdir(folder))
    assert left == command("", name)[1], f"{name}: {sorted(left)}"
    wanted = content(whole)
    if name == "text":  # it says where its weights are
        wanted.pop("/x"), wanted.pop("/x.weights")
    for file, data in wanted.items():
        assert content(folder)[file] == data, f"{name}: {file} differs"
    print(f"{name}: {kills} kills, then the same files")


check("sdx", 4)
if library:
    check("text", 2)
else:
    check("work", 2)
    check("onnx", 2)
    check("step", 2)
