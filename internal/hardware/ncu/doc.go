// Package ncu holds the simulator's counters of memory accesses against those of a
// GPU, which NVIDIA's Nsight Compute (ncu) reads. It parses what ncu writes, pairs
// launches with those that the simulator counted, and compares the sums of every
// kernel; it runs nothing itself.
//
// It imports the standard library only.
package ncu
