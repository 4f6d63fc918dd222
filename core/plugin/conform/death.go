package conform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// toolsEnd is how long tools may live after their call was cancelled. On a busy machine
// one try may find them late, so that only several say something.
const (
	toolsEnd = 200 * time.Millisecond
	tries    = 3
)

// cutTools cancels compiles while tools run for them.
func cutTools(ctx context.Context, s *suite) (string, error) {
	if err := s.needGolden(); err != nil {
		return "", err
	}
	dir := filepath.Join(s.opts.TempDir, "cut")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	h, b, err := s.start(dir)
	if err != nil {
		return "", err
	}
	defer h.Close()
	if _, err := s.compile(ctx, b, goldens[0].ttir()); err != nil { // starts it
		return "", err
	}
	own, err := running(dir) // what it keeps is its own affair
	if err != nil {
		return "", err
	}
	met := 0
	var left []string
	for i := len(goldens) - 1; i >= 0 && met < tries; i-- {
		if s.compiled[goldens[i].name] == nil {
			continue
		}
		found, still, err := s.cut(ctx, b, dir, len(own), goldens[i].ttir())
		switch {
		case err != nil:
			return "", err
		case found && len(still) == 0:
			return "", nil
		case found:
			met++
			left = still
		}
	}
	if met > 0 {
		return "", fmt.Errorf("%s after a call was cancelled tools of it still ran: %s; give each a process group of its own and kill the group", toolsEnd, strings.Join(left, ", "))
	}
	return "it runs no tools that live long enough to be met", nil
}

// cut compiles, and cancels once there are more processes than before. found says
// whether there were, left are those that lived on.
func (s *suite) cut(ctx context.Context, b *plugin.Backend, dir string, before int, ttir []byte) (found bool, left []string, err error) {
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := s.compile(call, b, ttir)
		done <- err
	}()
	for !found {
		select {
		case err := <-done:
			return false, nil, err
		default:
		}
		list, err := running(dir)
		if err != nil {
			return false, nil, err
		}
		found = len(list) > before
	}
	cancel()
	time.Sleep(toolsEnd)
	if left, err = running(dir); err != nil || len(left) <= before {
		return true, nil, err
	}
	return true, left, nil
}

// crash kills a process while it compiles: the next one must not mind what it left.
func crash(ctx context.Context, s *suite) (string, error) {
	if err := s.needGolden(); err != nil {
		return "", err
	}
	dir := filepath.Join(s.opts.TempDir, "crash")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	p, err := s.startBare(ctx, dir)
	if err != nil {
		return "", err
	}
	s.keepBusy(ctx, p)
	p.Kill()
	p.Stop()
	h, b, err := s.start(dir)
	if err != nil {
		return "", err
	}
	defer h.Close()
	bounded, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	data, err := s.compile(bounded, b, goldens[0].ttir())
	return "", s.same(data, err, "after another process was killed in a compile")
}

// keepBusy has a backend's process compile, for a moment at least.
func (s *suite) keepBusy(ctx context.Context, p *process.Process) {
	client, ok := p.Client().(*host.Client)
	if !ok || s.golden == nil {
		return
	}
	go func() {
		// It ends with the process, or with us.
		_, _ = client.RunStages(ctx, s.request(0, s.final, goldens[0].ttir(), ""))
	}()
	time.Sleep(20 * time.Millisecond)
}

// lastWords is how long a program may outlive its host.
const lastWords = time.Second

// hostsDeath cuts the lifelines of new processes, as the death of a host does.
func hostsDeath(ctx context.Context, s *suite) (string, error) {
	var ended []string
	if s.facts != nil {
		if err := s.outlives(ctx, "backend", s.startBare); err != nil {
			return "", fmt.Errorf("the backend: %w", err)
		}
		ended = append(ended, "the backend")
	}
	if s.dev != nil && len(s.dev.list) > 0 {
		if err := s.outlives(ctx, "driver", s.startDriver); err != nil {
			return "", fmt.Errorf("the driver: %w", err)
		}
		ended = append(ended, "the driver")
	}
	if len(ended) == 0 {
		return "", skip("it did not start")
	}
	return strings.Join(ended, ", "), nil
}

// startBare starts a process of the backend outside of a host, which would start
// another one.
func (s *suite) startBare(ctx context.Context, tempDir string) (*process.Process, error) {
	var env []string
	for _, name := range []string{"PATH", "HOME", "XDG_CACHE_HOME"} {
		if v, ok := s.opts.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return process.Start(ctx, process.Found{Name: s.name, Path: s.opts.Program}, process.Config{
		Kind: "backend", Handshake: host.Handshake, PluginName: host.PluginName,
		Versions: map[int]goplugin.Plugin{host.ProtocolVersion: &host.BackendPlugin{}}, Env: env,
		Logger: hclog.NewNullLogger(), StartTimeout: 10 * time.Second, TempDir: tempDir,
	})
}

// outlives starts a process, has it do something, and cuts its lifeline.
func (s *suite) outlives(ctx context.Context, what string, start func(context.Context, string) (*process.Process, error)) error {
	dir := filepath.Join(s.opts.TempDir, what)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	p, err := start(ctx, dir)
	if err != nil {
		return err
	}
	defer p.Stop()
	call, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	s.keepBusy(call, p)
	begin := time.Now()
	p.CutLifeline()
	if !p.AwaitExit(lastWords) {
		return fmt.Errorf("it lives %s after its host died: read the descriptor that %s names, and end when that ends", lastWords, host.EnvLifeline)
	}
	left, err := processesOf(dir)
	switch {
	case errors.As(err, new(skip)):
		return nil
	case err != nil:
		return err
	case len(left) > 0:
		return fmt.Errorf("%s after its host died it left processes: %s", time.Since(begin).Round(time.Millisecond), strings.Join(left, ", "))
	}
	return nil
}
