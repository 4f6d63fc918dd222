package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/tritonc/tritonc/cmd/tritonc/serve"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/span"
	"github.com/tritonc/tritonc/core/trust"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// socketVar names the socket of a server, or is serverOff.
const (
	socketVar = "TRITONC_SOCKET"
	serverOff = "off"
)

// serverSocket is where a server listens; empty where none may.
func serverSocket(env *environment) string {
	switch path := variable(env, socketVar); path {
	case "":
		return serve.SocketPath(env.lookupEnv)
	case serverOff:
		return ""
	default:
		return path
	}
}

// reportedCode is the error of a command that a server ran, which has reported.
type reportedCode int

func (c reportedCode) Error() string { return "reported by a server" }

// askServer has a server run the command, if one is there. It reports whether the server
// did; what went wrong then is err. The command is checked already as far as that needs
// no file.
func (f *compileFlags) askServer(ctx context.Context, env *environment, files []string) (served bool, err error) {
	if f.noServer || f.farm || env.call != nil {
		return false, nil
	}
	socket := serverSocket(env)
	if socket == "" {
		return false, nil
	}
	client, err := serve.Dial(socket)
	var bad *trust.Error
	switch {
	case errors.Is(err, serve.ErrNoServer):
		return false, nil
	case errors.As(err, &bad):
		d := diag.Errorf(diag.Pos{}, "the server is not used: %v", bad)
		d.Severity = diag.Warning
		env.report.located(categoryEnvironment, d.WithHelp("%s, or leave it out with --no-server", bad.Help))
		return false, nil
	case err != nil:
		return false, err
	}
	defer client.Close()
	log := newLogger(env, f.verbose)
	req, why := f.toServer(env, files)
	if why != "" {
		log.Debug("the server is not used", "socket", socket, "reason", why)
		return false, nil
	}
	sink := &serverSink{env: env, live: f.verbose > 0}
	in, s := span.StartKind(ctx, span.Client, "compile by a server")
	req.Env = withParent(in, req.Env)
	code, err := client.Compile(in, req, sink)
	s.End(err)
	sink.endBar()
	var refused *serve.RefusedError
	switch {
	case ctx.Err() != nil:
		sink.flush(false)
		return true, ctx.Err()
	case errors.As(err, &refused):
		log.Debug("the server is not used", "socket", socket, "reason", refused.Reason)
		return false, nil
	case errors.Is(err, serve.ErrDied):
		env.report.note("the server at %s ended while it compiled; it is compiled here", socket)
		log.Debug("the server ended", "error", err)
		return false, nil
	case err != nil:
		return true, err
	}
	if err := sink.flush(true); err != nil {
		return true, err
	}
	return true, reportedCode(code)
}

// toServer is the command for a server, or says why it is for none: a server has
// another folder, and what it finds by these variables it names as it finds it.
func (f *compileFlags) toServer(env *environment, files []string) (req *serve.Request, why string) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err.Error()
	}
	relative := func(path string) bool { return path != "" && !filepath.IsAbs(path) }
	for _, name := range []string{cacheDirVar, backendPathVar, "HOME", "TMPDIR"} {
		if slices.ContainsFunc(filepath.SplitList(variable(env, name)), relative) {
			return nil, name + " has a path that is relative to the folder"
		}
	}
	req = &serve.Request{Build: sdk.ProgramHash(), Args: env.args, Dir: dir, Env: env.environ, Terminal: isTerminal(env.stderr)}
	if slices.Contains(files, "-") {
		if req.Input, err = env.readInput(); err != nil {
			return nil, "standard input cannot be read" // which the command is told as ever
		}
	}
	return req, ""
}

// serverSink takes what a server puts out. It shows nothing of that before the command
// has ended, so that the command can be run here if the server dies; but what is
// logged, where the user asks for that, appears as it comes.
type serverSink struct {
	env  *environment
	live bool
	did  []output

	bar  progress
	took func() // takes the bar away, if there is one
}

// output is one thing that a command put out: a piece of a stream, or files.
type output struct {
	stdout bool
	text   []byte
	folder string
	files  []outFile // of neither stream, if there are any
}

func (s *serverSink) add(stdout bool, p []byte) {
	if n := len(s.did); n > 0 && s.did[n-1].files == nil && s.did[n-1].stdout == stdout {
		s.did[n-1].text = append(s.did[n-1].text, p...)
		return
	}
	s.did = append(s.did, output{stdout: stdout, text: bytes.Clone(p)})
}

// Stdout implements serve.Sink.
func (s *serverSink) Stdout(p []byte) error {
	s.add(true, p)
	return nil
}

// Stderr implements serve.Sink.
func (s *serverSink) Stderr(p []byte) error {
	if s.live {
		_, err := s.env.stderr.Write(p)
		return err
	}
	s.add(false, p)
	return nil
}

// WriteFiles implements serve.Sink.
func (s *serverSink) WriteFiles(folder string, files []serve.File) error {
	list := make([]outFile, len(files))
	for i, f := range files {
		list[i] = outFile{f.Name, f.Data}
	}
	s.did = append(s.did, output{folder: folder, files: list})
	return nil
}

// Progress implements serve.Sink.
func (s *serverSink) Progress(done, total int) {
	if s.took == nil {
		s.took = s.bar.start(s.env.report.screen(), "compiling", "kernels")
	}
	s.bar.update(done, total)
}

// endBar takes the bar away.
func (s *serverSink) endBar() {
	if s.took != nil {
		s.took()
	}
}

// flush puts out what came, in its order; without all, what is for standard error.
func (s *serverSink) flush(all bool) error {
	for _, o := range s.did {
		var err error
		switch {
		case o.files != nil:
			if all {
				err = writeFiles(o.folder, o.files)
			}
		case !o.stdout:
			_, err = s.env.stderr.Write(o.text)
		case all:
			_, err = s.env.stdout.Write(o.text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
