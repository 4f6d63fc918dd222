// Compares a function of one float with one of doubles, over arguments whose bits
// are a step apart: sweep_test.go compiles it together with the function's code.
//
//	sweep FUNCTION FIRST STEP
//
// It prints the greatest error found, in units of the last place of the exact
// result, the bits of its argument, and how many arguments have a wrong special
// result: a NaN too many or too few, or a zero of the wrong sign.

#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t bits(float x) {
	uint32_t b;
	memcpy(&b, &x, sizeof b);
	return b;
}

// Approximations that err as far as their instructions may: n units up or down.
static float moved(double y, int n) {
	float r = y;
	if (r == 0 || !isfinite(r)) return r;
	uint32_t b = bits(r) + n; // away from zero is up in the bits
	memcpy(&r, &b, sizeof r);
	return r;
}
#define APPROX(name, exact, n) \
	float name##_up(float) __asm__("approx." #name ".up"), name##_down(float) __asm__("approx." #name ".down"); \
	float name##_up(float x) { return moved(exact, n); } \
	float name##_down(float x) { return moved(exact, -n); }
APPROX(exp2, exp2((double)x), 2)
APPROX(inverse, 1 / (double)x, 1)
APPROX(inverseroot, 1 / sqrt((double)x), 2)

double rsqrt_of(double x) { return 1 / sqrt(x); }
double rcbrt_of(double x) { return 1 / cbrt(x); }

// Each function as written, and with its products fused into sums; the rows name
// them and what they are compared with.
#define ROW(name, exact) float written_##name(float), fused_##name(float); double exact(double);
#include "rows.h"
#undef ROW

static const struct {
	const char *name;
	float (*written)(float), (*fused)(float);
	double (*exact)(double);
} rows[] = {
#define ROW(name, exact) {#name, written_##name, fused_##name, exact},
#include "rows.h"
};

// off is the distance of got from want in units of the last place of want.
// Infinity is the number after the greatest.
static double off(float got, double want) {
	double g = got;
	if (isinf(got)) g = copysign(0x1p128, g);
	if (fabs(want) >= 0x1p128) want = copysign(0x1p128, want);
	uint64_t w;
	memcpy(&w, &want, sizeof w);
	int64_t e = (w >> 52 & 2047) - 1023;
	if (e > 127) e = 127;
	if (e < -126) e = -126;
	w = (uint64_t)(23 - e + 1023) << 52;
	double units; // 2^(23-e)
	memcpy(&units, &w, sizeof units);
	return fabs(g - want) * units;
}

int main(int argc, char **argv) {
	if (argc != 4) return 2;
	int r = 0;
	while (strcmp(rows[r].name, argv[1]))
		if (++r == sizeof rows / sizeof *rows) return 2;
	uint64_t step = strtoull(argv[3], 0, 10);
	double worst = 0;
	uint32_t at = 0, wrong_at = 0;
	uint64_t wrong = 0;
	for (uint64_t i = strtoull(argv[2], 0, 10); i < (uint64_t)1 << 32; i += step) {
		uint32_t b = i;
		float x;
		memcpy(&x, &b, sizeof x);
		float got[2] = {rows[r].written(x), rows[r].fused(x)};
		double want = rows[r].exact(x);
		float near = want;
		for (int k = 0; k < 2; k++) {
			if (k == 1 && bits(got[0]) == bits(got[1])) break;
			if (isnan(got[k]) || isnan(want)) {
				if (isnan(got[k]) && isnan(want)) continue;
				wrong++, wrong_at = b;
				continue;
			}
			if (want == 0 && bits(got[k]) != bits(near)) {
				wrong++, wrong_at = b;
				continue;
			}
			if (got[k] == near && worst > 0.5) continue;
			double e = off(got[k], want);
			if (e > worst) worst = e, at = b;
		}
	}
	printf("%.4f %08x %llu %08x\n", worst, at, (unsigned long long)wrong, wrong_at);
	return 0;
}
