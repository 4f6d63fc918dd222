// Package wgmma is Hopper's matrix unit as the passes see it: the dots of
// warpgroups, of 64 rows each, that read one or both operands from shared memory and
// run on while the program does.
//
//	unit.go     Unit: which dots go by wgmma, and what becomes of them
//	shape.go    the shape of the instructions, and how warps divide a result
//	operand.go  where operands lie
//
// and the passes that let dots run on, and fence what they read:
//
//	wgmma_pipelining.go, fence_insertion.go
//
// A dot that wgmma does not compute is left to mma.sync (package mma). What the
// operations are in PTX says package gpu.
package wgmma
