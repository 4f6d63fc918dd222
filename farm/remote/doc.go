// Package remote is the cache that machines share, in buckets of NATS JetStream: a
// cache.Shared.
//
// Main types: Store, Options, Verdict (what a look at every entry found).
//
// What is where:
//
//	objects  tritonc_v1_kernels  entries, by their keys in hex, signed
//	keys     tritonc_v1_index    indexes, by their keys in hex, signed
//	keys     tritonc_v1_claims   "held OWNER": who makes something; goes by age unless it is
//	                             renewed. "kept REVISION": it is in the index since
//	subject  tritonc.v1.claim.KEY   tells those who wait that a claim has ended
//
// Invariants:
//   - no method waits longer for the server than Options.Wait, and somebody else's work
//     at most Options.Patience. A server that fails is left alone for Options.Off, by all
//     processes of the machine, and the user is told once;
//   - what is returned was signed for its kind and key by somebody whom Options.Trusted
//     has;
//   - an entry is written before the index that names it, and both before its claim ends;
//   - claims and ages are by the server's clock;
//   - where there is no room, the oldest entries go.
//
// The package imports core/cache, core/diag, core/filememo, farm/bus and farm/sign.
package remote
