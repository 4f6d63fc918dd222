// Functions of doubles that C's library has not, from those that it has. They err by
// some units in the last place of a double.

#include <math.h>

static const double half_root_pi = 0.88622692545275801365, root_two = 1.41421356237309504880;

// SOLVE takes y to where f(y) = x by Halley's method, which triples the number of right
// places; df is f', and f'' is -2y·f'.
#define SOLVE(y, x, f, df) \
	for (double u = y; fabs(u) > 1e-6 * fabs(y);) { \
		u = (f(y) - (x)) / (df); \
		y -= u / (1 + y * u); \
	}

// inverse_erfc is the y for erfc y = x, 0 < x ≤ ½, from Abramowitz and Stegun's
// approximation 26.2.23.
static double inverse_erfc(double x) {
	double t = sqrt(-2 * log(x / 2));
	double y = (t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)))) / root_two;
	SOLVE(y, x, erfc, -exp(-y * y) / half_root_pi)
	return y;
}

double inverse_erf_of(double x) {
	double a = fabs(x);
	if (!(a <= 1)) return NAN;
	if (a == 1) return x * INFINITY;
	if (a > 0.5) return copysign(inverse_erfc(1 - a), x);
	double y = x * half_root_pi;
	SOLVE(y, x, erf, exp(-y * y) / half_root_pi)
	return y;
}

double inverse_erfc_of(double x) {
	if (!(x >= 0 && x <= 2)) return NAN;
	if (x >= 0.5) return x == 1 ? 0 : inverse_erf_of(1 - x); // 1 - x is exact for a float
	return x == 0 ? INFINITY : inverse_erfc(x);
}

double inverse_normcdf_of(double x) {
	if (x >= 0.25 && x <= 1) return root_two * inverse_erf_of(2 * x - 1);
	return -root_two * inverse_erfc_of(2 * x);
}

// scaled is the sum of terms t, with t·(x²/4)/(k(k+n)) after t.
static double power_series(double x, int n) {
	double z = x * x / 4, t = n ? x / 2 : 1, sum = t;
	for (int k = 1; t != 0 && fabs(t) > fabs(sum) * 0x1p-56; k++) sum += t *= z / (k * (double)(k + n));
	return sum;
}

// bessel_i is the modified Bessel function of the first kind, by its series, or
// that for great arguments.
static double bessel_i(double x, int n) {
	double a = fabs(x);
	if (!(a > 25)) return power_series(x, n);
	if (a > 720) a = 720; // more than a float holds
	double t = 1, sum = 1;
	for (int k = 1; fabs(t) > 0x1p-56; k++) {
		double odd = 2 * k - 1;
		sum += t *= (odd * odd - 4 * n * n) / (8 * k * a);
	}
	double y = exp(a) / sqrt(2 * M_PI * a) * sum;
	return n ? copysign(y, x) : y;
}

// norm is the root of the sum of n squares, of floats none of which overflows or is
// rounded.
static double norm(const double *x, int n) {
	double sum = 0;
	for (int i = 0; i < n; i++) {
		if (isinf(x[i])) return INFINITY; // beside NaN, too
		sum += x[i] * x[i];
	}
	return sqrt(sum);
}

double norm2_of(double a, double b) { return norm((double[]){a, b}, 2); }
double norm3_of(double a, double b, double c) { return norm((double[]){a, b, c}, 3); }
double norm4_of(double a, double b, double c, double d) { return norm((double[]){a, b, c, d}, 4); }
double rnorm2_of(double a, double b) { return 1 / norm2_of(a, b); }
double rnorm3_of(double a, double b, double c) { return 1 / norm3_of(a, b, c); }
double rnorm4_of(double a, double b, double c, double d) { return 1 / norm4_of(a, b, c, d); }

double bessel_i0_of(double x) { return bessel_i(x, 0); }
double bessel_i1_of(double x) { return bessel_i(x, 1); }
