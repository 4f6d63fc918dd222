// A stand-in for Ascend's libascendcl.so and libruntime.so: the entry points that the driver
// plugin uses, with memory on the host. It keeps the rules that the real ones enforce (a
// device that was chosen, copies inside one allocation, stubs that are registered once) and
// writes a line about each launch to the log.
//
//   STANDIN_SOC      what chip the NPUs have (Ascend910B3); "-": it is not told
//
// and standin.h has the other settings. A binary is an ELF file in whose bytes the names of
// its kernels are; one for a chip with FFTS has the text "ffts", too. A kernel whose name
// begins with
//   add      (float *x, float *y, float *out, int n): out = x + y
//   fault    makes every later call fail with an exception of a vector core, until aclInit
//   die      ends the process
// does that, and others do nothing.
#define _GNU_SOURCE // memmem
#define NO_CURRENT 107002 // ACL_ERROR_RT_CONTEXT_NULL
#include "standin.h"

typedef int aclError;
typedef int rtError_t;

enum {
	INVALID = 107000, INVALID_DEVICE = 107001, INVALID_HANDLE = 107017, NO_MEMORY = 207001, VECTOR_EXCEPTION = 507035,
	LOOKUP = 507027, DUPLICATE = 507028,
};

// What more there is to say of a thread's last failure.
static __thread char message[256], told[256];

const char *aclGetRecentErrMsg(void) {
	if (!message[0]) return NULL;
	memcpy(told, message, sizeof told);
	message[0] = 0;
	return told;
}

aclError aclInit(const char *config) {
	sticky = coming = 0;
	CHECK(0);
	return config ? INVALID : 0;
}
aclError aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch) { *major = 1; *minor = 14; *patch = 2; return 0; }

// Devices.
aclError aclrtGetDeviceCount(uint32_t *n) { CHECK(0); *n = devices(); return 0; }
aclError aclrtSetDevice(int32_t d) {
	CHECK(0);
	if (d < 0 || d >= devices()) return INVALID_DEVICE;
	current = d;
	return 0;
}
const char *aclrtGetSocName(void) {
	const char *s = getenv("STANDIN_SOC");
	if (s && !strcmp(s, "-")) return NULL;
	return s && *s ? s : "Ascend910B3";
}
aclError aclrtGetDeviceInfo(uint32_t d, int attribute, int64_t *value) {
	CHECK(0);
	if (d >= devices()) return INVALID_DEVICE;
	switch (attribute) {
	case 102: *value = 19; return 0; // cube cores: one is not for users
	case 301: *value = memory(); return 0;
	}
	return INVALID;
}

// Memory begins 64 bytes after that of the list, so that it has no more alignment than
// the real one promises.
aclError aclrtMalloc(void **p, size_t n, int policy) {
	CHECK(1);
	if (policy || !n) return INVALID;
	char *at = take(n + 64);
	if (!at) return NO_MEMORY;
	*p = at + 64;
	return 0;
}
aclError aclrtFree(void *p) {
	CHECK(1);
	return p && give((char *)p - 64) ? 0 : INVALID;
}
aclError aclrtGetMemInfo(int kind, size_t *left, size_t *total) {
	CHECK(1);
	*total = kind == 1 ? memory() : 0;
	*left = kind == 1 ? *total - used : 0;
	return 0;
}
static aclError copy(void *to, size_t room, const void *from, size_t n, int kind) {
	if (n > room || kind < 1 || kind > 3) return INVALID;
	if (kind != 2 && !inside(to, n)) return INVALID;
	if (kind != 1 && !inside(from, n)) return INVALID;
	memcpy(to, from, n);
	return 0;
}
aclError aclrtMemcpy(void *to, size_t room, const void *from, size_t n, int kind) {
	CHECK(1);
	return copy(to, room, from, n, kind);
}

