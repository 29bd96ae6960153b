// Expressions that are the same become the same object; values are those of
// ordinary arithmetic, computed here a second time.

#include "compiler/Raise/ScalarAlgebra.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace sdc;

namespace {

TEST(ScalarAlgebra, SumsAndProductsAreCanonical) {
  ExprContext c;
  Expr x = c.variable(8), y = c.variable(8);
  EXPECT_EQ(c.add(x, y), c.add(y, x));
  EXPECT_EQ(c.mul(x, y), c.mul(y, x));
  EXPECT_EQ(c.sub(c.add(x, y), y), x);
  EXPECT_EQ(c.mul(c.add(x, c.integer(2)), c.integer(3)),
            c.add(c.scale(x, 3), c.integer(6)));
  // Indices are multiplied out.
  EXPECT_EQ(c.mul(c.add(x, c.integer(1)), y), c.add(c.mul(x, y), y));
}

TEST(ScalarAlgebra, VariableOfOneElementIsZero) {
  ExprContext c;
  EXPECT_EQ(c.variable(1), c.integer(0));
}

TEST(ScalarAlgebra, DivisionUsesBounds) {
  ExprContext c;
  Expr h = c.variable(4), d = c.variable(16);
  Expr flat = c.add(c.scale(h, 16), d);
  EXPECT_EQ(c.floorDiv(flat, 16), h);
  EXPECT_EQ(c.mod(flat, 16), d);
  // Groups of two heads, and heads cut in two.
  Expr group = c.variable(2), member = c.variable(2);
  EXPECT_EQ(c.floorDiv(c.add(c.scale(group, 2), member), 2), group);
  EXPECT_EQ(c.floorDiv(flat, 32), c.floorDiv(h, 2));
  EXPECT_EQ(c.mod(flat, 32), c.add(c.scale(c.mod(h, 2), 16), d));
  EXPECT_EQ(c.floorDiv(c.floorDiv(flat, 2), 8), h);
}

TEST(ScalarAlgebra, DivisionEqualsThatOfNumbers) {
  ExprContext c;
  Expr a = c.variable(5), b = c.variable(7);
  for (int64_t divisor : {2, 3, 4, 6, 7, 12, 21, 35}) {
    Expr value = c.add(c.add(c.scale(a, 14), c.scale(b, 3)), c.integer(5));
    Expr quotient = c.floorDiv(value, divisor), rest = c.mod(value, divisor);
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j < 7; ++j) {
        auto leaf = [&](Expr e, llvm::ArrayRef<double>) {
          return std::optional<double>(e == a ? i : j);
        };
        int64_t number = 14 * i + 3 * j + 5;
        EXPECT_EQ(ExprContext::evaluate(quotient, leaf), number / divisor);
        EXPECT_EQ(ExprContext::evaluate(rest, leaf), number % divisor);
      }
    }
  }
}

TEST(ScalarAlgebra, DivisionBySizesOfThePast) {
  ExprContext c;
  // Row b of [3, P + 2], and a place in it.
  Expr b = c.variable(3), k = c.variable(Affine(2, 1));
  Expr flat = c.add(c.mul(b, c.affine({2, 1})), k);
  auto parts = c.divide(flat, {2, 1});
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->first, b);
  EXPECT_EQ(parts->second, k);
  parts = c.divide(flat, {4, 2});
  EXPECT_FALSE(parts);
  // Nothing is known where the place may lie behind the row.
  EXPECT_FALSE(c.divide(c.add(flat, c.integer(1)), {2, 1}));
  parts = c.divide(k, {2, 1});
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->first, c.integer(0));
  // The place may be that of a new row.
  parts = c.divide(c.past(), {1, 1});
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->second, c.past());
  parts = c.divide(c.add(c.mul(b, c.affine({1, 1})), c.past()), {1, 1});
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->first, b);
  EXPECT_EQ(c.divide(c.add(c.scale(b, 16), c.integer(3)), 16)->first, b);
}

TEST(ScalarAlgebra, ComparisonsHoldForEveryPastLength) {
  ExprContext c;
  Expr row = c.variable(4), column = c.variable(Affine(4, 1));
  // A column of the past lies before every row.
  Expr past = c.variable(Affine(0, 1));
  EXPECT_TRUE(c.lessEqual(past, c.add(c.past(), row))->isConstant(1));
  EXPECT_TRUE(c.less(c.add(c.past(), row), past)->isConstant(0));
  // A column of all may lie behind a row.
  Expr causal = c.lessEqual(column, c.add(c.past(), row));
  EXPECT_EQ(causal->getKind(), ExprKind::NonNegative);
  // The last row attends to all.
  EXPECT_TRUE(
      c.lessEqual(column, c.add(c.past(), c.integer(3)))->isConstant(1));
  EXPECT_EQ(c.negate(c.negate(causal)), causal);
  EXPECT_EQ(c.negate(c.less(c.add(c.past(), row), column)), causal);
}

