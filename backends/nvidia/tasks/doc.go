// Package tasks has the passes that say which task of a warp-specialized kernel runs
// each operation, by the attribute async_task_id:
//
//	nvgpu-test-ws-task-partition   loads of operands are task 0, dots and stores the others
//	nvgpu-test-taskid-propagate    what these need runs in the same tasks
//	nvgpu-test-ws-data-partition   dots of several tasks are divided among these
//	nvgpu-test-ws-code-partition   each task gets warps of its own, and buffers to others
//
// They are the steps of Triton 3.6's design for Hopper, under the names of its
// tests. Package warpspec, which the pipeline has, divides kernels by a design of its
// own.
package tasks
