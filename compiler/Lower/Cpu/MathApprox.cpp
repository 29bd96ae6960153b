// Polynomials and range reductions. The coefficients minimise the largest
// relative error over the reduced range (iterated weighted least squares) and
// were then rounded to f32.

#include "compiler/Lower/Cpu/MathApprox.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sdc;

/// c[0] + c[1] u + c[2] u^2 + ...
static Value polynomial(KernelBuilder &k, Value u, ArrayRef<double> c) {
  Value sum = k.same(u, c.back());
  for (double coefficient : llvm::reverse(c.drop_back()))
    sum = k.fma(sum, u, k.same(u, coefficient));
  return sum;
}

static Type integersLike(KernelBuilder &k, Value x) {
  return k.vec(k.lanesOf(x), k.i32());
}

static Value absolute(KernelBuilder &k, Value x) {
  Type integers = integersLike(k, x);
  Value bits = k.bitcast(x, integers);
  return k.bitcast(k.andBits(bits, k.constantInt(integers, 0x7fffffff)),
                   x.getType());
}

/// `magnitude` with the sign of `x`.
static Value withSign(KernelBuilder &k, Value magnitude, Value x) {
  Type integers = integersLike(k, x);
  Value sign =
      k.andBits(k.bitcast(x, integers), k.constantInt(integers, -0x80000000ll));
  return k.bitcast(k.orBits(k.bitcast(magnitude, integers), sign), x.getType());
}

Value sdc::buildExp(KernelBuilder &k, Value x) {
  // Beyond these e^x is zero or infinite in f32. A comparison with a NaN is
  // false, which keeps it.
  Value low = k.same(x, -104), high = k.same(x, 89);
  x = k.select(k.greater(low, x), low, x);
  x = k.select(k.greater(x, high), high, x);
  // n = round(x / ln 2), read from the low bits of a sum with 1.5 * 2^23.
  constexpr double magic = 12582912.0;
  Value t = k.fma(x, k.same(x, 1.44269504088896340736), k.same(x, magic));
  Value n = k.sub(t, k.same(x, magic));
  // r = x - n ln 2 in two steps.
  Value r = k.fma(n, k.same(x, -0.693145751953125), x);
  r = k.fma(n, k.same(x, -1.42860682030941723e-06), r);
  // e^r = 1 + r + r^2 q(r) on [-ln 2 / 2, ln 2 / 2].
  Value q =
      polynomial(k, r,
                 {0.4999999403953552, 0.1666651964187622, 0.04166840761899948,
                  0.00836889911442995, 0.0013814219273626804});
  Value p = k.add(k.fma(k.mul(r, r), q, r), k.same(x, 1));
  // Times 2^n in two halves, so that neither factor leaves the normal range.
  Type integers = integersLike(k, x);
  Value power =
      k.sub(k.bitcast(t, integers), k.constantInt(integers, 0x4b400000));
  Value half = k.shrSigned(power, 1);
  auto exponent = [&](Value e) {
    return k.bitcast(k.shl(k.add(e, k.constantInt(integers, 127)), 23),
                     x.getType());
  };
  return k.mul(k.mul(p, exponent(half)), exponent(k.sub(power, half)));
}

Value sdc::buildTanh(KernelBuilder &k, Value x) {
  Value a = absolute(k, x);
  // |x| < 0.65: x + x^3 q(x^2).
  Value u = k.mul(x, x);
  Value q =
      polynomial(k, u,
                 {-0.3333326280117035, 0.1333089917898178, -0.05369296297430992,
                  0.02048330567777157, -0.005528624635189772});
  Value small = k.fma(k.mul(x, u), q, x);
  // Else 1 - 2 / (e^2|x| + 1).
  Value e = buildExp(k, k.add(a, a));
  Value large =
      k.sub(k.same(x, 1), k.div(k.same(x, 2), k.add(e, k.same(x, 1))));
  large = withSign(k, large, x);
  return k.select(k.greater(k.same(x, 0.65), a), small, large);
}

