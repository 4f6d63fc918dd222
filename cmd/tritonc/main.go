// Command tritonc compiles Triton kernels. One file a verb; nothing else in the
// tree reads flags or the environment.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/cmd/tritonc/serve"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/core/work"
)

func main() {
	process.Trampoline() // which may make a backend of this process
	work.CollectSeldom()
	env := &environment{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookupEnv: os.LookupEnv, environ: os.Environ(), passes: neutralPasses(),
	}
	if err := checkLimits(); err != nil {
		os.Exit(newReporter(env, os.Args[1:]).error(err))
	}
	ctx, stop := untilSignal()
	code := run(ctx, os.Args[1:], env)
	stop()
	os.Exit(code)
}

// untilSignal returns a context that ends with the first SIGINT or SIGTERM. What
// is under way then comes to an end by itself; a second signal ends the process
// at once, as if nobody caught it.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// environment is all of the outer world that the verbs use, files apart.
type environment struct {
	dir            folder // that the command runs in
	args           []string
	stdin          io.Reader
	input          *inputText // of stdin, once it is read
	inputRead      bool       // whether a file - has been
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	maxMemory      int64 // MiB that a compile may take; see maxmemory.go
	confine        confineFlags
	environ        []string  // for device drivers: vendors have variables of their own
	report         *reporter // of standard error; run makes it
	// call and hosts are a server's, for a command of a client.
	call  *serve.Call
	hosts *hostPool
	// shared are the connections with caches that machines share.
	shared *sharedPool
	// traced is what is told of the command, if the environment wants that.
	traced *traced
	// passes are those that opt runs without a backend.
	passes []*pass.Pass
}

// Exit codes.
const (
	exitOK    = 0
	exitError = 1 // the kernel, the machine, or tritonc itself is at fault
	exitUsage = 2 // the command line is
)

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, env *environment) int {
	env.args, env.report, env.shared = args, newReporter(env, args), &sharedPool{}
	defer env.shared.close()
	root := rootFor(env, args)
	if len(args) == 0 || args[0] != cobra.ShellCompRequestCmd && args[0] != cobra.ShellCompNoDescRequestCmd {
		eachOnce(root) // a completion reads its flags several times
	}
	root.SetArgs(mlirArgs(root, env.passes, args))
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	code := env.report.error(root.ExecuteContext(ctx))
	env.endTrace(code)
	return code
}
