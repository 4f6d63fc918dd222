// Package report prints what the analyses know of a module, a line a value or
// operation, in the notation of Triton's test-print passes:
//
//	axis-info    %x = tt.make_range : … => contiguity = [128], divisibility = [1024], …
//	alias        %v = ttg.memdesc_index : … -> %a, %b
//	liveness     %a = ttg.local_alloc : … => operations 3 to 9
//	allocation   %a = ttg.local_alloc : … => offset = 0, size = 512
//	             %r = tt.reduce : … => scratch offset = 512, size = 64
//	             @kernel => size = 576
//	membar       %l = ttg.local_load : … => barrier before
//
// Liveness counts the operations of a function in program order from the
// function itself, 0; those of it that have no line are counted, too.
package report
