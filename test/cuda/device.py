"""Runs kernels of kernels.py on a GPU: modules, launches with PDL, packing, graphs, times.

Needs PyTorch with CUDA. The packers are written from the drawings in kernels/Format/CudaTile.h,
not from its code, so that they are an oracle for it."""
import concurrent.futures
import ctypes
import os

import torch

import kernels

dev = 'cuda'
torch.manual_seed(0)
driver = ctypes.CDLL('libcuda.so.1')
TYPES = {'bf16': torch.bfloat16, 'f16': torch.float16, 'f32': torch.float32}


class Attribute(ctypes.Structure):
    _fields_ = [('id', ctypes.c_int), ('pad', ctypes.c_int), ('value', ctypes.c_int),
                ('rest', ctypes.c_byte * 60)]


class Config(ctypes.Structure):
    _fields_ = [('grid', ctypes.c_uint * 3), ('block', ctypes.c_uint * 3),
                ('shared', ctypes.c_uint), ('stream', ctypes.c_void_p),
                ('attributes', ctypes.POINTER(Attribute)), ('count', ctypes.c_uint)]


def check(rc, what):
    assert rc == 0, f'{what}: {rc}'


def ptr(t):
    return ctypes.c_void_p(t.data_ptr() if t is not None else 0)


def _compile(job):
    linear, arch = job
    return kernels.compile_text(linear.source(), arch)


_modules = {}


def build(linears, arch='sm_90a'):
    """Compiles what is not yet compiled, on all cores, and loads it."""
    new = [l for l in dict.fromkeys(linears) if l not in _modules]
    if not new:
        return
    import multiprocessing
    context = multiprocessing.get_context('spawn')
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), context) as pool:
        cubins = list(pool.map(_compile, [(l, arch) for l in new], chunksize=1))
    torch.zeros(1, device=dev)
    for l, cubin in zip(new, cubins):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        check(driver.cuModuleLoadData(ctypes.byref(module), cubin), 'load ' + l.name)
        check(driver.cuModuleGetFunction(ctypes.byref(function), module, b'linear'), 'function')
        check(driver.cuFuncSetAttribute(function, 8, l.shared), 'shared ' + l.name)
        _modules[l] = function


def attribute(linear, which):
    """4: registers, 3: local bytes."""
    value = ctypes.c_int()
    check(driver.cuFuncGetAttribute(ctypes.byref(value), which, _modules[linear]), 'attribute')
    return value.value


def launch(linear, grid, x, weights, outs, rows=1, norm=(None, None), positions=None, bias=None,
           residual=None, pdl=True, count=None):
    values = [ptr(x), ptr(norm[0]), ptr(norm[1]), ptr(positions), ctypes.c_int(count or rows)]
    for i, w in enumerate(weights):
        values += [ptr(w), ptr(bias[i] if bias else None)]
    values += [ptr(residual)] + [ptr(y) for y in outs]
    array = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
    a = Attribute(id=6, value=1)
    c = Config(grid=(grid, rows, 1), block=(linear.warps * 32, 1, 1),
               shared=linear.shared, stream=torch.cuda.current_stream().cuda_stream,
               attributes=ctypes.pointer(a), count=1 if pdl else 0)
    check(driver.cuLaunchKernelEx(ctypes.byref(c), _modules[linear], array, None), linear.name)


