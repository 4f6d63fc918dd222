package main

import (
	"context"
	"errors"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/farm/sign"
	"github.com/tritonc/tritonc/farm/times"
)

// timesToKeep opens the farm's times for who adds some, which the user's key signs. It is
// nil, with a warning, where the project takes signed times alone and there is no key.
func (s *farmSettings) timesToKeep(ctx context.Context, env *environment, b *bus.Bus) (*times.Store, error) {
	key, err := s.signingKey(env)
	if err != nil {
		return nil, err
	}
	if key == nil && len(s.table.Trusted) > 0 {
		d := diag.Errorf(s.table.Trusted[0].Pos, "the farm does not keep these times: the project takes signed ones alone, and there is no key here")
		d.Line, d.Severity = s.file.Line(d.Pos.Line), diag.Warning
		env.report.aside(d.WithHelp("sign in the table [farm], or %s, names the file of a key; tritonc cache key FILE makes one", farmKeyVar))
		return nil, nil
	}
	return times.Open(ctx, b, times.Config{Sign: key})
}

// timesToTake opens the farm's times for who reads some: those of the signers whom the
// project lists, and the user's own, or of anybody where it lists nobody.
func (s *farmSettings) timesToTake(ctx context.Context, env *environment, b *bus.Bus) (*times.Store, error) {
	trusted := s.trusted()
	if len(trusted) > 0 {
		key, err := s.signingKey(env)
		if err != nil {
			return nil, err
		}
		if key != nil && !trusted.Knows(key.Public()) {
			own, err := sign.ParseTrusted("own", key.Public())
			if err != nil {
				return nil, err
			}
			trusted = append(trusted, own...)
		}
	}
	return times.Open(ctx, b, times.Config{Trusted: trusted})
}

// refusedTimes says why times of a kernel are not taken.
func (s *farmSettings) refusedTimes(kernel string, reasons []error) *diag.Diagnostic {
	d := s.Errorf("times of '%s' at %s are refused: %v", kernel, s.Servers(), reasons[0])
	if unknown := (*sign.UnknownError)(nil); errors.As(reasons[0], &unknown) {
		return d.WithHelp("if you know whose key it is, list it in the table [farm.trusted] of tritonc.toml; tritonc tune --farm measures them anew")
	}
	return d.WithHelp("tritonc tune --farm measures them anew, and signs them by the key that sign in the table [farm] of tritonc.toml names")
}
