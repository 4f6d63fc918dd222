// Package cache is a store of bytes under keys in a folder, for several processes
// at once: what a compile made, under a hash of all that it was made of.
//
// Main type: Store. A key is the SHA-256 of everything that the data depend on,
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
//   - losing entries at any time costs time only.
//
// Why not the Go command's own cache, which github.com/rogpeppe/go-internal/cache
// offers: it forgets by age and has no bound of size, and an entry is two files,
// of which others may use one. What is left without that is this package.
//
// It knows nothing of what it stores, and imports core/filememo, for its way of
// replacing a file, core/trust and the standard library only.
package cache
