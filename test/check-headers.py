"""Compiles every header of the tree alone, with the flags that a source of the
same folder (or of the nearest one above it) is compiled with.

    check-headers.py SOURCE BUILD

Goes through ccache where there is one, so a second run takes seconds.
"""

import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys

FOLDERS = ["compiler", "dialects", "kernels", "runtime", "tools"]


def flags_by_folder(source, build):
    """Compiler and flags of one source of each folder."""
    found = {}
    with open(os.path.join(build, "compile_commands.json")) as file:
        for entry in json.load(file):
            path = os.path.join(entry["directory"], entry["file"])
            folder = os.path.relpath(os.path.dirname(path), source)
            if not path.endswith(".cpp") or folder.startswith(".."):
                continue
            words = shlex.split(entry["command"])
            if os.path.basename(words[0]) == "ccache":
                words = words[1:]
            kept, skip = [], False
            for word in words:
                if skip or word == path or word == "-c" or word == "-MD":
                    skip = False
                elif word in ("-o", "-MT", "-MF"):
                    skip = True
                else:
                    kept.append(word)
            if folder not in found:
                found[folder] = kept
                continue
            # The targets of a folder may see different libraries.
            for flag, value in zip(kept, kept[1:] + [""]):
                if flag == "-isystem" and value not in found[folder]:
                    found[folder] += [flag, value]
                elif flag[:2] in ("-I", "-D") and flag not in found[folder]:
                    found[folder].append(flag)
    return found


def flags_of(folder, found):
    """The nearest folder that has sources: this one, above it, or below."""
    while folder and folder not in found:
        below = sorted(f for f in found if f.startswith(folder + "/"))
        if below:
            return found[below[0]]
        folder = os.path.dirname(folder)
    return found.get(folder)


def compile_alone(header, words, source, out):
    stem = os.path.join(out, header.replace("/", "_"))
    unit = stem + ".cpp"
    text = f'#include "{header}"\n#include "{header}"\n'
    if not os.path.exists(unit) or open(unit).read() != text:
        with open(unit, "w") as file:
            file.write(text)
    launcher = ["ccache"] if shutil.which("ccache") else []
    command = launcher + words + [
        "-I" + source, "-O0", "-c", unit, "-o", stem + ".o"]
    result = subprocess.run(command, capture_output=True, text=True)
    os.path.exists(stem + ".o") and os.remove(stem + ".o")
    return header, result.returncode, result.stderr


def main():
    source, build = sys.argv[1:3]
    out = os.path.join(build, "test", "headers")
    os.makedirs(out, exist_ok=True)
    found = flags_by_folder(source, build)
    jobs = []
    for top in FOLDERS:
        for root, _, files in os.walk(os.path.join(source, top)):
            for name in sorted(files):
                if name.endswith((".h", ".hpp")):
                    header = os.path.relpath(os.path.join(root, name), source)
                    words = flags_of(os.path.dirname(header), found)
                    if words:
                        jobs.append((header, words))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, code, errors in pool.map(
                lambda job: compile_alone(*job, source, out), jobs):
            if code:
                failed += 1
                print(f"{header} does not compile alone:\n{errors}")
    print(f"{len(jobs)} headers, {failed} failed")
    # No header at all means that the search is broken.
    sys.exit(1 if failed or not jobs else 0)


main()
