#!/usr/bin/env python3
"""Chooses warps, stages, CTAs an SM and grid for each shape of a model's layer, inside the chain
of its four matrices (the best choice depends on the neighbours), and prints the chain beside
cuBLAS. Every kernel reads what the one before wrote; one CUDA graph with PDL; every layer has
its own weights.

    tune.py [--quick] [KIND ...] [MODEL ...]"""
import dataclasses
import sys

import torch

from device import build, dev, graph, launch, median, nm_mask, pack, times
from kernels import Linear

MODELS = {
    '8b': (((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)), 32),
    '1b': (((3072, 2048), (2048, 2048), (16384, 2048), (2048, 8192)), 16),
    '14b': (((7168, 5120), (5120, 5120), (34816, 5120), (5120, 17408)), 24),
    '70b': (((10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672)), 12),
}
KINDS = {'2:4': ((2, 4), 'mma16'), '16:32': ((16, 32), 'lanes32'), 'dense': ((1, 1), 'mma16'),
         '4:8': ((4, 8), 'lanes32'), '8:16': ((8, 16), 'lanes32'), '2:4 lanes': ((2, 4), 'lanes32')}
SMS = 132


def variants(R, K, kind):
    """(linear, grid): rings that fill a part of an SM, so that several kernels fit on it."""
    pattern, tile = KINDS[kind]
    base = Linear((R,), K, pattern, tile=tile)
    out = []
    for warps in (4, 6, 8, 10, 12, 16):
        for parts in (1, 2, 3):
            limit = 232448 if parts == 1 else (233472 // parts - 1024)
            least = 64 if tile == 'lanes32' else 40
            if 65536 // (warps * 32 * parts) < least:
                continue
            fits = [dataclasses.replace(base, warps=warps, stages=s, min_ctas=parts)
                    for s in range(1, 13)]
            fits = [l for l in fits if l.shared <= limit]
            if fits:
                out.append((fits[-1], SMS))
    return out


class Chain:
    def __init__(self, name, kind):
        self.shapes, self.layers = MODELS[name]
        self.kind, self.name = kind, name
        pattern, _ = KINDS[kind]
        first = []
        for R, K in self.shapes:
            l = Linear((R,), K, pattern, tile=KINDS[kind][1])
            W = (torch.randn(R, K, device=dev) * (pattern[0] / pattern[1] * K)**-0.5).bfloat16()
            first.append(pack(l, W, nm_mask(R, K, *pattern)))
            del W
        self.mats = [first] + [[d.clone() for d in first] for _ in range(self.layers - 1)]
        n = max(max(s) for s in self.shapes)
        self.bufs = [torch.randn(n, device=dev) for _ in range(2)]
        self.bytes = sum(d.numel() for d in first) * self.layers

    def graph(self, choice):
        def step():
            i = 0
            for layer in self.mats:
                for d, (l, grid) in zip(layer, choice):
                    launch(l, grid, self.bufs[i], [d], [self.bufs[1 - i]])
                    i = 1 - i
        for b in self.bufs:
            b.normal_()
        return graph(step)

    def time(self, choice, reps=5):
        return median(times([self.graph(choice)], reps, 2)[0])

    def tune(self, passes=2):
        options = [variants(R, K, self.kind) for R, K in self.shapes]
        build([l for o in options for l, _ in o])

        # Places on multiprocessors mix badly, so begin with the best choice that is the same
        # for all four, as far as it fits.
        def same(warps, parts):
            found = [[c for c in o if c[0].warps == warps and c[0].min_ctas == parts] or
                     [c for c in o if c[0].min_ctas == parts] for o in options]
            return all(found) and [f[-1] for f in found]
        starts = [s for w in (4, 6, 8, 10, 12, 16) for p in (1, 2, 3) if (s := same(w, p))]
        timed = [(self.time(s), i) for i, s in enumerate(starts)]
        t, i = min(timed)
        best = starts[i]
        print('  same: ' + '; '.join(f'{u:.0f}: w{starts[i][0][0].warps} c{starts[i][0][0].min_ctas}'
                                     for u, i in sorted(timed)[:6]), flush=True)
        print(f'  start {t:.1f}', flush=True)
        for p in range(passes):
            for i, o in enumerate(options):
                seen = []
                for c in o:
                    trial = best[:i] + [c] + best[i + 1:]
                    u = self.time(trial)
                    seen.append((u, c))
                    if u < t:
                        t, best = u, trial
                if p == 0:
                    seen.sort(key=lambda s: s[0])
                    print('  ', self.shapes[i], '; '.join(
                        f'{u:.0f}: w{l.warps} s{l.stages} c{l.min_ctas} g{g}'
                        for u, (l, g) in seen[:5] + seen[-1:]), flush=True)
        t = self.time(best, 50)
        print(f'{self.name} {self.kind}: {t:.1f} us, {self.bytes / t / 1e6:.2f} TB/s  ' + ' | '.join(
            f'w{l.warps} s{l.stages} c{l.min_ctas} g{g}' for l, g in best), flush=True)
        return best


def cublas(name):
    shapes, layers = MODELS[name]
    first = [(torch.randn(R, K, device=dev) * K**-0.5).bfloat16() for R, K in shapes]
    mats = [first] + [[w.clone() for w in first] for _ in range(layers - 1)]
    n = max(max(s) for s in shapes)
    bufs = [torch.randn(n, device=dev).bfloat16() for _ in range(2)]

    def step():
        i = 0
        for layer in mats:
            for W, (R, K) in zip(layer, shapes):
                torch.mv(W, bufs[i][:K], out=bufs[1 - i][:R])
                i = 1 - i
    t = median(times([graph(step)], 20, 5)[0])
    size = sum(w.numel() for w in first) * 2 * layers
    print(f'{name} cuBLAS: {t:.1f} us, {size / t / 1e6:.2f} TB/s', flush=True)


if __name__ == '__main__':
    asked = [a for a in sys.argv[1:] if not a.startswith('--')]
    for name in [a for a in asked if a in MODELS] or ['8b']:
        for kind in [a for a in asked if a in KINDS] or ['2:4', '16:32', 'dense']:
            Chain(name, kind).tune(1 if '--quick' in sys.argv else 2)
            torch.cuda.empty_cache()
        cublas(name)
        torch.cuda.empty_cache()
