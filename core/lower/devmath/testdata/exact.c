// Loops over C's functions of doubles. Compiled with -ffast-math, which lets the
// compiler take those of its library that compute several at a time; they err by a
// few units in the last place of a double.

#include <math.h>
#include <stdint.h>

// functions.c
double inverse_erf_of(double), inverse_erfc_of(double), inverse_normcdf_of(double), bessel_i0_of(double), bessel_i1_of(double);
double norm2_of(double, double), norm3_of(double, double, double), norm4_of(double, double, double, double);
double rnorm2_of(double, double), rnorm3_of(double, double, double), rnorm4_of(double, double, double, double);

static double rsqrt_of(double x) { return 1 / sqrt(x); }
static double rcbrt_of(double x) { return 1 / cbrt(x); }

// The arguments of a function of several lie BLOCK apart.
#define ARGS1 x[i]
#define ARGS2 ARGS1, x[i + BLOCK]
#define ARGS3 ARGS2, x[i + 2 * BLOCK]
#define ARGS4 ARGS3, x[i + 3 * BLOCK]

#define ROW(name, exact, args) \
	void exact_##name(const float *x, double *y, int64_t n) { \
		for (int64_t i = 0; i < n; i++) y[i] = exact(ARGS##args); \
	}

#include "exact.h"
