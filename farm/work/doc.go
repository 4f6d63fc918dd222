// Package work has tasks done by whoever can, anywhere: a queue on NATS JetStream,
// workers that pull from it, and clients that wait for results. It knows nothing of
// what a task is.
//
// Main types: Queue (the streams and buckets), Class (what a worker must be to make the
// same bytes), Task and Result, Worker, Client, Status.
//
// # What lies where
//
//	stream  tasks    tritonc.v1.task.CLASS.KEY    work-queue retention, one message per subject
//	stream  results  tritonc.v1.result.CLASS.KEY  one message per subject, the oldest go first
//	bucket  classes  CLASS                        what the class is
//	bucket  workers  WORKER                       what the worker does; expires unless it is renewed
//	bucket  tries    KEY                          what went wrong with a task that was tried
//	objects results  DIGEST                       results that are too large for a message
//
// # The life of a task
//
// A client derives the key from the content of the task, so that equal tasks have equal
// keys, and looks for a result first. Then it publishes the task. The stream takes one
// message per subject and refuses a second, so that a task that is queued or under way
// is not queued again, whoever asks. (Message ids would refuse it for a time, also after
// its result is gone.)
//
// Each class has one pull consumer, which its workers share. A worker learns of classes
// from their bucket and takes part in those whose results it makes byte for byte. While
// it holds a task it tells the server so every third of AckWait; a worker that died,
// hangs as a whole, or lost the network does not, and the task goes to another. A task
// that runs longer than TaskTimeout is stopped, and counts as a failed try. The server
// counts deliveries, and from the second one on a worker notes that it begins the task.
// After Tries of them the next worker gives the task up: it makes a result that says what
// happened. From the last try on a task is done alone, so that it is not given up for the
// worker's death of another one. The consumer has no limit of deliveries of its own,
// since a message beyond it would stay in the queue with nobody to tell of it.
//
// The worker stores the result, then acknowledges the task. A result is stored if there
// is none, which the server decides (expected last sequence per subject 0). So of a task
// that was done twice one result is kept, and a task whose acknowledgement was lost is
// found done. Two results of one key must have the same digest; where they differ, the
// second worker replaces the result by one that says so.
//
// A client follows the headers of results of its classes by an ordered consumer, and
// reads the results that it waits for. It does not rely on it: a task that it waits for
// it looks for again now and then, and publishes again if there is neither a result nor
// a queued task. Losing a message, a server or a whole stream delays a result. Each
// waiter gets one result.
//
// A sample of tasks, chosen by their keys, is done once more by another worker, if there
// is one, and the client compares the digests before it returns a result. If they differ
// it deletes both results and returns a *MismatchError.
//
// # Trust
//
// A worker signs what its result is of: class, key, kind and digest. A client that has a
// Verifier refuses results of unknown signers. Who may publish and read is the affair of
// the server's accounts.
//
// The package imports farm/bus and nothing of the compiler.
package work
