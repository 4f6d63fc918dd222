// Compares functions of floats with functions of doubles, over arguments whose
// bits are a step apart: sweep_test.go compiles it together with loops over the
// functions' code and over what they are compared with (rows.h names them). Where a
// function has more arguments, each is made from the bits of the first.
//
//	sweep FUNCTION FIRST STEP
//
// It prints the greatest error found, in units of the last place of the exact
// result, the bits of its arguments, and how many arguments have a wrong special
// result: a NaN too many or too few, or a zero of the wrong sign.

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

static float from_bits(uint32_t b) {
	float x;
	memcpy(&x, &b, sizeof x);
	return x;
}

// mix makes a random number of another.
static uint64_t mix(uint64_t x) {
	x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
	x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
	return x ^ x >> 32;
}

// any is any number.
static float any(float x, uint64_t random) { return from_bits(random); }

// with_exponent is a random number with an exponent some above that of x.
static float with_exponent(float x, int above, uint64_t random) {
	int e = (bits(x) >> 23 & 255) + above;
	e = e < 0 ? 0 : e > 255 ? 255 : e;
	return from_bits((random & 0x807FFFFF) | (uint32_t)e << 23);
}

// near is mostly a number of a size like that of x.
static float near(float x, uint64_t random) {
	if (random >> 60 == 0) return any(x, random);
	return with_exponent(x, (int)(random >> 32 & 31) - 15, random);
}

// divisor is mostly somewhat less than x, or a whole or half part of it.
static float divisor(float x, uint64_t random) {
	switch (random >> 60) {
	case 0:
		return any(x, random);
	case 1: case 2: case 3: case 4:
		return x / ((float)(random >> 32 & ((1 << (random >> 55 & 31) % 24) - 1)) + (random & 1) * 0.5f);
	}
	return with_exponent(x, 2 - (int)(random >> 32 & 31), random);
}

// power is mostly a number for which x to its power is no infinity and no zero; whole
// for negative x.
static float power(float x, uint64_t random) {
	if (random >> 60 == 0) return any(x, random);
	float y = 155 * (float)((double)(int64_t)(random << 4) * 0x1p-63) / log2f(fabsf(x));
	return x < 0 || random >> 60 < 3 ? rintf(y) : y;
}

// Each function as written, and with its products fused into sums.
#define ROW(name, args, others) \
	void written_##name(const float *x, float *y, int64_t n), fused_##name(const float *x, float *y, int64_t n); \
	void exact_##name(const float *x, double *y, int64_t n);
#include "rows.h"
#undef ROW

static const struct {
	const char *name;
	void (*written)(const float *, float *, int64_t), (*fused)(const float *, float *, int64_t);
	void (*exact)(const float *, double *, int64_t);
	int args;
	float (*others)(float x, uint64_t random);
} rows[] = {
#define ROW(name, args, others) {#name, written_##name, fused_##name, exact_##name, args, others},
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

static double worst;
static float worst_at[4], wrong_at[4];
static uint64_t wrong;

static void keep(float *at, const float *x) {
	for (int i = 0; i < 4; i++) at[i] = x[i * BLOCK];
}

// judge looks at a result for the arguments x, which are BLOCK apart.
static void judge(const float *x, float got, double want) {
	float near = want;
	if (bits(got) == bits(near) && worst > 0.5) return;
	if (isnan(got) || isnan(want)) {
		if (isnan(got) && isnan(want)) return;
		wrong++, keep(wrong_at, x);
		return;
	}
	if (want == 0 && bits(got) != bits(near)) {
		wrong++, keep(wrong_at, x);
		return;
	}
	double e = off(got, want);
	if (e > worst) worst = e, keep(worst_at, x);
}

int main(int argc, char **argv) {
	if (argc != 4) return 2;
	int r = 0;
	while (strcmp(rows[r].name, argv[1]))
		if (++r == sizeof rows / sizeof *rows) return 2;
	uint64_t i = strtoull(argv[2], 0, 10), step = strtoull(argv[3], 0, 10);
	static float x[4 * BLOCK], got[2][BLOCK];
	static double want[BLOCK];
	while (i < (uint64_t)1 << 32) {
		int n = 0;
		for (; n < BLOCK && i < (uint64_t)1 << 32; n++, i += step) {
			x[n] = from_bits(i);
			for (int k = 1; k < rows[r].args; k++) x[k * BLOCK + n] = rows[r].others(x[n], mix(4 * i + k));
		}
		rows[r].written(x, got[0], n);
		rows[r].fused(x, got[1], n);
		rows[r].exact(x, want, n);
		for (int k = 0; k < n; k++) {
			judge(x + k, got[0][k], want[k]);
			if (bits(got[1][k]) != bits(got[0][k])) judge(x + k, got[1][k], want[k]);
		}
	}
	printf("%.4f", worst);
	for (int k = 0; k < rows[r].args; k++) printf("%c%08x", k ? ',' : ' ', bits(worst_at[k]));
	printf(" %llu", (unsigned long long)wrong);
	for (int k = 0; k < rows[r].args; k++) printf("%c%08x", k ? ',' : ' ', bits(wrong_at[k]));
	printf("\n");
	return 0;
}