// Streams and events.
aclError aclrtCreateStream(struct stream **s) {
	CHECK(1);
	*s = new_stream();
	note("stream of device %d\n", current);
	return 0;
}
aclError aclrtSynchronizeStream(struct stream *s) {
	CHECK(1);
	sticky = coming;
	if (sticky) snprintf(message, sizeof message, "EZ9999: Inner Error!\nEZ9999: [PID: 7] fault kernel_name=fault, device_id=%d.\n", current);
	return sticky ? sticky : s && s->device == current ? 0 : INVALID_HANDLE;
}
aclError aclrtDestroyStream(struct stream *s) { CHECK(1); note("stream ends\n"); free(s); return 0; }
aclError aclrtMemcpyAsync(void *to, size_t room, const void *from, size_t n, int kind, struct stream *s) {
	CHECK(1);
	note("copy %zu\n", n);
	return s ? copy(to, room, from, n, kind) : INVALID_HANDLE;
}
aclError aclrtMemsetAsync(void *to, size_t room, int32_t v, size_t n, struct stream *s) {
	CHECK(1);
	if (n > room || !inside(to, n) || !s) return INVALID;
	memset(to, v, n);
	note("memset %zu\n", n);
	return 0;
}
aclError aclrtCreateEventWithFlag(struct event **e, uint32_t flag) {
	CHECK(1);
	*e = calloc(1, sizeof **e);
	return flag == 8 ? 0 : INVALID;
}
aclError aclrtRecordEvent(struct event *e, struct stream *s) { CHECK(1); record(e); return s ? 0 : INVALID_HANDLE; }
aclError aclrtEventElapsedTime(float *ms, struct event *a, struct event *b) {
	CHECK(1);
	if (!a->recorded || !b->recorded) return INVALID_HANDLE;
	*ms = between(a, b);
	return 0;
}
aclError aclrtDestroyEvent(struct event *e) { CHECK(1); free(e); return 0; }

// Binaries and functions, of which the stub's address is the key.
struct binary { uint32_t magic, version; const void *data; uint64_t length; };
static struct program { struct binary b; int gone; } *programs[64];
static struct function { struct function *next; const void *stub; const char *stub_name, *name; struct program *p; } *functions;

static int has(struct program *p, const char *text) { return memmem(p->b.data, p->b.length, text, strlen(text)) != NULL; }

rtError_t rtDevBinaryRegister(const struct binary *b, void **hdl) {
	CHECK(1);
	int aivec = b->magic == 0x41415246;
	if ((!aivec && b->magic != 0x43554245) || b->version || b->length < 4 || memcmp(b->data, "\177ELF", 4)) return INVALID;
	note("load %s, %d bytes\n", aivec ? "aivec" : "elf", (int)b->length);
	for (int i = 0; i < 64; i++)
		if (!programs[i]) {
			programs[i] = calloc(1, sizeof **programs);
			programs[i]->b = *b;
			*hdl = programs[i];
			return 0;
		}
	return NO_MEMORY;
}
rtError_t rtDevBinaryUnRegister(void *hdl) {
	CHECK(1);
	struct program *p = hdl;
	if (p->gone++) return INVALID_HANDLE;
	note("unload\n");
	return 0;
}
rtError_t rtFunctionRegister(void *hdl, const void *stub, const char *stub_name, const char *name, uint32_t mode) {
	CHECK(1);
	struct program *p = hdl;
	if (p->gone || mode) return INVALID;
	if (!has(p, name)) return LOOKUP;
	for (struct function *f = functions; f; f = f->next)
		if (f->stub == stub || !strcmp(f->stub_name, stub_name)) return DUPLICATE;
	struct function *f = malloc(sizeof *f);
	*f = (struct function){functions, stub, strdup(stub_name), strdup(name), p};
	functions = f;
	return 0;
}
rtError_t rtGetC2cCtrlAddr(uint64_t *at, uint32_t *len) {
	CHECK(1);
	*at = 0xffff5000;
	*len = 64;
	return 0;
}

// What kernels get, as triton-ascend's launcher declares it.
#define MEMBER(n) __attribute__((aligned(n)))
struct __attribute__((packed)) add {
	void *locks MEMBER(8), *workspace MEMBER(8);
	float *x MEMBER(8), *y MEMBER(8), *out MEMBER(8);
	int n MEMBER(4);
	int32_t grid[3] MEMBER(4);
};
struct __attribute__((packed)) add_ffts {
	void *ffts MEMBER(8);
	struct add a;
};

rtError_t rtKernelLaunch(const void *stub, uint32_t blocks, const void *args, uint32_t size, const void *shared, struct stream *s) {
	CHECK(1);
	struct function *f = functions;
	while (f && f->stub != stub) f = f->next;
	if (!f) return INVALID;
	if (shared || !s || s->device != current || !blocks || blocks > 65535 || f->p->gone) return INVALID;
	note("launch %s blocks=%u args=", f->name, blocks);
	for (uint32_t i = 0; i < size; i++) note("%02x", ((const unsigned char *)args)[i]);
	note("\n");
	int ffts = has(f->p, "ffts");
	const struct add *a = ffts ? &((const struct add_ffts *)args)->a : args;
	if (does(f->name, VECTOR_EXCEPTION)) {
		if (size != (ffts ? sizeof(struct add_ffts) : sizeof(struct add))) return INVALID;
		if (ffts && ((const struct add_ffts *)args)->ffts != (void *)0xffff5000) return INVALID;
		if (a->grid[0] * a->grid[1] * a->grid[2] != blocks) return INVALID;
		add(a->x, a->y, a->out, a->n);
	}
	return 0;
}
