// Package sign signs what machines share, and says who signed it: Ed25519 (RFC 8032).
//
// Main types: Key (a private key in a file of its user's), Trusted (the public keys that
// a project lists).
//
// Invariants:
//   - a signature is over what the data are for, too: the kind and the key. An entry
//     cannot be put in the place of another;
//   - a private key is not read from a file that others may read or change;
//   - no time is signed: clocks need not agree.
//
// The package imports core/diag, core/input, core/trust and the standard library.
package sign
