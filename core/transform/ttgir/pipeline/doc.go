// Package pipeline has the passes that start work iterations before its use:
//
//	tritongpu-assign-latencies      which loads start early, and how many iterations
//	tritongpu-schedule-loops        a stage, and a place in the iteration, for each operation
//	tritongpu-pipeline              loads as asynchronous copies, stages in different iterations
//	tritongpu-prefetch              the first part of a dot's operands an iteration early
//	tritongpu-coalesce-async-copy   layouts of copies that their buffers can take
//
// and, for tests, tritongpu-test-pipeline-lower-loop, what the third does before stages run
// in different iterations.
//
// Between the first three, latencies, stages and clusters are attributes of the
// operations; schedule.go is the schedule as data. lowerloads.go makes copies of
// loads, blockcopies.go asks the target for those through descriptors, asyncdots.go for
// the latencies of its dots, descriptors.go has places for descriptors that loops make,
// expandloop.go runs stages in different iterations, drain.go ends the last ones after the
// loop, staging.go is the schedule for targets with passes of their own, predicate.go switches off
// what works for iterations that do not exist; carrybuffers.go rotates a pipelined
// loop for prefetch.go.
//
// The package uses machine, tensors, sharedmem, dots, forloop and masks of those beside
// it, and no other package of passes.
package pipeline