def nm_mask(R, K, n, m):
    """Random N:M over the padded columns; padding is kept only on demand, lowest first."""
    padded = -(-K // 128) * 128
    score = torch.rand(R, padded, device=dev)
    score[:, K:] = -torch.arange(1, padded - K + 1, device=dev)
    index = score.view(R, padded // m, m).topk(n, -1).indices
    mask = torch.zeros(R, padded // m, m, dtype=torch.bool, device=dev)
    return mask.scatter_(-1, index, True).view(R, padded)


def to_i32(t):
    return torch.where(t >= 2**31, t - 2**32, t).to(torch.int32)


def raw(t):
    return t.contiguous().view(torch.uint8).flatten()


def pack(linear, W, mask):
    """W [rows, K] of the linear's type, mask over padded columns; the tile's bytes."""
    R, K = W.shape
    rows, units = linear.tile_rows, linear.units
    tiles = -(-R // rows)
    full = torch.zeros(tiles * rows, units * 128, dtype=W.dtype, device=dev)
    full[:R, :K] = W
    n, m = linear.pattern
    if n != m:
        whole = torch.zeros(tiles * rows, units * 128 // m, m, dtype=torch.bool, device=dev)
        whole[..., :n] = True
        whole = whole.view(tiles * rows, -1)
        whole[:R] = mask
        mask = whole
    if linear.tile == 'lanes32':
        return pack_lanes(linear, full, mask, tiles, units)
    return pack_fragments(full, mask, tiles, units, n != m)


def pack_lanes(linear, full, mask, tiles, units):
    V = linear.values
    if V == 32:
        v = full.view(tiles, 32, units, 128)
    else:
        words = mask.view(tiles * 32, units * 4, 32)
        column = torch.arange(32, device=dev)
        order = torch.where(words, column, -1).argsort(-1, descending=True)[..., :V]
        v = full.view(tiles * 32, units * 4, 32).gather(-1, order).view(tiles, 32, units, 4 * V)
        bits = to_i32((words.to(torch.int64) << column).sum(-1)).view(tiles, 32, units, 4)
    each = 16 // v.element_size()
    planes = -(-v.shape[-1] // each)
    out = torch.zeros(tiles, 32, units, planes * each, dtype=v.dtype, device=dev)
    out[..., :v.shape[-1]] = v
    out = out.view(tiles, 32, units, planes, each).permute(0, 2, 3, 1, 4).contiguous()
    out = out.view(tiles, units, -1).view(torch.uint8)
    if V == 32:
        return raw(out)
    masks = bits.permute(0, 2, 1, 3).contiguous().view(tiles, units, -1).view(torch.uint8)
    return raw(torch.cat([masks, out], -1))


def pack_fragments(full, mask, tiles, units, sparse):
    """Register i of a fragment: row half i & 1, column half i >> 1."""
    if not sparse:
        v = full.view(tiles, 2, 8, units * 8, 2, 4, 2).permute(0, 3, 2, 5, 4, 1, 6)
        return raw(v)
    groups = mask.view(tiles * 16, units * 32, 4)
    order = torch.where(groups, torch.arange(4, device=dev), 9).argsort(-1)[..., :2]
    v = full.view(tiles * 16, units * 32, 4).gather(-1, order)
    v = v.reshape(tiles, 2, 8, units * 4, 2, 4, 2).permute(0, 3, 2, 5, 4, 1, 6).contiguous()
    a = v.view(tiles, units, -1).view(torch.uint8)
    code = (order[..., 0] | order[..., 1] << 2).view(tiles, 2, 8, units * 4, 2, 4)
    half = (code << 4 * torch.arange(4, device=dev)).sum(-1)
    word = to_i32(half[:, 0] | half[:, 1] << 16).view(tiles, 8, units, 4, 2)
    e = word.permute(0, 2, 1, 4, 3).contiguous().view(tiles, units, -1).view(torch.uint8)
    return raw(torch.cat([a, e], -1))


def graph(f):
    """A graph of what f() launches, on a stream of its own."""
    s = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(s):
        f()
        torch.cuda.synchronize()
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g, stream=s):
            f()
    return g, s


def times(graphs, reps, warm):
    """Microseconds of each replay; the graphs take turns."""
    out = [[] for _ in graphs]
    for i in range(reps + warm):
        for o, (g, s) in zip(out, graphs):
            with torch.cuda.stream(s):
                a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                a.record(s)
                g.replay()
                b.record(s)
                torch.cuda.synchronize()
            if i >= warm:
                o.append(a.elapsed_time(b) * 1e3)
    return out


def median(v):
    return sorted(v)[len(v) // 2]
