// Package measure has launches measured by devices of a farm.
//
// Main types: Type (what devices must have in common for their times to be compared),
// Device (a tune.Measurer that stands for all of a type), Handler (a worker's, which
// measures by its device), Contents (bytes that tasks refer to).
//
// # Types
//
// A type is a class of farm/work: the properties of a device, among them name and memory,
// and the driver that measures with its version. A worker announces the type of its
// device, again and again, and takes tasks of that alone. A client reads which types
// there are, and compiles for the properties of the one that it chooses.
//
// # Tasks
//
// A task is JSON: trials, each with binary, grid, arguments and the contents of memory,
// how long is measured, and in how many rounds. A task is measured by one device from its
// first trial to its last, so that their times can be compared. Large contents, arrays
// mostly, lie in a bucket of objects by their digest; a client sends each once, and a
// worker keeps those that it read last. Addresses of a client's buffers are made up: an
// argument that lies in one is sent as buffer and offset, and a worker allocates, fills
// and frees the memory for each trial.
//
// A result is the times. They differ each time, so that of a task that was measured twice,
// because its worker was given up too early, the first result counts (work.Measured); no
// two tasks are equal (nonce), and none is measured twice to compare.
//
// # What goes wrong
//
// What is wrong with a kernel (a fault, too little shared memory) is a result, and the
// configuration has no time. After a fault, or an error after which its memory cannot be
// used, a worker opens its device anew; what was the device's own fault goes back to the
// queue for another. A worker whose device cannot be opened ends.
//
// The package imports the packages of driver, farm/bus and farm/work.
package measure
