#!/usr/bin/env python3
"""Compiles every template variant for every architecture without a GPU, and reads the code.

For each: no stack, no local memory. In the loop over units of the disassembled ones: as many
bit searches, gathers or MMAs as the pattern keeps values (so no loop over bits), no branch after
the first of them (so none on a mask), an end that is compared with a constant, and no more
instructions for a word of 32 columns than the budget. From sm_90 on weights come by bulk copies
and both instructions of programmatic launch are there, before by asynchronous copies of 16 bytes.

Exit status 1, and a line for each fault, if something is wrong."""
import collections
import concurrent.futures
import os
import re
import struct
import subprocess
import sys
import tempfile

import kernels
from kernels import Linear

ARCHS = ('sm_80', 'sm_86', 'sm_89', 'sm_90a', 'sm_100a')

# Instructions for a word and warp, all of the loop counted (performance.md allows 251 in 16 bits).
LANES, FRAGMENT = {'bf16': 7.5, 'f16': 8.5}, 45

SHORT = [  # disassembled for every architecture
    Linear((4096,), 4096, (16, 32), warps=8, stages=2, min_ctas=2),
    Linear((28672,), 4096, (2, 4), tile='mma16', warps=16, stages=2, min_ctas=2),
]
LONG = [  # disassembled for sm_90a
    Linear((4096,), 14336, (4, 8), warps=12, stages=3),
    Linear((3072, 512, 512), 2048, (16, 32), 'f16', warps=16, stages=1, min_ctas=2, norm='rms'),
    Linear((8192, 8192), 2048, (8, 16), warps=16, stages=1, min_ctas=2, norm='rms', pair='Silu'),
    Linear((4096,), 4096, (24, 32), warps=8, stages=2, residual=True),
    Linear((14336, 14336), 4096, (2, 4), tile='mma16', stages=5, min_ctas=2, norm='rms',
           pair='Silu'),
    Linear((4096,), 4096, (1, 1), tile='mma16', stages=2, min_ctas=2, residual=True),
]
COMPILED = [  # only compiled
    Linear((6144,), 4096, (2, 4), 'f16', 'mma16', stages=5, norm='layer', bias=True),
    Linear((4096,), 4096, (1, 1), 'f16', 'mma16', warps=16, stages=1, min_ctas=2, select='Last'),
    Linear((96, 40), 1000, (31, 32), 'f16', stages=2),
    Linear((96, 40), 1001, (3, 16), 'f32', stages=2, select='Active'),
    Linear((96,), 577, (1, 1), 'f32', warps=8, stages=1),
    Linear((4096,), 4096, (16, 32), 'f32', warps=8, stages=2),
    Linear((4096,), 14336, (1, 1), tile='mma16', warps=12, stages=1, min_ctas=2),
    Linear((72, 72), 640, (2, 8), pair='GeluErf', bias=True, stages=2),
]


def nvdisasm():
    path = kernels.find(('nvidia/cu13/bin/nvdisasm', 'nvidia/cuda_nvdisasm/bin/nvdisasm'))
    if not path:
        raise SystemExit('nvdisasm not found: pip install nvidia-cuda-nvdisasm')
    return path


def stack_bytes(cubin):
    """The largest frame in .nv.info: records of (format, attribute, size, payload)."""
    offset, = struct.unpack_from('<Q', cubin, 0x28)
    size, count, names = struct.unpack_from('<HHH', cubin, 0x3a)
    sections = [struct.unpack_from('<IIQQQQ', cubin, offset + i * size) for i in range(count)]
    strings = sections[names][4]
    largest, seen = 0, False
    for name, _, _, _, start, length in sections:
        end = cubin.index(b'\0', strings + name)
        if cubin[strings + name:end] != b'.nv.info':
            continue
        at = start
        while at < start + length:
            form, attribute, value = struct.unpack_from('<BBH', cubin, at)
            at += 4
            if form == 4:
                if attribute in (0x11, 0x12):  # frame, least stack
                    largest, seen = max(largest, struct.unpack_from('<I', cubin, at + 4)[0]), True
                at += value
    assert seen, 'no frame size in the cubin'
    return largest


def unit_loop(lines, mark):
    """The lines of the shortest loop that holds every `mark`, labels included."""
    places = {m.group(1): i for i, l in enumerate(lines) if (m := re.match(r'(\.L\w+):', l))}
    marks = [i for i, l in enumerate(lines) if re.search(mark, l)]
    best = None
    for i, l in enumerate(lines):
        m = re.search(r'\bBRA(?:\.\w+)* .*`\((\.L\w+)\)', l)
        if m and places.get(m.group(1), i) < min(marks) and i > max(marks):
            begin = places[m.group(1)]
            if best is None or i - begin < best[1] - best[0]:
                best = begin, i
    return lines[best[0]:best[1] + 1] if best else []


