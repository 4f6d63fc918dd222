package sdk

import (
	"context"
	"io"
	"testing"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/device/v1"
)

// pieces is a client that sends what a well-behaved one would not.
type pieces struct {
	grpc.ServerStream
	ctx    context.Context
	left   []*pb.WriteRequest
	answer *pb.WriteResponse
}

func (p *pieces) Context() context.Context { return p.ctx }

func (p *pieces) SendAndClose(r *pb.WriteResponse) error {
	p.answer = r
	return nil
}

func (p *pieces) Recv() (*pb.WriteRequest, error) {
	if len(p.left) == 0 {
		return nil, io.EOF
	}
	first := p.left[0]
	p.left = p.left[1:]
	return first, nil
}

// plain is memory of the test.
type plain []byte

func (m plain) Addr() uint64 { return 256 }
func (m plain) Free() error  { return nil }

func (m plain) Write(_ context.Context, offset int64, p []byte) error {
	copy(m[offset:], p)
	return nil
}

func (m plain) Read(_ context.Context, offset int64, p []byte) error {
	copy(p, m[offset:])
	return nil
}

// TestWriteAnnounced: what arrives must be what was announced, no less, no more.
func TestWriteAnnounced(t *testing.T) {
	header := &pb.WriteHeader{Session: 1, Buffer: 1, Offset: 2, Size: 4}
	for _, tt := range []struct {
		name string
		sent []*pb.WriteRequest
		code codes.Code
	}{
		{"whole", []*pb.WriteRequest{{Header: header, Data: []byte("ab")}, {Data: []byte("cd")}}, codes.OK},
		{"header first", []*pb.WriteRequest{{Header: header}, {}, {Data: []byte("abcd")}}, codes.OK},
		{"less", []*pb.WriteRequest{{Header: header, Data: []byte("ab")}, {Data: []byte("c")}}, codes.DataLoss},
		{"nothing", []*pb.WriteRequest{{Header: header}}, codes.DataLoss},
		{"more", []*pb.WriteRequest{{Header: header, Data: []byte("abcd")}, {Data: []byte("e")}}, codes.InvalidArgument},
		{"no header", []*pb.WriteRequest{{Data: []byte("ab")}}, codes.NotFound},
		{"no message", nil, codes.Unknown},
	} {
		mem := make(plain, 8)
		s := &deviceServer{
			caller:   caller{log: hclog.NewNullLogger(), who: "the test"},
			sessions: map[uint64]*session{1: {buffers: map[uint64]*memory{1: {mem, "x", 8}}}},
		}
		p := &pieces{ctx: t.Context(), left: tt.sent}
		err := s.Write(p)
		if status.Code(err) != tt.code {
			t.Errorf("%s: %v", tt.name, err)
		}
		if tt.code == codes.OK && (p.answer == nil || len(p.answer.GetDiagnostics()) > 0 || string(mem) != "\x00\x00abcd\x00\x00") {
			t.Errorf("%s: %q, %v", tt.name, []byte(mem), p.answer)
		}
		if tt.code != codes.OK && p.answer != nil {
			t.Errorf("%s: it is said to be well", tt.name)
		}
	}
}
