// What happens to a row's sum: bias, activation, product of a pair, residual.

#pragma once

#include "types.cuh"

namespace sdc {

struct None {
  static SDC_DEVICE float apply(float v) { return v; }
};
struct Silu {
  static SDC_DEVICE float apply(float v) { return v / (1 + __expf(-v)); }
};
struct GeluTanh {
  static SDC_DEVICE float apply(float v) {
    return 0.5f * v *
           (1 + tanhf(0.7978845608028654f * fmaf(0.044715f * v * v, v, v)));
  }
};
struct GeluErf {
  static SDC_DEVICE float apply(float v) {
    return 0.5f * v * (1 + erff(v * 0.7071067811865476f));
  }
};
struct Relu {
  static SDC_DEVICE float apply(float v) { return fmaxf(v, 0); }
};
struct QuickGelu {
  static SDC_DEVICE float apply(float v) {
    return v / (1 + __expf(-1.702f * v));
  }
};
struct Relu2 {
  static SDC_DEVICE float apply(float v) {
    v = fmaxf(v, 0);
    return v * v;
  }
};

struct NoBias {};

/// One packed weight of a launch. `Bias` is NoBias or the type of the bias.
template <int kRows_, class Bias_ = NoBias, class Act = None> struct Part {
  static constexpr int kRows = kRows_;
  using Bias = Bias_;

  static SDC_DEVICE float apply(float v, const void *bias, int row) {
    if constexpr (!kSame<Bias, NoBias>)
      v += loadValue<Bias>(bias, row);
    return Act::apply(v);
  }
};

} // namespace sdc
