// Package golden runs tests whose inputs and expected outputs lie together in
// txtar archives, one test an archive.
//
// An archive's first comment line says why the test exists. Its sections are
// read with [Case.Input] or compared with [Case.Want]; a section that the test
// did neither with is stale and fails it, so expectations cannot rot unseen.
// With TRITONC_UPDATE=1 in the environment the expected sections are rewritten
// with what the test produced, stale ones are dropped, and a diff of the
// repository shows what changed.
//
// Only tests import this package; it imports nothing of ours.
package golden
