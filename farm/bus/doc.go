// Package bus is one connection to NATS JetStream: where the servers are, who we are to
// them, and the streams and buckets that tritonc keeps there.
//
// Main types: Options (what a user says of the servers), Bus (the connection), Spec (a
// stream or bucket to have), Error (what went wrong, and what to do about it).
//
// Invariants:
//   - every name on the server begins with tritonc_v1_, and the subjects with
//     tritonc.v1.: programs that speak of other versions do not meet;
//   - a stream or bucket is used only if it carries our mark and the form that the
//     caller knows. One of another form is an Error, and is left as it is;
//   - nothing waits longer than its context, and Connect no longer than
//     Options.Timeout besides;
//   - times are the server's: no clock of a client decides on anything.
//
// There is no protocol here, no queue and no consensus: those are JetStream's. The
// package imports core/diag and nats.go.
package bus
