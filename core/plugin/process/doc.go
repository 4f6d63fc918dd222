// Package process hosts plugins of every kind: it finds their programs, starts
// one, says in plain words why one did not start or how it died, and ends it.
// What is spoken over the connection is its users' affair: package core/plugin
// for backends, driver/remote for devices.
//
// Main types: Found (a program on disk), Config (how to start it), Confine (the
// limits it runs under), Process (one run of it).
//
// Invariants: no process and no socket outlives the host. A Process is ended
// by Stop; when the host is killed, the program sees its lifeline pipe end. A
// program gets no standard input and only the environment that Config names,
// nothing of the host's: it inherits no descriptor but those of the protocol, and its
// temporary files go with it. Programs and folders that others may write to are
// refused; where somebody expects a sum, what was summed up is what is executed. A
// process that is stopped or hangs while it has a call to answer is killed.
//
// The package imports core/trust, the SDK and go-plugin, nothing else of ours.
package process