Value sdc::buildErf(KernelBuilder &k, Value x) {
  Value a = absolute(k, x);
  // |x| < 1: x q(x^2).
  Value u = k.mul(x, x);
  Value q = polynomial(k, u,
                       {1.128379225730896, -0.37612637877464294,
                        0.11283782124519348, -0.0268654003739357,
                        0.005220945458859205, -0.0008482828852720559,
                        0.0001125694761867635, -9.64151604421204e-06});
  Value small = k.mul(x, q);
  // Else 1 - e^-q(|x|); beyond 4 the result is 1 in f32.
  Value limit = k.same(x, 4);
  Value bounded = k.select(k.greater(a, limit), limit, a);
  Value exponent = polynomial(
      k, bounded,
      {-0.0001880402269307524, 1.1295784711837769, 0.6332198977470398,
       0.10841857641935349, -0.025208257138729095, 0.004204561933875084,
       -0.00044133636401966214, 2.1686850232072175e-05});
  Value large = k.sub(k.same(x, 1), buildExp(k, k.neg(exponent)));
  large = withSign(k, large, x);
  return k.select(k.greater(k.same(x, 1), a), small, large);
}

std::pair<Value, Value> sdc::buildSinCos(KernelBuilder &k, Value x) {
  int64_t lanes = k.lanesOf(x);
  Type doubles = k.vec(lanes, k.b.getF64Type());
  Type longs = k.vec(lanes, k.i64()), integers = integersLike(k, x);
  // n = round(x * 2 / pi), r = x - n pi / 2, both in f64: with n below 2^31 the
  // error of r stays below 1e-16 n, far from what f32 can see.
  constexpr double magic = 6755399441055744.0;
  Value wide = k.widenFloat(x, doubles);
  Value t = k.fma(wide, k.constant(doubles, 0.63661977236758134308),
                  k.constant(doubles, magic));
  Value n = k.sub(t, k.constant(doubles, magic));
  Value r = k.fma(n, k.constant(doubles, -1.57079632679489655800), wide);
  r = k.fma(n, k.constant(doubles, -6.12323399573676603587e-17), r);
  r = k.narrowFloat(r, x.getType());
  Value quadrant = k.truncate(k.bitcast(t, longs), integers);

  Value u = k.mul(r, r);
  Value s = polynomial(k, u,
                       {-0.1666666716337204, 0.008333329111337662,
                        -0.0001983933470910415, 2.718308678595349e-06});
  s = k.fma(k.mul(r, u), s, r);
  Value c = polynomial(k, u,
                       {0.0416666679084301, -0.0013888883404433727,
                        2.4799519451335073e-05, -2.721020848639455e-07});
  // 1 - u / 2 is exact enough only when its rounding error is carried along.
  Value halfU = k.mul(u, k.same(x, 0.5));
  Value head = k.sub(k.same(x, 1), halfU);
  Value lost = k.sub(k.sub(k.same(x, 1), head), halfU);
  c = k.add(head, k.fma(k.mul(u, u), c, lost));

  // Quadrants 1 and 3 swap; sine is negative in 2 and 3, cosine in 1 and 2.
  Value one = k.constantInt(integers, 1);
  Value swap = k.equal(k.andBits(quadrant, one), one);
  Value sine = k.select(swap, c, s), cosine = k.select(swap, s, c);
  auto flip = [&](Value value, Value turns) {
    Value sign = k.shl(k.andBits(turns, k.constantInt(integers, 2)), 30);
    return k.bitcast(k.xorBits(k.bitcast(value, integers), sign), x.getType());
  };
  return {flip(sine, quadrant), flip(cosine, k.add(quadrant, one))};
}

/// x / (1 + e^-y).
static Value timesSigmoid(KernelBuilder &k, Value x, Value y) {
  return k.div(x, k.add(k.same(x, 1), buildExp(k, k.neg(y))));
}

Value sdc::buildActivation(KernelBuilder &k, Activation act, Value x) {
  switch (act) {
  case Activation::None:
    return x;
  case Activation::Silu:
    return timesSigmoid(k, x, x);
  case Activation::GeluTanh: {
    // x / 2 (1 + tanh y) = x sigmoid(2 y), y = sqrt(2 / pi) (x + 0.044715 x^3).
    Value cube = k.mul(k.mul(x, x), x);
    Value y = k.fma(cube, k.same(x, 0.044715), x);
    return timesSigmoid(k, x, k.mul(y, k.same(x, 1.59576912160573071)));
  }
  case Activation::GeluErf: {
    Value e = buildErf(k, k.mul(x, k.same(x, 0.70710678118654752440)));
    return k.mul(k.mul(x, k.same(x, 0.5)), k.add(e, k.same(x, 1)));
  }
  case Activation::Relu: {
    Value zero = k.same(x, 0);
    return k.select(k.greater(zero, x), zero, x);
  }
  case Activation::QuickGelu:
    return timesSigmoid(k, x, k.mul(x, k.same(x, 1.702)));
  case Activation::Relu2: {
    Value positive = buildActivation(k, Activation::Relu, x);
    return k.mul(positive, positive);
  }
  }
  return x;
}
