// Package plugin is the host's half of the contract with backends: it speaks
// with their programs, which package process finds, starts and ends.
//
// Main types: Host (the backends of a session), Backend (one of them: a typed
// client that starts its process on the first call and again after a crash),
// Options (where to look, the environment to hand on), Choice (which of several
// backends to take), Description (what is remembered of a program).
//
// Invariants:
//   - one process a backend a session, shared by concurrent calls;
//   - a backend that crashes, hangs at its start or speaks another protocol
//     gives one clear error, and the next call starts it anew;
//   - a program that is known is started for its own work only, and one that does
//     not answer delays what others do once, by DescribeTimeout;
//   - of several backends for a target none is taken unless one is chosen;
//   - a call whose process dies runs once more in a new one, and no more often;
//   - no process, tool or socket outlives the host: Close ends them, and when
//     the host is killed the plugins see their lifeline pipe end;
//   - a plugin sees a short list of environment variables and no stdin.
//
// Only cmd reads the environment, so the functions here get it as a lookup
// function. The package imports core/diag, core/filememo, the SDK and what is
// below it.
package plugin
