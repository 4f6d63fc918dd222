// A stand-in for AMD's libamdhip64.so: the entry points that the driver plugin uses, with
// memory on the host. It keeps the rules that the real one enforces (a device that was
// chosen, copies inside one allocation) and writes a line about each launch to the file
// that STANDIN_LOG names.
//
//   STANDIN_DEVICES  how many GPUs there are (1)
//   STANDIN_ARCH     their architecture (gfx942:sramecc+:xnack-)
//   STANDIN_WARP     the size of their warps (64)
//   STANDIN_MEMORY   bytes of each (1 GiB)
//   STANDIN_FAIL     FUNCTION=CODE: what a function returns: "hipMalloc=2"
//
// A kernel does what the start of its name says:
//   add      (float *x, float *y, float *out, int n): out = x + y
//   fault    makes every later call fail with an illegal address, until hipInit
//   die      ends the process, as ROCm does when a kernel accesses memory that is not there
// and others do nothing.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int hipError_t;
typedef struct module *hipModule_t;
typedef struct function *hipFunction_t;
typedef struct stream *hipStream_t;
typedef struct event *hipEvent_t;

static const struct { int code; const char *name, *text; } errors[] = {
	{0, "hipSuccess", "no error"},
	{1, "hipErrorInvalidValue", "invalid argument"},
	{2, "hipErrorOutOfMemory", "out of memory"},
	{100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
	{101, "hipErrorInvalidDevice", "invalid device ordinal"},
	{209, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
	{400, "hipErrorInvalidHandle", "invalid resource handle"},
	{500, "hipErrorNotFound", "named symbol not found"},
	{700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
	{719, "hipErrorLaunchFailure", "unspecified launch failure"},
};

static long setting(const char *name, long otherwise) {
	const char *s = getenv(name);
	return s && *s ? atol(s) : otherwise;
}

static const char *arch(void) {
	const char *s = getenv("STANDIN_ARCH");
	return s && *s ? s : "gfx942:sramecc+:xnack-";
}

static hipError_t sticky;         // after a fault
static hipError_t coming;         // of a kernel that runs
static __thread int current = -1; // device of this thread

// check begins every entry point but the first ones.
static hipError_t check(const char *function, int needs_device) {
	const char *fail = getenv("STANDIN_FAIL");
	size_t n = strlen(function);
	if (fail && !strncmp(fail, function, n) && fail[n] == '=') return atoi(fail + n + 1);
	if (sticky) return sticky;
	return needs_device && current < 0 ? 101 : 0;
}
#define CHECK(needs_device) do { hipError_t e = check(__func__, needs_device); if (e) return e; } while (0)

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...) {
	const char *path = getenv("STANDIN_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;
	if (!f) return;
	va_list args;
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
}

hipError_t hipInit(unsigned flags) {
	sticky = coming = 0;
	CHECK(0);
	return setting("STANDIN_DEVICES", 1) ? 0 : 100;
}
hipError_t hipDriverGetVersion(int *v) { *v = 60200042; return 0; }
const char *hipGetErrorName(hipError_t e) {
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == e) return errors[i].name;
	return "hipErrorUnknown";
}
const char *hipGetErrorString(hipError_t e) {
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == e) return errors[i].text;
	return "unknown error";
}

// Devices.
hipError_t hipGetDeviceCount(int *n) { CHECK(0); *n = setting("STANDIN_DEVICES", 1); return 0; }
hipError_t hipSetDevice(int d) {
	CHECK(0);
	if (d < 0 || d >= setting("STANDIN_DEVICES", 1)) return 101;
	current = d;
	return 0;
}

// The struct of ROCm 6 and 7, as far as somebody reads it: 1472 bytes.
struct properties {
	char name[256], uuid[16], luid[8];
	unsigned node_mask;
	size_t total_memory, shared_per_block;
	int registers_per_block, warp_size;
	size_t pitch;
	int threads_per_block, threads_dim[3], grid[3], clock;
	size_t constant_memory;
	int major, minor;
	size_t texture_alignment, texture_pitch;
	int overlap, multiprocessors;
	char others[768], arch_name[256], more[56];
};
_Static_assert(sizeof(struct properties) == 1472, "the size in HIP's header");

hipError_t hipGetDevicePropertiesR0600(struct properties *p, int d) {
	CHECK(0);
	memset(p, 0xEE, sizeof *p);
	snprintf(p->name, sizeof p->name, "Stand-in %d", d);
	snprintf(p->arch_name, sizeof p->arch_name, "%s", arch());
	p->total_memory = setting("STANDIN_MEMORY", 1 << 30);
	p->shared_per_block = 64 << 10;
	p->warp_size = setting("STANDIN_WARP", 64);
	p->threads_per_block = 1024;
	p->multiprocessors = 304;
	return 0;
}

// Memory: a list of what is allocated.
static struct block { struct block *next; char *at; size_t size; } *blocks;
static size_t used;

static int inside(const char *p, size_t n) {
	for (struct block *b = blocks; b; b = b->next)
		if (p >= b->at && p + n <= b->at + b->size) return 1;
	return 0;
}
hipError_t hipMalloc(void **p, size_t n) {
	CHECK(1);
	if (used + n > (size_t)setting("STANDIN_MEMORY", 1 << 30)) return 2;
	struct block *b = malloc(sizeof *b);
	b->at = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
	memset(b->at, 0x11, n);
	b->size = n;
	b->next = blocks;
	blocks = b;
	used += n;
	*p = b->at;
	return 0;
}
hipError_t hipFree(void *p) {
	CHECK(1);
	for (struct block **b = &blocks; *b; b = &(*b)->next)
		if ((*b)->at == p) {
			struct block *gone = *b;
			*b = gone->next;
			used -= gone->size;
			free(gone->at);
			free(gone);
			note("free leaves %zu bytes\n", used);
			return 0;
		}
	return 1;
}
hipError_t hipMemGetInfo(size_t *left, size_t *total) {
	CHECK(1);
	*total = setting("STANDIN_MEMORY", 1 << 30);
	*left = *total - used;
	return 0;
}
hipError_t hipMemcpyHtoD(void *to, const void *from, size_t n) {
	CHECK(1);
	if (!inside(to, n)) return 1;
	memcpy(to, from, n);
	return 0;
}
hipError_t hipMemcpyDtoH(void *to, const void *from, size_t n) {
	CHECK(1);
	if (!inside(from, n)) return 1;
	memcpy(to, from, n);
	return 0;
}

// Streams run what they are given at once.
struct stream { int device; };
hipError_t hipStreamCreateWithFlags(hipStream_t *s, unsigned flags) {
	CHECK(1);
	*s = malloc(sizeof **s);
	(*s)->device = current;
	note("stream of device %d, flags %u\n", current, flags);
	return 0;
}
hipError_t hipStreamSynchronize(hipStream_t s) {
	CHECK(1);
	sticky = coming;
	return sticky ? sticky : s && s->device == current ? 0 : 400;
}
hipError_t hipStreamDestroy(hipStream_t s) { CHECK(1); note("stream ends\n"); free(s); return 0; }
hipError_t hipMemsetD8Async(void *to, unsigned char v, size_t n, hipStream_t s) {
	CHECK(1);
	if (!inside(to, n) || !s) return 1;
	memset(to, v, n);
	note("memset %zu\n", n);
	return 0;
}

// Events lie 1.5 ms apart, in the order in which they were recorded.
struct event { int recorded; };
static int recorded;
hipError_t hipEventCreate(hipEvent_t *e) { CHECK(1); *e = calloc(1, sizeof **e); return 0; }
hipError_t hipEventRecord(hipEvent_t e, hipStream_t s) { CHECK(1); e->recorded = ++recorded; return s ? 0 : 400; }
hipError_t hipEventElapsedTime(float *ms, hipEvent_t a, hipEvent_t b) {
	CHECK(1);
	if (!a->recorded || !b->recorded) return 400;
	*ms = 1.5f * (b->recorded - a->recorded);
	return 0;
}
hipError_t hipEventDestroy(hipEvent_t e) { CHECK(1); free(e); return 0; }

// Modules and functions. The metadata of a code object have the sizes of a kernel's
// parameters, in MessagePack: a string of 5 characters, then a small number. The module
// has one kernel.
struct module { int params, sizes[256]; char *code; size_t length; };
struct function { hipModule_t m; char name[256]; };

static char *find(const char *at, const char *end, const char *text) {
	size_t n = strlen(text);
	for (; at + n <= end; at++)
		if (!memcmp(at, text, n)) return (char *)at;
	return NULL;
}

hipError_t hipModuleLoadData(hipModule_t *out, const void *code) {
	CHECK(1);
	if (memcmp(code, "\177ELF", 4)) return 209;
	uint64_t sections, segments, end = 64;
	uint16_t section, nsections, segment, nsegments;
	memcpy(&segments, (char *)code + 32, 8);
	memcpy(&sections, (char *)code + 40, 8);
	memcpy(&segment, (char *)code + 54, 2);
	memcpy(&nsegments, (char *)code + 56, 2);
	memcpy(&section, (char *)code + 58, 2);
	memcpy(&nsections, (char *)code + 60, 2);
	if (sections + (uint64_t)section * nsections > end) end = sections + (uint64_t)section * nsections;
	for (int i = 0; i < nsegments; i++) {
		uint64_t at, size;
		memcpy(&at, (char *)code + segments + i * segment + 8, 8);
		memcpy(&size, (char *)code + segments + i * segment + 32, 8);
		if (at + size > end) end = at + size;
	}
	struct module *m = calloc(1, sizeof *m);
	m->length = end;
	m->code = malloc(end);
	memcpy(m->code, code, end);
	char target[64];
	snprintf(target, sizeof target, "--%.*s", (int)strcspn(arch(), ":"), arch());
	if (!find(m->code, m->code + end, target)) return 209;
	for (char *p = m->code; (p = find(p, m->code + end, "\xa5.size")) && m->params < 256; p += 7) {
		char *kind = find(p, m->code + end, ".value_kind");
		if (kind && kind < p + 40 && !memcmp(kind + 12, "hidden", 6)) continue;
		m->sizes[m->params++] = p[6];
	}
	note("load %d parameters\n", m->params);
	*out = m;
	return 0;
}
hipError_t hipModuleUnload(hipModule_t m) { CHECK(1); note("unload\n"); free(m->code); free(m); return 0; }
hipError_t hipModuleGetFunction(hipFunction_t *f, hipModule_t m, const char *name) {
	CHECK(1);
	if (!find(m->code, m->code + m->length, name)) return 500;
	*f = calloc(1, sizeof **f);
	(*f)->m = m;
	snprintf((*f)->name, sizeof (*f)->name, "%s", name);
	return 0;
}
hipError_t hipFuncGetAttribute(int *v, int attribute, hipFunction_t f) {
	CHECK(1);
	if (attribute != 0) return 1; // HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
	*v = 512;
	return 0;
}

hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		unsigned shared, hipStream_t s, void **params, void **extra) {
	CHECK(1);
	if (extra || !s || s->device != current || shared > 64 << 10) return 1;
	note("launch %s grid=%u,%u,%u block=%u,%u,%u shared=%u params=", f->name, gx, gy, gz, bx, by, bz, shared);
	for (int i = 0; i < f->m->params; i++) {
		note(" ");
		for (int b = f->m->sizes[i] - 1; b >= 0; b--) note("%02x", ((unsigned char *)params[i])[b]);
	}
	note("\n");
	if (!strncmp(f->name, "add", 3)) {
		const float *x = *(float **)params[0], *y = *(float **)params[1];
		float *out = *(float **)params[2];
		for (int i = 0, n = *(int *)params[3]; i < n; i++) out[i] = x[i] + y[i];
	} else if (!strncmp(f->name, "fault", 5)) {
		fprintf(stderr, "the stand-in takes note of a fault\n");
		coming = 700; // it shows when the stream is waited for
	} else if (!strncmp(f->name, "die", 3)) {
		fprintf(stderr, "Memory access fault by GPU node-1 on address 0x0. Reason: Unknown.\n");
		_exit(134);
	}
	return 0;
}
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		unsigned shared, hipStream_t s, void **params) {
	CHECK(1);
	note("at once: ");
	return hipModuleLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, params, NULL);
}
