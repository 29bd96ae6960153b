#!/usr/bin/env python3
"""Every variant of the linear kernels against fp64 on a written list of shapes, on a GPU.

Outputs are poisoned; every case runs twice and must give the same bits. The error of a row is
taken relative to the norm of its weights times that of x. Exit status 1 if a case fails."""
import sys

import torch

from device import TYPES, attribute, build, dev, launch, nm_mask, pack
from kernels import Linear

BOUND = 2e-3
PATTERNS = ((2, 4), (4, 8), (8, 16), (16, 32), (24, 32), (2, 8), (1, 4), (31, 32), (3, 16))
# One of each kind from 1B to 70B models, and odd ones.
SHAPES = (((2048, 512, 512), 2048), ((4096,), 4096), ((4096,), 14336), ((1024,), 5120),
          ((5120,), 17408), ((1280,), 8192), ((512,), 28672), ((7,), 100), ((33, 5), 577),
          ((576, 192, 192), 576), ((49,), 1536), ((130,), 4099))


def cases():
    def tiles(pattern, type):
        yield 'lanes32'
        if type != 'f32' and pattern in ((1, 1), (2, 4)):
            yield 'mma16'

    def fit(l):
        import dataclasses
        while l.shared > 227 * 1024 and l.stages > 1:
            l = dataclasses.replace(l, stages=l.stages - 1)
        while l.shared > 227 * 1024:
            l = dataclasses.replace(l, warps=l.warps // 2)
        return l

    for rows, K in SHAPES:
        for pattern, type in ((((1, 1)), 'bf16'), ((2, 4), 'bf16'), ((16, 32), 'bf16'),
                              ((4, 8), 'f16'), ((2, 4), 'f16'), ((1, 1), 'f16')):
            for tile in tiles(pattern, type):
                yield fit(Linear(rows, K, pattern, type, tile)), 1
    for pattern in PATTERNS:
        for type in TYPES:
            for tile in tiles(pattern, type):
                yield fit(Linear((96, 40), 1000, pattern, type, tile, stages=2)), 1
    for pattern, tile in (((2, 4), 'mma16'), ((16, 32), 'lanes32'), ((1, 1), 'mma16')):
        for K in (576, 4096, 16384):
            for norm in ('rms', 'layer'):
                yield fit(Linear((200, 200), K, pattern, 'bf16', tile, norm=norm, pair='Silu')), 1
        for act in ('Silu', 'GeluTanh', 'GeluErf', 'Relu', 'QuickGelu', 'Relu2'):
            yield Linear((72, 72), 640, pattern, 'bf16', tile, pair=act, bias=True, stages=2), 1
        for warps, stages in ((4, 2), (12, 1), (16, 1)):
            yield Linear((500,), 2048, pattern, 'bf16', tile, warps, stages, residual=True), 1
        for select in ('All', 'Last', 'Active'):
            yield Linear((100, 60), 512, pattern, 'bf16', tile, bias=True, select=select,
                         stages=2), 5
        yield Linear((100,), 512, pattern, 'bf16', tile, residual=True, stages=2), 3


ACTS = {'Silu': torch.nn.functional.silu,
        'GeluTanh': lambda v: torch.nn.functional.gelu(v, approximate='tanh'),
        'GeluErf': torch.nn.functional.gelu, 'Relu': torch.relu,
        'QuickGelu': lambda v: v * torch.sigmoid(1.702 * v), 'Relu2': lambda v: torch.relu(v)**2}


def run(l, T):
    """The largest error of a row relative to its norm, or a message."""
    x = torch.randn(T, l.K, device=dev)
    W = [torch.randn(r, l.K, device=dev).to(TYPES[l.type]) for r in l.rows]
    masks = [nm_mask(r, l.K, *l.pattern) for r in l.rows]
    packed = [pack(l, w, m) for w, m in zip(W, masks)]
    dense = [(w * m[:, :l.K] if l.pattern != (1, 1) else w).double() for w, m in zip(W, masks)]
    gain, shift = torch.randn(l.K, device=dev), torch.randn(l.K, device=dev)
    bias = [torch.randn(r, device=dev) for r in l.rows]
    residual = torch.randn(T, l.rows[0], device=dev)
    positions = torch.tensor([3, -1, 5, 0, -1][:T], dtype=torch.int32, device=dev)
    xd = x.double()
    if l.norm == 'rms':
        xd = xd * (xd.square().mean(-1, True) + 1e-5).rsqrt() * gain.double()
    if l.norm == 'layer':
        xd = torch.nn.functional.layer_norm(xd, (l.K,), gain.double(), shift.double(), 1e-5)
    if l.select == 'Last':
        xd = xd[3:4]
    Y = [xd @ d.T for d in dense]
    # Scale of an error: |w| |x| of each row.
    scale = [xd.norm(dim=-1, keepdim=True) * d.norm(dim=-1) for d in dense]
    if l.bias:
        Y = [y + b.double() for y, b in zip(Y, bias)]
    if l.pair:
        a = ACTS[l.pair](Y[0])
        scale = [scale[0] * Y[1].abs() * 1.2 + a.abs() * scale[1] + 1e-3]
        Y = [a * Y[1]]
    if l.residual:
        Y = [Y[0] + residual.double()]
    grid = 1 if l.select == 'Last' else T
    results = []
    for ctas in (132, 7):
        outs = [torch.full((grid, y.shape[1]), float('nan'), device=dev) for y in Y]
        launch(l, ctas, x, packed, outs, grid, (gain, shift), positions,
               bias if l.bias else None, residual if l.residual else None, count=T)
        torch.cuda.synchronize()
        results.append(outs)
    worst = 0
    for y, s, a, b in zip(Y, scale, *results):
        if l.select == 'Active':
            keep = positions >= 0
            if not a[~keep].isnan().all():
                return 'wrote a row that takes no part'
            y, s, a, b = y[keep], s[keep], a[keep], b[keep]
        if not torch.equal(a, b):
            return 'two runs differ'
        e = ((a.double() - y).abs() / s).max().item()
        if not e <= BOUND:
            return f'error {e:.2e}'
        worst = max(worst, e)
    return worst


def main():
    todo = list(dict.fromkeys(cases()))
    build([l for l, _ in todo])
    failed, worst = 0, {}
    for l, T in todo:
        result = run(l, T)
        if attribute(l, 3):
            result = f'{attribute(l, 3)} bytes of local memory'
        if isinstance(result, str):
            failed += 1
            print(f'FAIL {l.name} T={T}: {result}', flush=True)
        else:
            key = (l.type, l.tile)
            worst[key] = max(worst.get(key, 0), result)
    for key, e in worst.items():
        print(f'{" ".join(key):<14} worst error {e:.1e}')
    print(f'{len(todo)} cases, {failed} failed', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