def branch_faults(body):
    """Follows what bit searches give through registers and predicates: no branch may depend on
    it. The branch that closes the loop must depend on a comparison with a constant."""
    masks, closing, last = set(), {}, None
    for line in body:
        m = re.match(r'/\*[0-9a-f]+\*/\s+(@!?(U?P\w+) )?([A-Z0-9_.]+) ?(.*);', line)
        if not m:
            continue
        guard, name, operands = m.group(2), m.group(3), m.group(4)
        names = re.findall(r'\b(?:UR|UP|R|P)\d+\b', operands)
        if re.match(r'BRA|BRX|CALL|JMP', name):
            if masks & ({guard} | set(names)):
                yield 'branch on a mask: ' + line
            last = guard or last
            continue
        if not names or re.match(r'ST|RED|ATOM|BAR|SYNCS', name):
            continue
        results = re.findall(r'\b(?:UP|P)\d+\b', operands)[:1] if 'SETP' in name else names[:1]
        sources = set(names) - set(results) if 'SETP' in name else set(names[1:])
        dirty = name.startswith('FLO') or bool(masks & sources)
        for r in results:
            (masks.add if dirty else masks.discard)(r)
            if 'ISETP' in name:
                closing[r] = bool(re.search(r', -?0x[0-9a-f]+, ', operands))
    if not closing.get(last):
        yield 'the loop over units does not end at a constant'


def faults_of(linear, arch, text):
    lines = [l.strip() for l in text.splitlines()]
    code = [l for l in lines if re.match(r'/\*[0-9a-f]{4,}\*/', l)]
    op = re.compile(r'/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+ )?([A-Z0-9_]+)')
    count = collections.Counter(op.match(l).group(1) for l in code if op.match(l))
    if count['LDL'] + count['STL']:
        yield 'local memory'
    modern = arch in ('sm_90a', 'sm_100a')
    for name, there in (('ACQBULK', modern), ('PREEXIT', modern), ('UBLKCP', modern),
                        ('LDGSTS', not modern)):
        if bool(count[name]) != there:
            yield f'{count[name]} {name}, expected {"some" if there else "none"}'
    lanes = linear.tile == 'lanes32'
    mark = r'\bFLO\b' if lanes else r'\bHMMA\b'
    if not any(re.search(mark, l) for l in lines):
        yield f'no {mark} in the kernel'
        return
    loop = unit_loop(lines, mark)
    body = [l for l in loop if op.match(l)]
    if not body:
        yield 'no loop over units'
        return
    inside = collections.Counter(op.match(l).group(1) for l in body)
    expected = 4 * linear.values if lanes else 4 if linear.pattern == (2, 4) else 8
    found = inside['FLO' if lanes else 'HMMA']
    if found != expected:
        yield f'{found} {"FLO" if lanes else "HMMA"} in the loop over units, expected {expected}'
    if lanes and inside['FFMA'] != expected:
        yield f'{inside["FFMA"]} FFMA, expected {expected}'
    yield from branch_faults(body)
    words = len(body) / 4
    budget = LANES[linear.type] * linear.values if lanes else FRAGMENT
    if words > budget:
        yield f'{words:.0f} instructions a word, budget {budget:.0f}'


def job(argument):
    linear, arch, read = argument
    try:
        cubin = kernels.compile_text(linear.source(), arch)
    except RuntimeError as error:
        return [str(error)]
    faults = []
    if stack_bytes(cubin):
        faults.append(f'{stack_bytes(cubin)} bytes of stack')
    if read:
        with tempfile.NamedTemporaryFile(suffix='.cubin') as file:
            file.write(cubin)
            file.flush()
            run = subprocess.run([nvdisasm(), '-c', file.name], capture_output=True, text=True)
        faults += list(faults_of(linear, arch, run.stdout)) if run.returncode == 0 else [run.stderr]
    return faults


def main():
    jobs = [(l, a, l in SHORT or (l in LONG and a == 'sm_90a')) for a in ARCHS
            for l in SHORT + LONG + (COMPILED if a in ('sm_80', 'sm_90a') else [])]
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for (linear, arch, _), faults in zip(jobs, pool.map(job, jobs)):
            for fault in faults:
                print(f'{arch} {linear.name}: {fault}')
            failed += bool(faults)
    read = sum(r for _, _, r in jobs)
    print(f'{len(jobs)} kernels compiled, {read} read, {failed} with faults')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
