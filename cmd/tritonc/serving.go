package main

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/tritonc/tritonc/cmd/tritonc/serve"
	"github.com/tritonc/tritonc/core"
)

// serveCompile runs a client's command line and returns its exit code. Of server is the
// context of the server.
func serveCompile(ctx, server context.Context, call *serve.Call, hosts *hostPool, shared *sharedPool) (code int) {
	ctx, s := traceCall(ctx, server, call)
	defer func() { endSpan(s, code) }()
	vars := make(map[string]string, len(call.Env))
	for _, kv := range call.Env {
		name, value, ok := strings.Cut(kv, "=")
		if _, twice := vars[name]; ok && !twice { // the first counts, as in a process
			vars[name] = value
		}
	}
	env := &environment{
		dir: folder(call.Dir), args: call.Args, call: call, hosts: hosts, shared: shared,
		stdin: bytes.NewReader(call.Input), stdout: call.Stdout(), stderr: farStderr{call.Stderr(), call.Terminal},
		lookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, environ: call.Env,
	}
	env.report = newReporter(env, call.Args)
	defer shared.leave(env)
	if env.report.tempDir = vars["TMPDIR"]; env.report.tempDir == "" {
		env.report.tempDir = "/tmp" // as os.TempDir has it, whatever variables the server has
	}
	root := bareRoot(env)
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(compileVerb(env))
	eachOnce(root)
	root.SetArgs(call.Args)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	return env.report.error(root.ExecuteContext(ctx))
}

// farStderr is the standard error of a client.
type farStderr struct {
	io.Writer
	terminal bool
}

func (f farStderr) isTerminal() bool { return f.terminal }

// places are those that the command's compiles wait for: those of --jobs, and a
// server's.
func (env *environment) places(jobs int) places {
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	p := places{serve.NewQueue(jobs).Lane()}
	if env.call != nil {
		p = append(p, env.call.Lane)
	}
	return p
}

// places are several lanes, each of which is needed to work.
type places []*serve.Lane

// acquire waits for a place of each; release gives them back.
func (p places) acquire(ctx context.Context) error {
	for i, lane := range p {
		if err := lane.Acquire(ctx); err != nil {
			p[:i].release()
			return err
		}
	}
	return nil
}

func (p places) release() {
	for _, lane := range p {
		lane.Release()
	}
}

// count tells a server's metrics of a kernel.
func (env *environment) count(k *core.Kernel) {
	if env.call == nil {
		return
	}
	stages := map[string]time.Duration{}
	for _, t := range k.Timings {
		if t.Step == "" {
			stages[t.Stage] += t.Time
		}
	}
	_, cached := stages["cache"]
	_, shared := stages["shared cache"]
	cached = cached || shared
	env.call.Compiled(cached, stages)
}

// write puts files into a folder, all or none: a client's where there is one.
func (env *environment) write(folder string, files []outFile) error {
	if env.call == nil {
		return writeFiles(folder, files)
	}
	list := make([]serve.File, len(files))
	for i, f := range files {
		list[i] = serve.File{Name: f.name, Data: f.data}
	}
	return env.call.WriteFiles(folder, list)
}
