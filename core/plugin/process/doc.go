// Package process hosts plugins of every kind: it finds their programs, starts
// one, says in plain words why one did not start or how it died, and ends it.
// What is spoken over the connection is its users' affair: package core/plugin
// for backends, driver/remote for devices.
//
// Main types: Found (a program on disk), Config (how to start it), Process (one
// run of it).
//
// Invariants: no process and no socket outlives the host. A Process is ended
// by Stop; when the host is killed, the program sees its lifeline pipe end. A
// program gets no standard input and only the environment that Config names,
// nothing of the host's. Programs and folders that others may write to are
// refused.
//
// The package imports core/trust, the SDK and go-plugin, nothing else of ours.
package process
