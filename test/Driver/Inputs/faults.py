"""What the tests of faults share: small models with a tokenizer, and a check of
one command that must fail.

A fault is checked as a whole: the exit status, a located message, none of them
twice, no signal, and a folder that holds what it held before.
"""

import json
import os
import re
import shutil
import struct
import subprocess
import sys


def alphabet():
    """The characters by which byte-level BPE writes bytes."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    return [chr(b) if b in keep else chr(next(spare)) for b in range(256)]


def write_tokenizer(folder, extra=0, template=True):
    """One token for each byte, and `extra` beyond them."""
    vocabulary = {c: i for i, c in enumerate(alphabet())}
    for i in range(extra):
        vocabulary["x" * (i + 2)] = 256 + i
    level = {"type": "ByteLevel", "add_prefix_space": False,
             "trim_offsets": True, "use_regex": True}
    with open(os.path.join(folder, "tokenizer.json"), "w") as file:
        json.dump({"version": "1.0", "added_tokens": [], "normalizer": None,
                   "pre_tokenizer": level, "post_processor": None,
                   "decoder": level,
                   "model": {"type": "BPE", "vocab": vocabulary,
                             "merges": []}}, file)
    config = {"eos_token": None}
    if template:
        config["chat_template"] = (
            "{% for m in messages %}{{ m['content'] }}\n{% endfor %}")
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump(config, file)


def copy_model(source, folder, **tokenizer):
    shutil.copytree(source, folder)
    for name in os.listdir(folder):
        os.chmod(os.path.join(folder, name), 0o755)
    write_tokenizer(folder, **tokenizer)


def patch_calibration(source, target, tensor, value):
    """A copy whose first element of `tensor` is `value`."""
    data = bytearray(open(source, "rb").read())
    size, = struct.unpack("<Q", data[:8])
    at = json.loads(data[8:8 + size])[tensor]["data_offsets"][0] + 8 + size
    data[at:at + 4] = struct.pack("<f", value)
    open(target, "wb").write(data)


def snapshot(folder):
    return {os.path.join(root, name)
            for root, folders, files in os.walk(folder)
            for name in folders + files}


class Faults:
    def __init__(self, sdc, folder):
        self.sdc, self.folder = sdc, folder
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        os.chdir(folder)
        self.checked, self.wrong = 0, 0

    def do(self, *command, **options):
        """Something that must succeed."""
        done = subprocess.run([self.sdc, *command], capture_output=True,
                              **options)
        if done.returncode:
            sys.exit(f"{command}: {done.returncode}\n"
                     + done.stderr.decode(errors="replace"))
        return done

    def fail(self, status, patterns, *command, before=None, env=None, **options):
        """A command that must fail with `status`; each of `patterns` (one, or
        a list) is found in its messages."""
        self.checked += 1
        held = snapshot(".")
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.DEVNULL)
        done = subprocess.run([self.sdc, *command], stderr=subprocess.PIPE,
                              timeout=120, preexec_fn=before,
                              env={**os.environ, **(env or {})}, **options)
        text = done.stderr.decode(errors="replace")
        lines = [l for l in text.splitlines() if not l.startswith("hint: ")]
        problems = []
        if done.returncode != status:
            problems.append(f"status {done.returncode}, expected {status}")
        for pattern in [patterns] if isinstance(patterns, str) else patterns:
            if not re.search(pattern, text):
                problems.append(f"no message matches {pattern!r}")
        if not any(re.match(r".+: error: \S", line) for line in lines):
            problems.append("no located error")
        if len(set(lines)) != len(lines):
            problems.append("a message comes twice")
        if changed := held ^ snapshot("."):
            problems.append(f"the folder changed: {sorted(changed)}")
        if problems:
            self.wrong += 1
            print(f"sdc {' '.join(command)}\n  " + "\n  ".join(problems)
                  + "\n" + text)

    def finish(self):
        print(f"{self.checked} faults, {self.wrong} wrong")
        sys.exit(1 if self.wrong or not self.checked else 0)
