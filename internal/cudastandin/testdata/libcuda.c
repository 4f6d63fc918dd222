// A stand-in for NVIDIA's libcuda.so.1: the entry points that the driver plugin
// uses, with memory on the host. It keeps the rules that the real one enforces
// (a current context on the calling thread, copies inside one allocation) and
// writes a line about each launch to the file that STANDIN_LOG names.
//
//   STANDIN_DEVICES  how many GPUs there are (1)
//   STANDIN_CC       their compute capability (90)
//   STANDIN_MEMORY   bytes of each (1 GiB)
//   STANDIN_FAIL     FUNCTION=CODE: what a function returns, by its name behind
//                    the macros of cuda.h: "cuMemAlloc_v2=2"
//
// A kernel does what the start of its name says:
//   add      (float *x, float *y, float *out, int n): out = x + y
//   overrun  (char *p, int n): writes p[n + 2] and p[-8]
//   print    prints two lines
//   fault    makes every later call fail with an illegal address
//   later    does so from its second launch on
//   spin     never ends
//   die      ends the process, as CUDA's library may when the GPU is gone
// and others do nothing.
#include <cuda.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct { int code; const char *name, *text; } errors[] = {
	{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
	{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
	{218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
	{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
	{719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
};

static long setting(const char *name, long otherwise) {
	const char *s = getenv(name);
	return s && *s ? atol(s) : otherwise;
}

static CUresult sticky;            // after a fault
static __thread CUcontext context; // of this thread

// check begins every entry point but the first ones.
static CUresult check(const char *function, int needs_context) {
	const char *fail = getenv("STANDIN_FAIL");
	size_t n = strlen(function);
	if (fail && !strncmp(fail, function, n) && fail[n] == '=') return atoi(fail + n + 1);
	if (sticky) return sticky;
	return needs_context && !context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
#define CHECK(needs_context) do { CUresult e = check(__func__, needs_context); if (e) return e; } while (0)

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

CUresult cuInit(unsigned flags) {
	CHECK(0);
	return setting("STANDIN_DEVICES", 1) ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
CUresult cuDriverGetVersion(int *v) { *v = 12040; return CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult e, const char **s) {
	*s = NULL;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == (int)e) *s = errors[i].name;
	return *s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult e, const char **s) {
	*s = NULL;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == (int)e) *s = errors[i].text;
	return *s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Devices.
CUresult cuDeviceGetCount(int *n) { CHECK(0); *n = setting("STANDIN_DEVICES", 1); return CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *d, int number) {
	CHECK(0);
	if (number < 0 || number >= setting("STANDIN_DEVICES", 1)) return CUDA_ERROR_INVALID_DEVICE;
	*d = number;
	return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *s, int n, CUdevice d) { CHECK(0); snprintf(s, n, "Stand-in %d", d); return CUDA_SUCCESS; }
CUresult cuDeviceTotalMem(size_t *n, CUdevice d) { CHECK(0); *n = setting("STANDIN_MEMORY", 1 << 30); return CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
	CHECK(0);
	switch ((int)a) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = setting("STANDIN_CC", 90) / 10; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = setting("STANDIN_CC", 90) % 10; break;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *v = 32; break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = 132; break;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *v = 1024; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = 227 << 10; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { CHECK(0); *c = (CUcontext)(uintptr_t)(d + 1); return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext c) { CHECK(0); context = c; return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext *c) { CHECK(0); *c = context; return CUDA_SUCCESS; }
CUresult cuCtxSynchronize(void) { CHECK(1); return CUDA_SUCCESS; }

// Memory: a list of what is allocated. The real addresses lie where the host
// has none; these are the host's own.
static struct block { struct block *next; char *at; size_t size; } *blocks;
static size_t used;

static int inside(CUdeviceptr p, size_t n) {
	for (struct block *b = blocks; b; b = b->next)
		if ((char *)p >= b->at && (char *)p + n <= b->at + b->size) return 1;
	return 0;
}
CUresult cuMemAlloc(CUdeviceptr *p, size_t n) {
	CHECK(1);
	if (n == 0) return CUDA_ERROR_INVALID_VALUE;
	if (used + n > (size_t)setting("STANDIN_MEMORY", 1 << 30)) return CUDA_ERROR_OUT_OF_MEMORY;
	struct block *b = malloc(sizeof *b);
	b->at = aligned_alloc(512, (n + 511) / 512 * 512);
	memset(b->at, 0x11, n);
	b->size = n;
	b->next = blocks;
	blocks = b;
	used += n;
	*p = (CUdeviceptr)b->at;
	return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr p) {
	CHECK(1);
	for (struct block **b = &blocks; *b; b = &(*b)->next)
		if ((*b)->at == (char *)p) {
			struct block *gone = *b;
			*b = gone->next;
			used -= gone->size;
			free(gone->at);
			free(gone);
			note("free leaves %zu bytes\n", used);
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemGetInfo(size_t *left, size_t *total) {
	CHECK(1);
	*total = setting("STANDIN_MEMORY", 1 << 30);
	*left = *total - used;
	return CUDA_SUCCESS;
}
CUresult cuMemsetD8(CUdeviceptr p, unsigned char v, size_t n) {
	CHECK(1);
	if (n == 0 || !inside(p, n)) return CUDA_ERROR_INVALID_VALUE;
	memset((void *)p, v, n);
	return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream s) {
	CHECK(1);
	note("memset %zu\n", n);
	return cuMemsetD8(p, v, n);
}
CUresult cuMemcpyHtoD(CUdeviceptr p, const void *h, size_t n) {
	CHECK(1);
	if (!inside(p, n)) return CUDA_ERROR_INVALID_VALUE;
	memcpy((void *)p, h, n);
	return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void *h, CUdeviceptr p, size_t n) {
	CHECK(1);
	if (!inside(p, n)) return CUDA_ERROR_INVALID_VALUE;
	memcpy(h, (void *)p, n);
	return CUDA_SUCCESS;
}


// Peers: devices of even numbers reach those of even numbers.
CUresult cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b) { CHECK(0); *can = a % 2 == 0 && b % 2 == 0; return CUDA_SUCCESS; }
CUresult cuCtxEnablePeerAccess(CUcontext c, unsigned flags) {
	CHECK(1);
	note("peer %d to %d\n", (int)(uintptr_t)context - 1, (int)(uintptr_t)c - 1);
	return CUDA_SUCCESS;
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext tc, CUdeviceptr from, CUcontext fc, size_t n) {
	CHECK(1);
	if (!inside(to, n) || !inside(from, n)) return CUDA_ERROR_INVALID_VALUE;
	memmove((void *)to, (void *)from, n);
	note("copy %zu from %d to %d\n", n, (int)(uintptr_t)fc - 1, (int)(uintptr_t)tc - 1);
	return CUDA_SUCCESS;
}

// Modules and functions.
struct module { int ptx, params; char *code; };
struct function { struct module *m; char name[256]; int shared, launches; };

CUresult cuModuleLoadDataEx(CUmodule *out, const void *code, unsigned n, CUjit_option *options, void **values) {
	CHECK(1);
	struct module *m = calloc(1, sizeof *m);
	m->ptx = memcmp(code, "\177ELF", 4) != 0;
	if (m->ptx) {
		m->code = strdup(code);
		if (strstr(m->code, "refuse me")) {
			for (unsigned i = 0; i < n; i++)
				if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
					strcpy(values[i], "ptxas application ptx input, line 7; fatal   : refused\n");
			return CUDA_ERROR_INVALID_PTX;
		}
		char *head = strstr(m->code, ".entry");
		char *end = head ? strchr(head, ')') : NULL;
		for (char *p = head; p && (p = strstr(p, ".param")) && p < end; p++) m->params++;
	}
	note("load %s\n", m->ptx ? "ptx" : "cubin");
	*out = (CUmodule)m;
	return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule *out, const void *code) { return cuModuleLoadDataEx(out, code, 0, NULL, NULL); }
CUresult cuModuleUnload(CUmodule m) { CHECK(1); note("unload\n"); free(((struct module *)m)->code); free(m); return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
	CHECK(1);
	if (((struct module *)m)->ptx && !strstr(((struct module *)m)->code, name)) return CUDA_ERROR_NOT_FOUND;
	struct function *g = calloc(1, sizeof *g);
	g->m = (struct module *)m;
	snprintf(g->name, sizeof g->name, "%s", name);
	*f = (CUfunction)g;
	return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) {
	CHECK(1);
	*v = a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 512 : 0;
	return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) {
	CHECK(1);
	if ((int)a == 14) return CUDA_SUCCESS; // clusters of more than 8 blocks; headers before 11.8 lack its name
	if (a != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_ERROR_INVALID_VALUE;
	((struct function *)f)->shared = v;
	return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
// A tensor map is 128 times the letter M.
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
		const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps,
		CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
	CHECK(0);
	if ((uintptr_t)map % 64 || (uintptr_t)address % 16 || rank < 1 || rank > 5) return CUDA_ERROR_INVALID_VALUE;
	note("map at=%p type=%d swizzle=%d fill=%d", address, type, swizzle, fill);
	for (unsigned i = 0; i < rank; i++)
		note(" %llu:%u:%u", (unsigned long long)sizes[i], box[i], steps[i]);
	for (unsigned i = 0; i + 1 < rank; i++)
		note(" %llu", (unsigned long long)strides[i]);
	note("\n");
	memset(map, 'M', sizeof *map);
	return CUDA_SUCCESS;
}
#endif

// Streams run what they are given at once. One that is being captured does so, too, but
// counts the launches, and a graph is that number.
struct stream { int capturing, launches; };

// Launches.
CUresult cuLaunchKernel(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		unsigned shared, CUstream s, void **params, void **extra) {
	CHECK(1);
	struct function *f = (struct function *)fn;
	if (extra || (shared > 48 << 10 && (int)shared > f->shared)) return CUDA_ERROR_INVALID_VALUE;
	note("launch %s grid=%u,%u,%u block=%u,%u,%u shared=%u params=", f->name, gx, gy, gz, bx, by, bz, shared);
	for (int i = 0; i < f->m->params; i++) {
		uint64_t v;
		memcpy(&v, params[i], sizeof v);
		note(" %llx", (unsigned long long)v);
	}
	note("\n");
	if (s) ((struct stream *)s)->launches++;
	if (!strncmp(f->name, "add", 3)) {
		const float *x = *(float **)params[0], *y = *(float **)params[1];
		float *out = *(float **)params[2];
		for (int i = 0, n = *(int *)params[3]; i < n; i++) out[i] = x[i] + y[i];
	} else if (!strncmp(f->name, "overrun", 7)) {
		char *p = *(char **)params[0];
		p[-8] = 1;
		p[*(int *)params[1] + 2] = 1;
	} else if (!strncmp(f->name, "print", 5)) {
		printf("pid (0, 0, 0) is here\nand says so\n");
	} else if (!strncmp(f->name, "fault", 5)) {
		fprintf(stderr, "the stand-in takes note of a fault\n");
		sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
		return CUDA_SUCCESS; // it shows later
	} else if (!strncmp(f->name, "later", 5)) {
		if (f->launches++) sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
	} else if (!strncmp(f->name, "die", 3)) {
		fprintf(stderr, "the GPU has fallen off the bus\n");
		_exit(9);
	} else if (!strncmp(f->name, "spin", 4)) {
		for (;;) sleep(1000);
	}
	return CUDA_SUCCESS;
}
#if CUDA_VERSION >= 11080
CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction fn, void **params, void **extra) {
	CHECK(1);
	for (unsigned i = 0; i < c->numAttrs; i++) {
		const CUlaunchAttribute *a = &c->attrs[i];
		switch (a->id) {
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
			if (c->gridDimX % a->value.clusterDim.x) return CUDA_ERROR_INVALID_VALUE;
			note("cluster=%u,%u,%u ", a->value.clusterDim.x, a->value.clusterDim.y, a->value.clusterDim.z);
			break;
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
			note("policy=%d ", (int)a->value.clusterSchedulingPolicyPreference);
			break;
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			note("cooperative=%d ", a->value.cooperative);
			break;
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
			note("early=%d ", a->value.programmaticStreamSerializationAllowed);
			break;
		default:
			return CUDA_ERROR_INVALID_VALUE;
		}
	}
	return cuLaunchKernel(fn, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
		c->sharedMemBytes, c->hStream, params, extra);
}
#endif

CUresult cuStreamCreate(CUstream *s, unsigned flags) { CHECK(1); *s = calloc(1, sizeof(struct stream)); return CUDA_SUCCESS; }
CUresult cuStreamDestroy(CUstream s) { CHECK(1); note("stream ends\n"); free(s); return CUDA_SUCCESS; }
CUresult cuStreamSynchronize(CUstream s) { CHECK(1); return CUDA_SUCCESS; }
CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags) { CHECK(1); note("wait\n"); return CUDA_SUCCESS; }
CUresult cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode) {
	CHECK(1);
	struct stream *t = (struct stream *)s;
	if (!t || t->capturing) return CUDA_ERROR_INVALID_VALUE;
	t->capturing = 1;
	t->launches = 0;
	note("capture\n");
	return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream s, CUgraph *g) {
	CHECK(1);
	struct stream *t = (struct stream *)s;
	if (!t || !t->capturing) return CUDA_ERROR_INVALID_VALUE;
	t->capturing = 0;
	int *n = malloc(sizeof *n);
	*n = t->launches;
	*g = (CUgraph)n;
	return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph g) { CHECK(1); free(g); return CUDA_SUCCESS; }
CUresult cuGraphInstantiateWithFlags(CUgraphExec *x, CUgraph g, unsigned long long flags) {
	CHECK(1);
	int *n = malloc(sizeof *n);
	*n = *(int *)g;
	*x = (CUgraphExec)n;
	return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec x, CUstream s) { CHECK(1); note("replay of %d\n", *(int *)x); return CUDA_SUCCESS; }
CUresult cuGraphExecDestroy(CUgraphExec x) { CHECK(1); note("graph ends\n"); free(x); return CUDA_SUCCESS; }

CUresult cuEventCreate(CUevent *e, unsigned flags) { CHECK(1); *e = (CUevent)1; return CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent e, CUstream s) { return sticky ? CUDA_SUCCESS : check(__func__, 1); }
CUresult cuEventSynchronize(CUevent e) { CHECK(1); return CUDA_SUCCESS; }
CUresult cuEventElapsedTime(float *ms, CUevent a, CUevent b) { CHECK(1); *ms = 1.5f; return CUDA_SUCCESS; }
CUresult cuEventDestroy(CUevent e) { CHECK(1); return CUDA_SUCCESS; }
