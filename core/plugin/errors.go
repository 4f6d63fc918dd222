package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// CrashError says that a backend's process died during a call. The next call
// starts a new one.
type CrashError struct {
	Backend string
	Path    string
	Phase   string // the call under way, and its stage if that is known
	Kernel  string // that the call was for, or empty
	Status  string // "signal: killed", "exit status 2"
	Killed  bool   // by somebody else: SIGKILL or SIGTERM
	Again   bool   // in a process that was started because another had died
	Memory  int64  // bytes that it was allowed, or 0
	Said    string // its last words on stderr, or empty
}

func (e *CrashError) Error() string {
	twice, next, status := "", "", e.Status
	if e.Again {
		twice, next = ", as it did before", "; the next compile starts it anew"
	}
	if e.Memory > 0 && !e.Killed {
		status += fmt.Sprintf(", with %d MiB of memory allowed", e.Memory>>20)
	}
	return fmt.Sprintf("backend %s died during %s%s%s (%s; %s)%s%s",
		e.Backend, e.Phase, forKernel(e.Kernel), twice, status, e.Path, next, e.Said)
}

// TimeoutError says that a call took longer than Options.CallTimeout.
type TimeoutError struct {
	Backend string
	Phase   string
	Kernel  string
	Limit   time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("backend %s was stopped after %s in %s%s, the time limit of a call", e.Backend, e.Limit, e.Phase, forKernel(e.Kernel))
}

func forKernel(name string) string {
	if name == "" {
		return ""
	}
	return " of the kernel " + name
}

// callError converts a failed call's error to what Backend's methods promise.
func (b *Backend) callError(ctx context.Context, p *process.Process, t *task, err error) error {
	if err == nil {
		return nil
	}
	var diags sdk.Diagnostics
	if errors.As(err, &diags) {
		return wire.ErrorFromSDK(b.found.Name, diags)
	}
	if process.Ended(ctx, err) {
		return ctx.Err()
	}
	st, isStatus := status.FromError(err)
	if !isStatus {
		return fmt.Errorf("backend %s: %s: %w", b.found.Name, t.phase()+forKernel(t.kernel), err)
	}
	switch st.Code() {
	case codes.Unavailable, codes.Canceled:
		if end, died := p.Died(err); died {
			if b.host.isClosed() {
				return fmt.Errorf("backend %s: the session was closed during %s", b.found.Name, t.phase())
			}
			return &CrashError{
				Backend: b.found.Name, Path: b.found.Path, Phase: t.phase(), Kernel: t.kernel,
				Status: end.How, Killed: end.Killed, Memory: b.host.opts.Confine.Memory, Said: end.Said,
			}
		}
	case codes.ResourceExhausted:
		return fmt.Errorf("backend %s: %s: the message is larger than the %d MiB that may cross (%s)",
			b.found.Name, t.phase()+forKernel(t.kernel), host.MaxMessageBytes>>20, st.Message())
	case codes.Unimplemented:
		return fmt.Errorf("backend %s does not serve %s", b.found.Name, t.method)
	}
	return fmt.Errorf("backend %s: %s: %s (%s)", b.found.Name, t.phase()+forKernel(t.kernel), st.Message(), st.Code())
}
