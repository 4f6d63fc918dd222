// What stand-ins for vendors' libraries have in common: settings, a log, memory on the host,
// streams that run what they are given at once, events, and what kernels do.
//
//   STANDIN_DEVICES  how many devices there are (1)
//   STANDIN_MEMORY   bytes of each (1 GiB)
//   STANDIN_FAIL     FUNCTION=CODE: what a function returns: "hipMalloc=2"
//   STANDIN_LOG      a file for a line about each launch, among others
//
// A library defines, before it includes this file, NO_CURRENT, which its functions return
// where the thread has no device.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long setting(const char *name, long otherwise) {
	const char *s = getenv(name);
	return s && *s ? atol(s) : otherwise;
}
static long devices(void) { return setting("STANDIN_DEVICES", 1); }
static size_t memory(void) { return setting("STANDIN_MEMORY", 1 << 30); }

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

static int sticky;                // after a fault
static int coming;                // of a kernel that runs
static __thread int current = -1; // device of this thread

// check begins every entry point but the first ones.
static int check(const char *function, int needs_device) {
	const char *fail = getenv("STANDIN_FAIL");
	size_t n = strlen(function);
	if (fail && !strncmp(fail, function, n) && fail[n] == '=') return atoi(fail + n + 1);
	if (sticky) return sticky;
	return needs_device && current < 0 ? NO_CURRENT : 0;
}
#define CHECK(needs_device) do { int e = check(__func__, needs_device); if (e) return e; } while (0)

// Memory: a list of what is allocated.
static struct block { struct block *next; char *at; size_t size; } *blocks;
static size_t used;

static int inside(const void *at, size_t n) {
	const char *p = at;
	for (struct block *b = blocks; b; b = b->next)
		if (p >= b->at && p + n <= b->at + b->size) return 1;
	return 0;
}

// take allocates, or returns NULL for lack of memory.
static void *take(size_t n) {
	if (used + n > memory()) return NULL;
	struct block *b = malloc(sizeof *b);
	b->at = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
	memset(b->at, 0x11, n);
	b->size = n;
	b->next = blocks;
	blocks = b;
	used += n;
	return b->at;
}

// give frees, and returns whether the memory was allocated.
static int give(void *p) {
	for (struct block **b = &blocks; *b; b = &(*b)->next)
		if ((*b)->at == p) {
			struct block *gone = *b;
			*b = gone->next;
			used -= gone->size;
			free(gone->at);
			free(gone);
			note("free leaves %zu bytes\n", used);
			return 1;
		}
	return 0;
}

struct stream { int device; };
static struct stream *new_stream(void) {
	struct stream *s = malloc(sizeof *s);
	s->device = current;
	return s;
}

// Events lie 1.5 ms apart, in the order in which they were recorded.
struct event { int recorded; };
static void record(struct event *e) {
	static int recorded;
	e->recorded = ++recorded;
}
static float between(struct event *a, struct event *b) { return 1.5f * (b->recorded - a->recorded); }

// does has a kernel do what the start of its name says:
//   fault    makes every later call fail with the given code, until the library is made ready
//   die      ends the process, as vendors' libraries do after some accesses
// and returns whether it begins with "add".
static int does(const char *name, int fault) {
	if (!strncmp(name, "fault", 5)) {
		fprintf(stderr, "the stand-in takes note of a fault\n");
		coming = fault; // it shows when the stream is waited for
	} else if (!strncmp(name, "die", 3)) {
		fprintf(stderr, "Memory access fault by GPU node-1 on address 0x0. Reason: Unknown.\n");
		_exit(134);
	}
	return !strncmp(name, "add", 3);
}

// add is what kernels whose names begin with it do.
static void add(const float *x, const float *y, float *out, int n) {
	for (int i = 0; i < n; i++) out[i] = x[i] + y[i];
}
