// Package buffers has the passes that make buffer accesses of accesses through tensors of
// pointers: a base that all threads share, and offsets of 32 bits.
//
//	canonicalize_pointers.go  pointers as a base and an offset
//	structured.go             the same across loops, conditions and branches
//	reach.go                  which pointers point into arguments' buffers
//	add_offset.go             what elements of an offset have in common
//	narrow.go                 offsets of 64 bits in 32
//	convert_buffer_ops.go     which accesses become amdg's, and which stay
//	fold_true_cmpi.go         what ranges of integers decide, once they have served that
//
// An address of a buffer instruction is the base plus an offset without sign, which must
// lie below the descriptor's number of records. So an offset may be converted where it is
// proven to be neither negative nor beyond 2 GiB, or where the base is a kernel's argument
// with tt.pointer_range = 32: then it begins a buffer of less than 2 GiB, and every
// address in that buffer is the base plus such an offset, however it was computed modulo
// 2^32.
//
// The package imports core's IR, dialects, analyses and passes, and the dialect amdg.
package buffers
