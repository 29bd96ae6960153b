"""Makes a model folder whose data file has holes but for its rotary tables.

    write_rope_tables.py FORM OUT

FORM holds model.onnx and weights.json, which says where each tensor lies.
"""

import json
import os
import shutil
import sys

import numpy as np


def main(form, out):
    os.makedirs(out)
    shutil.copy(os.path.join(form, "model.onnx"), out)
    with open(os.path.join(form, "weights.json")) as stream:
        spec = json.load(stream)
    with open(os.path.join(out, spec["file"]), "wb") as data:
        for entry in spec["tensors"]:
            if not entry["from"].startswith("rope:"):
                continue
            positions, half = entry["shape"]
            exponents = np.arange(half, dtype=np.float32) / half
            frequencies = 1.0 / 100000.0**exponents
            angle = np.outer(np.arange(positions, dtype=np.float32), frequencies)
            table = np.cos(angle) if entry["from"] == "rope:cos" else np.sin(angle)
            data.seek(entry["offset"])
            data.write(table.astype(entry["dtype"]).tobytes())
        data.truncate(spec["size"])


if __name__ == "__main__":
    main(*sys.argv[1:])
