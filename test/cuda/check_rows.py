#!/usr/bin/env python3
"""The kernels without a product against fp64, on a GPU.

    CudaText sm_90a < test/cuda/rows.txt > rows.cu; nvcc -cubin -arch=sm_90a
    -Ikernels/Cuda/device rows.cu; check_rows.py rows.cubin

Outputs are poisoned. Exit status 1 if a case fails."""
import ctypes
import sys

import torch

dev = 'cuda'
torch.manual_seed(0)
driver = ctypes.CDLL('libcuda.so.1')
torch.zeros(1, device=dev)
module = ctypes.c_void_p()
assert driver.cuModuleLoadData(ctypes.byref(module), open(sys.argv[1], 'rb').read()) == 0
failed = 0


def call(name, grid, block, *tensors):
    function = ctypes.c_void_p()
    rc = driver.cuModuleGetFunction(ctypes.byref(function), module, name.replace('.', '_').encode())
    assert rc == 0, (name, rc)
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in tensors]
    params = (ctypes.c_void_p * len(pointers))(*[ctypes.addressof(p) for p in pointers])
    grid = tuple(grid) + (1,) * (3 - len(grid))
    rc = driver.cuLaunchKernel(function, *grid, block, 1, 1, 0, None, params, None)
    assert rc == 0, (name, rc)
    torch.cuda.synchronize()


def close(name, got, want, bound=1e-5):
    global failed
    error = ((got.double() - want).abs().max() / want.abs().max().clamp_min(1e-30)).item()
    good = error <= bound
    failed += not good
    print(f'{"ok  " if good else "FAIL"} {name}: {error:.1e}', flush=True)


def new(*shape):
    return torch.full(shape, float('nan'), device=dev)


def randn(*shape):
    return torch.randn(*shape, device=dev)


def ints(*values):
    return torch.tensor(values, dtype=torch.int32, device=dev)


