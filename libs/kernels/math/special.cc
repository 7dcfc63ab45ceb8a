#include "libs/kernels/math/special.h"

#include <cmath>
#include <limits>

namespace weft::math {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.14159265358979323846;

// Bernoulli numbers B2, B4, ... B24, for the asymptotic series.
constexpr double kBernoulli[] = {
    1.0 / 6,       -1.0 / 30,       1.0 / 42,       -1.0 / 30,
    5.0 / 66,      -691.0 / 2730,   7.0 / 6,        -3617.0 / 510,
    43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};

bool IsOdd(double x) { return std::fmod(x, 2) == 1; }

// Hurwitz's zeta(s, x), s > 1, x > 0, by Euler and Maclaurin: the first terms
// one by one, the rest as an integral with corrections. As in TensorFlow, the
// rest counts only if its first term is above 0 in type T.
template <typename T>
double ZetaRightOfZero(double s, double x) {
  constexpr int kTerms = 12;
  double sum = 0;
  for (int i = 0; i < kTerms; ++i) sum += std::pow(x + i, -s);
  const double a = x + kTerms;
  const double next = std::pow(a, -s);
  if (static_cast<T>(next) == 0) return sum;
  sum += std::pow(a, 1 - s) / (s - 1) + 0.5 * next;
  double factor = s * std::pow(a, -s - 1) / 2;  // s (s+1) ... / (2k)! a^-(s+..)
  for (int k = 0; k < 12; ++k) {
    sum += kBernoulli[k] * factor;
    const double j = 2.0 * k + 1;
    factor *= (s + j) * (s + j + 1) / ((j + 2) * (j + 3)) / (a * a);
  }
  return sum;
}

// Zeta for x < 0 and a whole number s: the terms from x up equal those from the
// fraction of x up, plus the finitely many on the other side of 0. TensorFlow
// adds the terms up from x, but only ten for floats, and so loses the large
// ones for x < -10.
template <typename T>
double ZetaLeftOfZero(double s, double x) {
  if (x == std::floor(x)) return IsOdd(s) ? kNan : kInfinity;
  const double above = ZetaRightOfZero<T>(s, x - std::floor(x));
  const double below =
      ZetaRightOfZero<T>(s, std::ceil(x) - x) - ZetaRightOfZero<T>(s, 1 - x);
  return IsOdd(s) ? above - below : above + below;
}

// The amount by which the normal distribution's integral from x to infinity is
// below q, for 0 < q <= 1/2, divided by the density at x. Its error is a few
// units in x's last place if x is near the quantile.
double Shortfall(double x, double q) {
  const double root_of_two_pi = std::sqrt(2 * kPi);
  // The density and the integral lose digits, and then vanish, below about
  // 1e-308, but their ratio, Mills' ratio, is an asymptotic series that is
  // fully accurate long before.
  if (q < 1e-280) {
    const double w = 1 / (x * x);
    const double ratio =
        (1 - w * (1 - 3 * w * (1 - 5 * w * (1 - 7 * w * (1 - 9 * w))))) / x;
    return std::exp(std::log(q) + x * x / 2 + std::log(root_of_two_pi)) - ratio;
  }
  const double bell = std::exp(-x * x / 2) / root_of_two_pi;
  const double at = x / std::sqrt(2.0);
  // Near the median, the integral between x and the median is computed.
  const double difference =
      q > 0.25 ? std::erf(at) / 2 - (0.5 - q) : q - std::erfc(at) / 2;
  return difference / bell;
}

// The point from which the integral to infinity is q, for 0 < q <= 1/2: a
// rational approximation to four digits (Abramowitz and Stegun, 26.2.23),
// refined by Halley's steps, each of which triples the digits.
double UpperQuantile(double q) {
  const double t = std::sqrt(-2 * std::log(q));
  double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                     (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int i = 0; i < 3; ++i) {
    const double step = Shortfall(x, q);
    x -= step / (1 + x * step / 2);
  }
  return x;
}

}  // namespace

double NormalQuantile(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p == 0.5) return 0;  // iterations only come close
  return p < 0.5 ? -UpperQuantile(p) : UpperQuantile(1 - p);
}

double LogGamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

double Digamma(double x) {
  if (x <= 0 && x == std::floor(x)) return kNan;
  // The tangent's period is 1 here, so it keeps its digits for large x.
  if (x < 0) {
    return Digamma(1 - x) - kPi / std::tan(kPi * (x - std::round(x)));
  }
  double result = 0;
  for (; x < 10; ++x) result -= 1 / x;
  result += std::log(x) - 0.5 / x;
  double power = 1;
  for (int k = 1; k <= 8; ++k) {
    power /= x * x;
    result -= kBernoulli[k - 1] / (2 * k) * power;
  }
  return result;
}

template <typename T>
T Polygamma(T order, T x) {
  if (!(order >= 0) || order != std::floor(order)) return T(kNan);
  if (order == 0) return static_cast<T>(Digamma(x));
  const double s = static_cast<double>(order) + 1;
  const double zeta =
      x <= 0 ? ZetaLeftOfZero<T>(s, x) : ZetaRightOfZero<T>(s, x);
  const T product = static_cast<T>(std::tgamma(s)) * static_cast<T>(zeta);
  return IsOdd(s) ? -product : product;
}

template float Polygamma(float order, float x);
template double Polygamma(double order, double x);

}  // namespace weft::math