TEST(ScalarAlgebra, ConditionsAreCanonical) {
  ExprContext c;
  Expr x = c.variable(100);
  Expr narrow = c.less(x, c.integer(10)), wide = c.less(x, c.integer(20));
  EXPECT_EQ(c.conjunction(narrow, wide), narrow);
  EXPECT_EQ(c.disjunction(narrow, wide), wide);
  EXPECT_TRUE(c.conjunction(narrow, c.negate(narrow))->isConstant(0));
  EXPECT_EQ(c.isZero(c.isZero(c.sub(x, c.integer(3)))),
            c.negate(c.isZero(c.sub(x, c.integer(3)))));
  // Multiples: 2x >= 7 is x >= 4.
  EXPECT_EQ(c.lessEqual(c.integer(7), c.scale(x, 2)),
            c.lessEqual(c.integer(4), x));
}

TEST(ScalarAlgebra, MasksOfManySpellingsAreOne) {
  ExprContext c;
  Expr row = c.variable(4), column = c.variable(Affine(4, 1));
  Expr allowed = c.lessEqual(column, c.add(c.past(), row));
  Expr zero = c.integer(0), low = c.real(-3.4028234663852886e38);
  Expr mask = c.select(allowed, zero, low);
  // where(j > P + i, low, 0)
  EXPECT_EQ(c.negate(allowed), c.less(c.add(c.past(), row), column));
  EXPECT_EQ(c.select(c.isZero(allowed), low, zero), mask);
  // (1 - allowed) * low
  EXPECT_EQ(c.mul(c.sub(c.integer(1), allowed), low), mask);
  // Twice, one in the other.
  Expr window = c.less(c.sub(c.add(c.past(), row), column), c.integer(3));
  EXPECT_EQ(c.select(window, mask, low),
            c.select(c.conjunction(window, allowed), zero, low));
}

TEST(ScalarAlgebra, NaNGuardIsDropped) {
  ExprContext c;
  int root = 0;
  Expr p = c.load(&root, c.variable(4), false);
  Expr guard = c.call(ScalarFunction::IsNaN, p);
  EXPECT_EQ(c.select(guard, c.integer(0), p), p);
}

TEST(ScalarAlgebra, PowersOfManySpellingsAreOne) {
  ExprContext c;
  int root = 0;
  Expr x = c.load(&root, c.variable(4), false);
  Expr expected = c.power(x, -0.5);
  EXPECT_EQ(c.power(c.power(x, 0.5), -1), expected);
  EXPECT_EQ(c.power(x, 2), c.mul(x, x));
  // x / (1 + e^-x) is x sigmoid(x).
  Expr e = c.call(ScalarFunction::Exp, c.scale(x, -1));
  EXPECT_EQ(c.mul(x, c.power(c.add(c.integer(1), e), -1)),
            c.mul(x, c.call(ScalarFunction::Sigmoid, x)));
}

TEST(ScalarAlgebra, SimilarExpressionsDifferInRoundingOnly) {
  ExprContext c;
  int root = 0;
  Expr x = c.load(&root, c.variable(4), false);
  auto gelu = [&](double factor) {
    return c.call(ScalarFunction::Erf, c.scale(x, factor));
  };
  EXPECT_TRUE(
      ExprContext::isSimilar(gelu(std::sqrt(0.5)), gelu(0.70710677), 1e-6));
  EXPECT_FALSE(ExprContext::isSimilar(gelu(std::sqrt(0.5)), gelu(0.71), 1e-6));
}

TEST(ScalarAlgebra, AffineNumbers) {
  ExprContext c;
  Expr total = c.affine(Affine(3, 2));
  ASSERT_TRUE(c.asAffine(total));
  EXPECT_EQ(*c.asAffine(total), Affine(3, 2));
  EXPECT_FALSE(c.asAffine(c.variable(4)));
  // -1 is no size: P + 2 is not it.
  EXPECT_TRUE(c.isZero(c.add(c.past(), c.integer(2)))->isConstant(0));
  EXPECT_EQ(c.max(c.affine(Affine(4, 1)), c.integer(1)),
            c.affine(Affine(4, 1)));
}

} // namespace
