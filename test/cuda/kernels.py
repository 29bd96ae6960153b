"""CUDA text of one linear, and its cubin by NVRTC: what the tests and the benches share.

No GPU is needed. NVRTC is found in the Python environment or in the toolkit."""
import ctypes
import dataclasses
import glob
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICE = os.path.normpath(os.path.join(HERE, '../../kernels/Cuda/device'))
VALUES = {'bf16': 'BF16', 'f16': 'F16', 'f32': 'F32'}
BYTES = {'bf16': 2, 'f16': 2, 'f32': 4}


def bits(value):
    return '0x%08xu' % struct.unpack('<I', struct.pack('<f', value))[0]


@dataclasses.dataclass(frozen=True)
class Linear:
    """One launch: the weights `rows` share K, pattern (n, m), type and tile."""
    rows: tuple
    K: int
    pattern: tuple  # (1, 1): dense
    type: str = 'bf16'
    tile: str = 'lanes32'  # or mma16
    warps: int = 8
    stages: int = 4
    norm: str = ''  # '', rms, layer
    pair: str = ''  # an activation: gate and up
    bias: bool = False
    residual: bool = False
    select: str = 'All'
    min_ctas: int = 1

    @property
    def values(self):
        return 32 * self.pattern[0] // self.pattern[1]

    @property
    def tile_rows(self):
        return 32 if self.tile == 'lanes32' else 16

    @property
    def unit_bytes(self):
        if self.tile == 'mma16':
            return 4096 if self.pattern == (1, 1) else 2304
        planes = (4 * self.values * BYTES[self.type] + 15) // 16
        return (0 if self.pattern == (1, 1) else 512) + planes * 512

    @property
    def units(self):
        return (self.K + 127) // 128

    def tiles(self):
        each = [-(-r // self.tile_rows) for r in self.rows]
        return each[0] if self.pair else sum(each)

    def part_bytes(self, i):
        return -(-self.rows[i] // self.tile_rows) * self.units * self.unit_bytes

    @property
    def shared(self):
        subs = 2 if self.pair else 1
        sums = 2 * self.warps * subs * self.tile_rows
        return (self.warps * self.stages * (self.unit_bytes + 8) + self.units * 128 * 4 +
                sums * 4 + self.warps * 4)

    @property
    def name(self):
        return (f'k{self.K}_{"_".join(map(str, self.rows))}_{self.pattern[0]}of{self.pattern[1]}_'
                f'{self.type}_{self.tile}_w{self.warps}s{self.stages}c{self.min_ctas}'
                f'{"_" + self.norm if self.norm else ""}{"_" + self.pair if self.pair else ""}'
                f'{"_bias" if self.bias else ""}{"_add" if self.residual else ""}_{self.select}')

    def source(self):
        v = VALUES[self.type]
        if self.tile == 'lanes32':
            weight = f'Lanes32<{v}, {self.values}>'
        else:
            weight = f'{"DenseFragment" if self.pattern == (1, 1) else "Sparse24"}<{v}>'
        norm = {'': 'NoNorm', 'rms': f'RmsNorm<F32, {bits(1e-5)}>',
                'layer': f'LayerNorm<F32, {bits(1e-5)}, true>'}[self.norm]
        parts = []
        for i, r in enumerate(self.rows):
            act = self.pair if self.pair and i == 0 else 'None'
            parts.append(f'Part<{r}, {"F32" if self.bias else "NoBias"}, {act}>')
        n = len(self.rows)
        outs = 1 if self.pair else n
        w = ', '.join(f'const void *w{i}, const void *b{i}' for i in range(n))
        o = ', '.join(f'float *y{i}' for i in range(outs))
        return f'''#include "linear.cuh"
using namespace sdc;
using L = Linear<{weight}, {self.K}, {self.warps}, {self.stages}, {norm},
                 {str(bool(self.pair)).lower()}, {str(self.residual).lower()},
                 Rows::{self.select}, {", ".join(parts)}>;
static_assert(L::kSharedBytes == {self.shared}, "shared memory");
extern "C" __global__ void __launch_bounds__({self.warps * 32}, {self.min_ctas})
linear(const float *x, const void *g, const void *h, const int *positions, int count,
       {w}, const float *residual, {o}) {{
  L::Operands operands = {{x, g, h, positions, count,
      {{{", ".join(f"w{i}" for i in range(n))}}}, {{{", ".join(f"b{i}" for i in range(n))}}},
      residual, {{{", ".join(f"y{i}" for i in range(outs))}}}}};
  L::run(operands, blockIdx.x, gridDim.x, blockIdx.y);
}}
'''


def find(patterns):
    for p in patterns:
        for root in sys.path + ['/usr/local/cuda/lib64']:
            hits = sorted(glob.glob(os.path.join(root, p)))
            if hits:
                return hits[0]
    return None


def nvrtc():
    path = find(('nvidia/cuda_nvrtc/lib/libnvrtc.so*', 'nvidia/cu13/lib/libnvrtc.so.*',
                  'libnvrtc.so.*'))
    if not path:
        raise SystemExit('libnvrtc not found: pip install nvidia-cuda-nvrtc')
    return ctypes.CDLL(path)


def headers():
    names = sorted(os.listdir(DEVICE))
    return [n.encode() for n in names], [open(os.path.join(DEVICE, n), 'rb').read() for n in names]


_lib = None


def compile_text(text, arch, ptx=False):
    """The cubin of `text` for `arch`, from headers in memory."""
    global _lib
    _lib = _lib or nvrtc()
    names, bodies = headers()
    n = len(names)
    program = ctypes.c_void_p()
    rc = _lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b'kernel.cu', n,
                                 (ctypes.c_char_p * n)(*bodies), (ctypes.c_char_p * n)(*names))
    assert rc == 0, rc
    options = [b'--gpu-architecture=' + arch.encode(), b'--std=c++17', b'--fmad=true']
    rc = _lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    if rc:
        _lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        _lib.nvrtcGetProgramLog(program, log)
        raise RuntimeError(f'nvrtc {rc} for {arch}: {log.value.decode()}\n{text}')
    _lib.nvrtcGetCUBINSize(program, ctypes.byref(size))
    out = ctypes.create_string_buffer(size.value)
    _lib.nvrtcGetCUBIN(program, out)
    _lib.nvrtcDestroyProgram(ctypes.byref(program))
    return out.raw
