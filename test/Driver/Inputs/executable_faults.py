"""Executables that are cut, damaged or of another version, through the binary.

    executable_faults.py SDC TINY OUT
"""

import os
import struct
import subprocess
import sys

from faults import Faults, copy_model

sdc, tiny, out = sys.argv[1:]
f = Faults(sdc, out)
copy_model(f"{tiny}/llama/genai_fp32", "model")
f.do("compile", "model", "-o", "good.sdx", "-q", "-c", "32", "--method",
     "magnitude", "--pattern", "2:4")
good = open("good.sdx", "rb").read()
root_size, = struct.unpack("<Q", good[16:24])
f.do("verify", "good.sdx", "-q")


def write(data, name="bad.sdx"):
    with open(name, "wb") as file:
        file.write(data)


def flipped(byte, bit):
    data = bytearray(good)
    data[byte] ^= 1 << bit
    return bytes(data)


run = ["run", "bad.sdx", "-p", "x", "-n", "1"]
write(b"")

# Cut at every 64th of its length.
for i in range(64):
    write(good[:len(good) * i // 64])
    what = "file ends inside its header|the file has|not an executable|is empty"
    f.fail(1, f"error: bad.sdx: .*({what})", *(run if i % 8 else
                                               ["verify", "bad.sdx"]))
for verb in (["inspect", "bad.sdx"], ["bench", "bad.sdx"],
             ["chat", "bad.sdx"], run, ["verify", "bad.sdx"]):
    write(good[:len(good) // 2])
    f.fail(1, r"error: bad.sdx: the file has \d+ bytes, its header says "
           + str(len(good)), *verb)

# Another major version, whatever else is in the file; a newer minor one opens
# as far as the digest of the header goes.
major, = struct.unpack("<H", good[8:10])
write(good[:8] + struct.pack("<H", major + 1) + good[10:])
f.fail(1, rf"error: bad.sdx: the file has format {major + 1}\.0, this runtime "
       rf"reads {major}\.x", *run)

# Flipped bits: header and root are refused on open.
for i, byte in enumerate(range(0, 64, 3)):
    write(flipped(byte, i % 8))
    f.fail(1, r"error: bad.sdx: \S", *run)
for i in range(12):
    write(flipped(64 + root_size * i // 12, i % 8))
    f.fail(1, "error: bad.sdx: the root is damaged: digest", *run)

# Behind them verify finds every bit; code and text are refused on open, weights
# are not read by it.
seen = set()
begin = 64 + root_size
for i in range(48):
    byte = begin + (len(good) - begin) * (2 * i + 1) // 96
    write(flipped(byte, i % 8))
    f.fail(1, r"error: bad.sdx: (segments\[\d+\] \(\w+\) is damaged: digest|"
           r"byte \d+ is padding and is not zero)", "verify", "bad.sdx")
    damage = subprocess.run([sdc, "verify", "bad.sdx"], capture_output=True,
                            text=True).stderr
    kind = damage.split("(")[1].split(")")[0] if "(" in damage else "padding"
    seen.add(kind)
    if kind in ("code", "text"):
        f.fail(1, rf"error: bad.sdx: segments\[\d+\] \({kind}\) is damaged",
               *run)
    elif kind == "Weights":
        f.do(*run)
assert {"code", "text", "Weights"} <= seen, seen
os.remove("bad.sdx")
f.finish()
