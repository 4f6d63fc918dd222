// Loops over C's functions of doubles. Compiled with -ffast-math, which lets the
// compiler take those of its library that compute several at a time; they err by a
// few units in the last place of a double.

#include <math.h>
#include <stdint.h>

static double rsqrt_of(double x) { return 1 / sqrt(x); }
static double rcbrt_of(double x) { return 1 / cbrt(x); }

#define ROW(name, exact) \
	void exact_##name(const float *x, double *y, int64_t n) { \
		for (int64_t i = 0; i < n; i++) y[i] = exact(x[i]); \
	}

#include "exact.h"
