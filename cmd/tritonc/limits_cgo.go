//go:build linux && cgo

package main

/*
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIN_ADDRESS_SPACE 1536 // MiB, minAddressSpace

// Go's runtime reserves its address space before any code in Go runs, and where
// it gets none it dies with a trace. Constructors run earlier.
__attribute__((constructor)) static void check_address_space(void)
{
	struct rlimit lim;
	if (getrlimit(RLIMIT_AS, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY &&
	    lim.rlim_cur >> 20 < MIN_ADDRESS_SPACE) {
		fprintf(stderr, "tritonc: error: the shell's limit is %llu MiB of address space; tritonc needs %d\n"
				"  help: ulimit -v %d, or more\n",
			(unsigned long long)(lim.rlim_cur >> 20), MIN_ADDRESS_SPACE, MIN_ADDRESS_SPACE << 10);
		_exit(1);
	}
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1); // a heap of 64 MiB for each thread would take the rest
#endif
}
*/
import "C"

// The two constants are one.
var _ = [1]struct{}{}[minAddressSpace-C.MIN_ADDRESS_SPACE]
