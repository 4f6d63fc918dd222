package plugin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// startError explains why a program did not become a plugin. go-plugin's own
// texts are for plugin authors; only what they say is used.
func (b *Backend) startError(c *child, err error) error {
	who := fmt.Sprintf("backend %s (%s)", b.found.Name, b.found.Path)
	line, printed := c.first.line()
	parts := strings.Split(line, "|")
	switch {
	case strings.Contains(err.Error(), "timeout while waiting"):
		return fmt.Errorf("%s did not answer within %s of its start%s", who, b.host.opts.StartTimeout, c.said.String())
	case printed && len(parts) >= 4 && parts[0] == "1":
		if v, verr := strconv.Atoi(parts[1]); verr == nil && v != sdk.ProtocolVersion {
			return fmt.Errorf("%s speaks version %d of the plugin protocol, this tritonc version %d; build it with the matching plugin-sdk", who, v, sdk.ProtocolVersion)
		}
		return fmt.Errorf("%s: %w", who, err)
	case printed:
		return fmt.Errorf("%s printed %q to its standard output before the handshake; sdk.Serve must be the first statement of its main", who, shorten(line, 200))
	case c.ID() == "":
		return fmt.Errorf("%s cannot be run: %w", who, err)
	}
	return fmt.Errorf("%s ended before the handshake (%s)%s", who, c.ended(), c.said.String())
}

// callError turns a failed call's error into what Backend's methods promise.
func (b *Backend) callError(ctx context.Context, p *process, method string, err error) error {
	if err == nil {
		return nil
	}
	var diags sdk.Diagnostics
	if errors.As(err, &diags) {
		return wire.ErrorFromSDK(b.found.Name, diags)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	st, isStatus := status.FromError(err)
	if !isStatus {
		return fmt.Errorf("backend %s: %s: %w", b.found.Name, method, err)
	}
	switch st.Code() {
	case codes.Unavailable, codes.Canceled:
		if p.child.awaitExit(500 * time.Millisecond) {
			if b.host.isClosed() {
				return fmt.Errorf("backend %s: the session was closed during %s", b.found.Name, method)
			}
			return &CrashError{
				Backend: b.found.Name, Path: b.found.Path, Method: method,
				Status: p.child.ended(), Said: p.child.said.String(),
			}
		}
	case codes.ResourceExhausted:
		return fmt.Errorf("backend %s: %s: the message is larger than the %d MiB that may cross (%s)",
			b.found.Name, method, sdk.MaxMessageBytes>>20, st.Message())
	case codes.Unimplemented:
		return fmt.Errorf("backend %s does not serve %s", b.found.Name, method)
	}
	return fmt.Errorf("backend %s: %s: %s (%s)", b.found.Name, method, st.Message(), st.Code())
}

// broken reports whether err, of a call whose ctx lives, means that the
// connection is gone.
func broken(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.Canceled
}

func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
