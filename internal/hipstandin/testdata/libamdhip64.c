// A stand-in for AMD's libamdhip64.so: the entry points that the driver plugin uses, with
// memory on the host. It keeps the rules that the real one enforces (a device that was
// chosen, copies inside one allocation) and writes a line about each launch to the log.
//
//   STANDIN_ARCH     the architecture of the GPUs (gfx942:sramecc+:xnack-)
//   STANDIN_WARP     the size of their warps (64)
//
// and standin.h has the other settings. A kernel whose name begins with
//   add      (float *x, float *y, float *out, int n): out = x + y
//   fault    makes every later call fail with an illegal address, until hipInit
//   die      ends the process, as ROCm does when a kernel accesses memory that is not there
// does that, and others do nothing.
#define NO_CURRENT 101 // hipErrorInvalidDevice
#include "standin.h"

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

static const char *arch(void) {
	const char *s = getenv("STANDIN_ARCH");
	return s && *s ? s : "gfx942:sramecc+:xnack-";
}

hipError_t hipInit(unsigned flags) {
	sticky = coming = 0;
	CHECK(0);
	return devices() ? 0 : 100;
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
hipError_t hipGetDeviceCount(int *n) { CHECK(0); *n = devices(); return 0; }
hipError_t hipSetDevice(int d) {
	CHECK(0);
	if (d < 0 || d >= devices()) return 101;
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
	p->total_memory = memory();
	p->shared_per_block = 64 << 10;
	p->warp_size = setting("STANDIN_WARP", 64);
	p->threads_per_block = 1024;
	p->multiprocessors = 304;
	return 0;
}

// Memory.
hipError_t hipMalloc(void **p, size_t n) {
	CHECK(1);
	return (*p = take(n)) ? 0 : 2;
}
hipError_t hipFree(void *p) {
	CHECK(1);
	return give(p) ? 0 : 1;
}
hipError_t hipMemGetInfo(size_t *left, size_t *total) {
	CHECK(1);
	*total = memory();
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

// Streams and events.
hipError_t hipStreamCreateWithFlags(hipStream_t *s, unsigned flags) {
	CHECK(1);
	*s = new_stream();
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

hipError_t hipEventCreate(hipEvent_t *e) { CHECK(1); *e = calloc(1, sizeof **e); return 0; }
hipError_t hipEventRecord(hipEvent_t e, hipStream_t s) { CHECK(1); record(e); return s ? 0 : 400; }
hipError_t hipEventElapsedTime(float *ms, hipEvent_t a, hipEvent_t b) {
	CHECK(1);
	if (!a->recorded || !b->recorded) return 400;
	*ms = between(a, b);
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
	if (does(f->name, 700)) add(*(float **)params[0], *(float **)params[1], *(float **)params[2], *(int *)params[3]);
	return 0;
}
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		unsigned shared, hipStream_t s, void **params) {
	CHECK(1);
	note("at once: ");
	return hipModuleLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, params, NULL);
}
