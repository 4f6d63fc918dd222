// Package cache is a store of bytes under keys in a folder, for several processes
// at once: what a compile made, under a hash of all that it was made of.
//
// Main types: Store, and Shared, what a store of several machines does for those that use
// it. A key is the SHA-256 of everything that the data depend on,
// which the caller puts together (Hasher).
//
// Invariants:
//   - an entry is one file, written beside its place and renamed into it: a
//     reader sees all of it or none, also when a writer is killed;
//   - an entry carries the checksum of its data: what a disk or a stranger has
//     changed is reported, removed, and as good as absent;
//   - nothing is taken from a folder, or an entry, that others than the user and
//     root own or may write to (core/trust);
//   - the folder holds at most the store's limit at any time, whatever the number
//     of writers and of those that are killed: one at a time writes to a part of it
//     (lock), and makes room before; the entries used least recently go first;
//   - least recently is within the part, one of 64 by the hash of the key, so that no
//     writer waits for all others. With room for n entries of one size in a part, what
//     is among the last 64·m used stays for m + 5√m = 3n/4, but for one case in a
//     million: half of all there is room for, where n is 400;
//   - losing entries at any time costs time only.
//
// Why not the Go command's own cache, which github.com/rogpeppe/go-internal/cache
// offers: it forgets by age and has no bound of size, and an entry is two files,
// of which others may use one. What is left without that is this package.
//
// It knows nothing of what it stores, and imports core/filememo, for its way of
// replacing a file, core/trust and the standard library only.
package cache
