// Package local finds, and starts, a NATS server for one user on one machine: the program
// tritonc-nats, for commands that name no server.
//
// Main types: Folder (where the server keeps its files), Note (what it says of itself
// there).
//
// Invariants:
//   - the server listens at the loopback device alone, and asks for a token that is in a
//     file of its user's, in a folder that nobody else may enter;
//   - there is one in a folder;
//   - a server that was started here ends when the process that started it does, however
//     that ends.
//
// The package imports core/filememo, core/trust and gofrs/flock.
package local