def fragments(w):
    """The dense tile mma16, from the drawing in kernels/Format/CudaTile.h."""
    rows, K = w.shape
    units = (K + 127) // 128
    padded = torch.zeros((rows + 15) // 16 * 16, units * 128, dtype=w.dtype, device=dev)
    padded[:rows, :K] = w
    # block, r, g, unit, s, h, t, i -> block, unit, s, (g, t), (h, r), i
    v = padded.view(-1, 2, 8, units, 8, 2, 4, 2)
    return v.permute(0, 3, 4, 2, 6, 5, 1, 7).contiguous()


def lanes(w):
    rows, K = w.shape
    units = (K + 127) // 128
    each = 16 // w.element_size()
    padded = torch.zeros((rows + 31) // 32 * 32, units * 128, dtype=w.dtype, device=dev)
    padded[:rows, :K] = w
    return padded.view(-1, 32, units, 128 // each, each).permute(0, 2, 3, 1, 4).contiguous()


def rows():
    tokens = ints(3, 99, 100)  # the last is outside and reads row 0
    for name, H, dtype, pack in (('embed.t3.v100.h64.bf16', 64, torch.bfloat16, lambda w: w),
                                 ('embed.t3.v100.h64.bf16_mma16', 64, torch.bfloat16, fragments),
                                 ('embed.t3.v100.h70.f32_lanes32', 70, torch.float32, lanes)):
        table, out = randn(100, H).to(dtype), new(3, H)
        call(name, (3,), 256, tokens, pack(table), out)
        close(name, out, table[[3, 99, 0]].double(), 0)
    x, w, out = randn(3, 70), randn(70), new(3, 70)
    call('norm.t3.k70.rms_f32_1em05', (3,), 256, x, w, out)
    xd = x.double()
    close('rms', out, xd * (xd.square().mean(-1, True) + 1e-5).rsqrt() * w.double())
    wb, bb, out = randn(70).bfloat16(), randn(70).bfloat16(), new(3, 70)
    call('norm.t3.k70.layer_bias_bf16_1em05', (3,), 256, x, wb, bb, out)
    close('layer', out, torch.nn.functional.layer_norm(xd, (70,), wb.double(), bb.double(), 1e-5))
    out = new(1, 70)
    call('last_row.t3.k70', (1,), 256, x, ints(4, 5, -1), out)
    close('last_row', out, xd[1:2], 0)
    g, u = randn(3, 300), randn(3, 300)
    out = new(3, 300)
    call('gate.t3.k300.silu', (2, 3), 256, g, u, out)
    close('gate', out, torch.nn.functional.silu(g.double()) * u.double())
    out = new(3, 300)
    call('activate.t3.k300.gelu_tanh', (2, 3), 256, g, out)
    close('activate', out, torch.nn.functional.gelu(g.double(), approximate='tanh'))
    out = new(3, 300)
    call('add.t3.k300', (2, 3), 256, g, u, out)
    close('add', out, g.double() + u.double())
    b, out = randn(300).bfloat16(), new(3, 300)
    call('add.t3.k300.row_bf16', (2, 3), 256, g, b, out)
    close('add row', out, g.double() + b.double())


CONTEXT, SLOTS = 256, 4
PARAMS = torch.tensor([CONTEXT, SLOTS], dtype=torch.int64, device=dev)
POSITIONS, ROWSLOTS = ints(200, -1, 7), ints(2, 0, 3)


def rotate(x, position, f, rotated, pairs, scale):
    angle = (torch.tensor(float(position)) * f.cpu()).double().to(dev)
    c, s = angle.cos() * scale, angle.sin() * scale
    out = x.clone()
    a, b = (x[..., 0:rotated:2], x[..., 1:rotated:2]) if pairs else \
        (x[..., :rotated // 2], x[..., rotated // 2:rotated])
    first, second = a * c - b * s, b * c + a * s
    if pairs:
        out[..., 0:rotated:2], out[..., 1:rotated:2] = first, second
    else:
        out[..., :rotated // 2], out[..., rotated // 2:rotated] = first, second
    return out


def rotary(name, heads, kvHeads, D, dtype, R, pairs, scale, norm):
    q, k, v = randn(3, heads, D), randn(3, kvHeads, D), randn(3, kvHeads, D)
    f = 10000.0 ** (-torch.arange(R // 2, device=dev).float() / (R // 2))
    qw, kw = randn(D), randn(D)
    out = new(3, heads, D)
    keys = torch.full((SLOTS, kvHeads, CONTEXT, D), 9.0, dtype=dtype, device=dev)
    values = keys.clone()
    wantKeys, wantValues = keys.double(), values.double()
    call(name, (heads + kvHeads, 3), 128, POSITIONS, ROWSLOTS, PARAMS, f,
         *((qw, kw) if norm else ()), q, out, k, keys, v, values)
    rms = lambda x, w: x * (x.square().mean(-1, True) + 1e-6).rsqrt() * w.double() if norm else x
    for t in (0, 2):
        p, s = POSITIONS[t].item(), ROWSLOTS[t].item()
        close(f'{name} q', out[t], rotate(rms(q[t].double(), qw), p, f, R, pairs, scale))
        wantKeys[s, :, p] = rotate(rms(k[t].double(), kw), p, f, R, pairs, scale)
        wantValues[s, :, p] = v[t].double()
    bound = 1e-5 if dtype == torch.float32 else 4e-3
    close('  keys', keys, wantKeys, bound)
    close('  values', values, wantValues, bound)
    if not out[1].isnan().all():
        close('  wrote a row that takes no part', new(1), torch.ones(1, device=dev).double())


def attention(name, heads, kvHeads, D, V, dtype, scale, window=0, cap=0, splits=1):
    q = randn(3, heads, D) * 2
    keys = randn(SLOTS, kvHeads, CONTEXT, D).to(dtype)
    values = randn(SLOTS, kvHeads, CONTEXT, V).to(dtype)
    share = heads // kvHeads
    groups = -(-share // min(share, 8))
    out = new(3, heads, V) if splits == 1 else new(3, heads, splits, V + 2)
    call(name, (splits, kvHeads * groups, 3), 128, q, keys, values, POSITIONS, ROWSLOTS, PARAMS,
         out)
    if splits > 1:
        merged = new(3, heads, V)
        call(f'combine.t3.q{heads}_{V}.split{splits}', (heads, 3), 128, out, merged)
        out = merged
    want = torch.zeros(3, heads, V, dtype=torch.float64, device=dev)
    for t in (0, 2):
        p, s = POSITIONS[t].item(), ROWSLOTS[t].item()
        first = max(0, p - window + 1) if window else 0
        k = keys[s, :, first:p + 1].double().repeat_interleave(share, 0)
        v = values[s, :, first:p + 1].double().repeat_interleave(share, 0)
        scores = torch.einsum('hd,hpd->hp', q[t].double(), k) * scale
        if cap:
            scores = cap * torch.tanh(scores / cap)
        want[t] = torch.einsum('hp,hpv->hv', scores.softmax(-1), v)
    close(name, out, want, 1e-5)


rows()
rotary('rotary.t3.q8_64.k2_64_bf16.v2_64_bf16.r64_half', 8, 2, 64, torch.bfloat16, 64, False, 1,
       False)
rotary('rotary.t3.q8_80.k2_80_f32.v2_80_f32.r32_pairs.scale1p5.qnorm_rms_f32_1em06'
       '.knorm_rms_f32_1em06', 8, 2, 80, torch.float32, 32, True, 1.5, True)
attention('attention.t3.q8_64.k2_bf16.v64_bf16.scale0p125', 8, 2, 64, 64, torch.bfloat16, 0.125)
attention('attention.t3.q8_80.k2_f32.v72_f32.scale0p125.window100.cap5', 8, 2, 80, 72,
          torch.float32, 0.125, 100, 5)
attention('attention.t3.q12_128.k1_f16.v128_f16.scale0p0625', 12, 1, 128, 128, torch.float16,
          0.0625)
attention('attention.t3.q8_128.k2_bf16.v128_bf16.scale0p0625.split4_64', 8, 2, 128, 128,
          torch.bfloat16, 0.0625, splits=4)
print(f'{failed} failed')
sys.exit(failed > 0)
