// Package serve lets one process compile for many: the server that `tritonc serve` is,
// and the client in each tritonc.
//
// Main types: Server (answers on a socket, ends when idle), Call (a command line that is
// served), Client, Queue and Lane (who compiles next), Status (what the server did).
//
// Invariants:
//   - the socket lies in a folder that only its user may enter, and both ends look who
//     the other is (SO_PEERCRED): neither speaks with another user, root's included;
//   - client and server are one build, see the same folders and run under the same limits,
//     or the server refuses;
//   - a call ends with its client;
//   - of the calls that wait each gets its place, however many kernels one asks for.
//
// The package knows no flag and reads no environment. It imports core/plugin for the
// list of processes, core/trust, and its own messages (v1).
package serve
