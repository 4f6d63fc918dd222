// Package compile makes tasks of compiles, and kernels of what comes of them. A farm's
// workers do the tasks (farm/work).
//
// Main types: Request (one variant of a file for one target, with all that it reads),
// Modules (which files a Python file asked for), Farm (a client that compiles), Handler
// (a worker that does).
//
// A Request has the texts of files and not their paths alone, so that workers read no
// file of a client's. It is JSON, compressed. Which modules a file imports the front end
// knows when it evaluates the file: a Request has those that the client's was asked for
// when it made the list of variants. If a worker is asked for another it answers so, and
// the client sends that, too; later variants of the file have it at once.
//
// A worker makes the list of variants anew and compiles the one with the key that the
// Request has. An answer has the kernel as core.Compile returns it, less times and the
// paths of tools. Diagnostics name files as the client does, since the Request has these
// names.
//
// What is compiled by an option that names files or arguments of a tool
// (sdk.OptionSpec.CallerOnly) is compiled by the client, and a worker refuses it: nobody
// but its own user says which files it opens.
//
// The package imports core and farm/work.
package compile
