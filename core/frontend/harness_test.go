package frontend

import (
	"context"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
)

// setup is what a test builds a kernel with.
type setup struct {
	Facts                   *Facts // nil: of no target
	Define                  []Definition
	Debug, SanitizeOverflow bool
	NumWarps                int
	Print                   func(text string)
	Warn                    func(d *diag.Diagnostic)
}

// in is a file as a setup has it.
func (s *setup) in(f *File) *Program {
	env := Environment{Define: s.Define}
	if s.Facts != nil {
		env.Facts = func(context.Context) (*Facts, error) { return s.Facts, nil }
	}
	return f.In(env)
}

// build compiles the first variant of a request.
func (s *setup) build(f *File, req *Request) (*ir.Operation, error) {
	p := s.in(f)
	variants, err := p.Variants(context.Background(), req)
	if err != nil {
		return nil, err
	}
	return s.buildVariant(p, variants[0])
}

func (s *setup) buildVariant(p *Program, v *Variant) (*ir.Operation, error) {
	return p.Build(context.Background(), dialect.NewContext(), v, &Options{
		NumWarps: s.NumWarps, Debug: s.Debug, SanitizeOverflow: s.SanitizeOverflow, Print: s.Print, Warn: s.Warn,
	})
}

// request asks for one signature of a kernel.
func request(kernel, signature string) *Request {
	if signature == "" {
		signature = " " // else it is that of a comment
	}
	return &Request{Kernel: kernel, Signature: signature}
}
