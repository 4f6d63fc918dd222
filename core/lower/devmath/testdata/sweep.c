// Compares functions of one float with functions of doubles, over arguments whose
// bits are a step apart: sweep_test.go compiles it together with loops over the
// functions' code and over what they are compared with (rows.h names them).
//
//	sweep FUNCTION FIRST STEP
//
// It prints the greatest error found, in units of the last place of the exact
// result, the bits of its argument, and how many arguments have a wrong special
// result: a NaN too many or too few, or a zero of the wrong sign.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Each function as written, and with its products fused into sums.
#define ROW(name) \
	void written_##name(const float *x, float *y, int64_t n), fused_##name(const float *x, float *y, int64_t n); \
	void exact_##name(const float *x, double *y, int64_t n);
#include "rows.h"
#undef ROW

static const struct {
	const char *name;
	void (*written)(const float *, float *, int64_t), (*fused)(const float *, float *, int64_t);
	void (*exact)(const float *, double *, int64_t);
} rows[] = {
#define ROW(name) {#name, written_##name, fused_##name, exact_##name},
#include "rows.h"
};

static uint32_t bits(float x) {
	uint32_t b;
	memcpy(&b, &x, sizeof b);
	return b;
}

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
static uint32_t worst_at, wrong_at;
static uint64_t wrong;

static void judge(float x, float got, double want) {
	float near = want;
	if (bits(got) == bits(near) && worst > 0.5) return;
	if (isnan(got) || isnan(want)) {
		if (isnan(got) && isnan(want)) return;
		wrong++, wrong_at = bits(x);
		return;
	}
	if (want == 0 && bits(got) != bits(near)) {
		wrong++, wrong_at = bits(x);
		return;
	}
	double e = off(got, want);
	if (e > worst) worst = e, worst_at = bits(x);
}

#define BLOCK 1024

int main(int argc, char **argv) {
	if (argc != 4) return 2;
	int r = 0;
	while (strcmp(rows[r].name, argv[1]))
		if (++r == sizeof rows / sizeof *rows) return 2;
	uint64_t i = strtoull(argv[2], 0, 10), step = strtoull(argv[3], 0, 10);
	static float x[BLOCK], got[2][BLOCK];
	static double want[BLOCK];
	while (i < (uint64_t)1 << 32) {
		int n = 0;
		for (; n < BLOCK && i < (uint64_t)1 << 32; n++, i += step) {
			uint32_t b = i;
			memcpy(&x[n], &b, sizeof b);
		}
		rows[r].written(x, got[0], n);
		rows[r].fused(x, got[1], n);
		rows[r].exact(x, want, n);
		for (int k = 0; k < n; k++) {
			judge(x[k], got[0][k], want[k]);
			if (bits(got[1][k]) != bits(got[0][k])) judge(x[k], got[1][k], want[k]);
		}
	}
	printf("%.4f %08x %llu %08x\n", worst, worst_at, (unsigned long long)wrong, wrong_at);
	return 0;
}
