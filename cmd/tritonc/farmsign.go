package main

import (
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/farm/sign"
	farm "github.com/tritonc/tritonc/farm/work"
)

// trusted are the signers whose kernels the project takes.
func (s *farmSettings) trusted() (list sign.Trusted) {
	for _, t := range s.table.Trusted {
		list = append(list, sign.Trustee{Name: t.Name, Key: t.Key})
	}
	return list
}

// verifier checks what workers compiled; nil where the project lists no signers.
func (s *farmSettings) verifier() farm.Verifier {
	if list := s.trusted(); len(list) > 0 {
		return list
	}
	return nil
}

// signer signs what a worker compiles; nil without a key. Where the project lists signers,
// and this worker is not one of them, nobody would take what it compiles.
func (s *farmSettings) signer(env *environment) (farm.Signer, error) {
	key, err := s.signingKey(env)
	if err != nil {
		return nil, err
	}
	at := func(pos diag.Pos, format string, args ...any) *diag.Diagnostic {
		d := diag.Errorf(pos, format, args...)
		d.Line = s.file.Line(pos.Line)
		return d
	}
	list := s.trusted()
	switch {
	case key == nil && len(list) > 0:
		return nil, at(s.table.Trusted[0].Pos, "the project takes signed kernels alone, and this worker has no key").
			WithHelp("sign in the table [farm], or %s, names the file of its key; tritonc cache key FILE makes one", farmKeyVar)
	case key == nil:
		return nil, nil
	case len(list) > 0 && !list.Knows(key.Public()):
		return nil, at(s.table.Trusted[0].Pos, "the key of this worker is not one of those that the project takes kernels from").
			WithHelp("a line of the table [farm.trusted]: NAME = %q", key.Public())
	}
	return key, nil
}
