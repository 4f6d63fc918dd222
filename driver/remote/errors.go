package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// explain converts a failed call's error to a diag.List for a user's mistake,
// ctx's error, or one that says what happened to the driver.
func (d *Driver) explain(ctx context.Context, p *process.Process, method string, err error) error {
	if err == nil {
		return nil
	}
	who := "device driver " + d.found.Name
	var diags sdk.Diagnostics
	if errors.As(err, &diags) {
		return fromSDK(who, diags)
	}
	if process.Ended(ctx, err) {
		return ctx.Err()
	}
	st, isStatus := status.FromError(err)
	if !isStatus {
		return fmt.Errorf("%s: %s: %w", who, method, err)
	}
	if st.Code() == codes.Aborted {
		d.forget(p) // the launch that lost it ends it, once its answer is here
	}
	if lost := d.lost(p); lost != nil {
		return lost
	}
	if process.Broken(err) {
		end, died := p.Died(err)
		d.drop(p)
		if died {
			return fmt.Errorf("%s died during %s (%s; %s)%s", who, method, end.How, d.found.Path, end.Said)
		}
	}
	switch st.Code() {
	case codes.ResourceExhausted:
		return fmt.Errorf("%s: %s: the message is larger than the %d MiB that may cross (%s)", who, method, host.MaxMessageBytes>>20, st.Message())
	case codes.OutOfRange:
		return errors.New(st.Message())
	}
	return fmt.Errorf("%s: %s: %s (%s)", who, method, st.Message(), st.Code())
}

// fromSDK parts what the user did wrong from all else.
func fromSDK(who string, l sdk.Diagnostics) error {
	var user diag.List
	var other []error
	for i := range l {
		if l[i].Kind == sdk.User {
			user = append(user, wire.FromSDK(&l[i]))
			continue
		}
		text := l[i].Message
		if l[i].Help != "" {
			text += "\n  help: " + strings.ReplaceAll(l[i].Help, "\n", "\n        ")
		}
		for k := range l[i].Notes {
			text += "\n" + l[i].Notes[k].Message
		}
		other = append(other, fmt.Errorf("%s: %s", who, text))
	}
	if len(other) > 0 {
		return errors.Join(other...)
	}
	return user
}
