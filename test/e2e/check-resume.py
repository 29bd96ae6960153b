"""A recording that is killed and resumed, again and again, gives the bytes of
one that was left alone, and leaves nothing else behind.

    check-resume.py SDC FORM OUT
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from recordings import Activations, Recording, distance, make_model, run

TOKENS, KILLS = 4000, 4


def command(sdc, folder, out, tokens, *options, seed=0, temperature=0.7,
            context=100, longest=80):
    return [sdc, "record", folder, "-o", out, "--prompts",
            os.path.join(os.path.dirname(folder), "prompts.txt"), "--raw", "-q",
            "-b", "3", "--tokens", str(tokens), "-s", str(seed), "--temp",
            str(temperature), "-c", str(context), "--max-new", str(longest),
            *options]


def stamp(path):
    """Changes with each checkpoint; None if there is none."""
    try:
        status = os.stat(path)
        return status.st_ino, status.st_mtime_ns
    except FileNotFoundError:
        return None


def killed(arguments, partial, checkpoints, pause):
    """Runs until some checkpoints were written and a pause after, or, with no
    checkpoint asked for, after the pause; then SIGKILL. False if it ended."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    seen, last = 0, stamp(partial)
    while seen < checkpoints and process.poll() is None:
        now = stamp(partial)
        seen += now != last
        last = now
        time.sleep(0.001)
    time.sleep(pause)
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode in (0, -signal.SIGKILL), process.stderr.read()
    return process.returncode != 0


def main():
    sdc, form, out = sys.argv[1:]
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    # Nothing ends a text early, so that there is time to be killed in.
    folder = make_model(form, os.path.join(out, "model"), stops=[255])
    with open(os.path.join(out, "prompts.txt"), "w") as file:
        file.write("a cat\nthe dog on the hill\nb\nwhat is it that we are\n")
    whole = os.path.join(out, "whole")
    begin = time.monotonic()
    run(*command(sdc, folder, whole, TOKENS))
    duration = time.monotonic() - begin
    with open(whole, "rb") as file:
        expected = file.read()
    assert Recording(whole).written() >= TOKENS

    rng = random.Random(5)
    parts = os.path.join(out, "parts")
    partial = parts + ".partial"
    # Before the first checkpoint, and then in any moment of a wave.
    resume = command(sdc, folder, parts, TOKENS, "--resume")
    killed(command(sdc, folder, parts, TOKENS), partial, 0, 0.05)
    kills, stages = 0, []
    for _ in range(KILLS):
        if not killed(resume, partial, rng.randrange(1, 3),
                      rng.uniform(0, duration / 60)):
            break
        # Killed after the last checkpoint had got the final name.
        if not os.path.exists(partial):
            break
        kills += 1
        stages.append(Recording(partial).written())
    run(*resume)
    with open(parts, "rb") as file:
        assert file.read() == expected, "resumed bytes differ"
    assert kills >= 3 and len(set(stages)) >= 3, f"{kills} kills at {stages}"
    assert stages == sorted(stages), f"a checkpoint was lost: {stages}"

    # A finished file is left as it is.
    before = stamp(parts)
    run(*resume)
    assert stamp(parts) == before
    left = sorted(os.listdir(out))
    assert left == ["model", "parts", "prompts.txt", "whole"], left

    # What was killed goes on only with its own settings.
    other = command(sdc, folder, parts, TOKENS, "--resume", seed=1,
                    temperature=1, context=90, longest=9)
    done = run(*other, check=False)
    assert done.returncode == 1
    for name in ("seed", "temperature", "context", "max_new"):
        assert f"with {name} '" in done.stderr, f"{name}: {done.stderr}"

    # A finished file grows: the same rollouts, and more.
    run(*command(sdc, folder, parts, 2 * TOKENS, "--resume"))
    old, new = Recording(whole), Recording(parts)
    assert new.rollouts[:len(old.rollouts)] == old.rollouts
    assert new.written() >= 2 * TOKENS
    model = Activations(os.path.join(folder, "model.onnx"))
    sums, _, _ = model.moments(new.rollouts)
    for name in sums:
        far = distance(new.sums[name], sums[name])
        assert far < 1e-5, f"{name} is {far:.2e} away"
    print(f"{kills} kills at {stages} positions: equal bytes")


main()
