package plugin

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// CrashError says that a backend's process died during a call. The next call
// starts a new one.
type CrashError struct {
	Backend string
	Path    string
	Method  string // the call under way
	Status  string // "signal: killed", "exit status 2"
	Said    string // its last words on stderr, or empty
}

func (e *CrashError) Error() string {
	return fmt.Sprintf("backend %s died during %s (%s; %s); the next compile starts it anew%s",
		e.Backend, e.Method, e.Status, e.Path, e.Said)
}

// callError converts a failed call's error to what Backend's methods promise.
func (b *Backend) callError(ctx context.Context, p *process.Process, method string, err error) error {
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
		return fmt.Errorf("backend %s: %s: %w", b.found.Name, method, err)
	}
	switch st.Code() {
	case codes.Unavailable, codes.Canceled:
		if how, said, died := p.Died(err); died {
			if b.host.isClosed() {
				return fmt.Errorf("backend %s: the session was closed during %s", b.found.Name, method)
			}
			return &CrashError{Backend: b.found.Name, Path: b.found.Path, Method: method, Status: how, Said: said}
		}
	case codes.ResourceExhausted:
		return fmt.Errorf("backend %s: %s: the message is larger than the %d MiB that may cross (%s)",
			b.found.Name, method, sdk.MaxMessageBytes>>20, st.Message())
	case codes.Unimplemented:
		return fmt.Errorf("backend %s does not serve %s", b.found.Name, method)
	}
	return fmt.Errorf("backend %s: %s: %s (%s)", b.found.Name, method, st.Message(), st.Code())
}
