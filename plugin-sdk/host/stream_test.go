package host

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// tape is both ends of a stream, and remembers what went over it.
type tape[R, E proto.Message] struct {
	grpc.ClientStream
	requests []R
	events   []E
	closed   bool
}

func (t *tape[R, E]) Send(r R) error {
	t.requests = append(t.requests, proto.CloneOf(r))
	return nil
}

func (t *tape[R, E]) CloseSend() error {
	t.closed = true
	return nil
}

func (t *tape[R, E]) Recv() (e E, err error) { return next(&t.events) }

// serverTape is a tape as a server sees it.
type serverTape[R, E proto.Message] struct {
	grpc.ServerStream
	*tape[R, E]
	ctx context.Context
}

func (t serverTape[R, E]) Context() context.Context { return t.ctx }

func (t serverTape[R, E]) Send(e E) error {
	t.events = append(t.events, proto.CloneOf(e))
	return nil
}

func (t serverTape[R, E]) Recv() (R, error) { return next(&t.requests) }

// next takes the first of a list.
func next[M any](list *[]M) (m M, err error) {
	if len(*list) == 0 {
		return m, io.EOF
	}
	m, *list = (*list)[0], (*list)[1:]
	return m, nil
}

// Tapes of the two calls that stream.
type (
	stagesTape       = tape[*pb.RunStagesRequest, *pb.RunStagesEvent]
	stagesServerTape = serverTape[*pb.RunStagesRequest, *pb.RunStagesEvent]
	passesTape       = tape[*pb.RunPassesRequest, *pb.RunPassesEvent]
	passesServerTape = serverTape[*pb.RunPassesRequest, *pb.RunPassesEvent]
)

// noise is n bytes that repeat late.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// wholly compares large data fast.
var wholly = cmp.Options{cmp.Comparer(bytes.Equal), cmp.Comparer(func(a, b string) bool { return a == b })}

func largest[M proto.Message](list []M) (most int) {
	for _, m := range list {
		most = max(most, proto.Size(m))
	}
	return most
}

// TestRequestPieces: a request of any size comes as it was, in messages of a
// mebibyte of data, a small one in one.
func TestRequestPieces(t *testing.T) {
	for _, size := range []int{0, 1, wire.PieceBytes - 1, wire.PieceBytes, wire.PieceBytes + 1, 3*wire.PieceBytes + 7} {
		want := filled[sdk.RunStagesRequest]()
		want.Input, want.MetadataJSON = noise(size), string(noise(size/2))
		var s stagesTape
		if err := sendStages(&s, &want); err != nil || !s.closed {
			t.Fatalf("%v, closed %v", err, s.closed)
		}
		if n := (size+size/2)/wire.PieceBytes + 1; len(s.requests) > n {
			t.Errorf("%d bytes of input: %d messages, want at most %d", size, len(s.requests), n)
		}
		if n := largest(s.requests); n > wire.PieceBytes+1024 {
			t.Errorf("%d bytes of input: a message of %d", size, n)
		}
		var b known
		err := runStages(t, &b, &s)
		if d := cmp.Diff(want, b.askedRun, wholly); err != nil || d != "" {
			t.Errorf("%d bytes of input: %v\n%s", size, err, d)
		}
	}
	if err := runStages(t, &known{}, &stagesTape{}); err == nil {
		t.Error("an empty request is none")
	}
}

// TestAnswerPieces: an answer of any size comes as it was, in messages of about a
// mebibyte, a small one in one.
func TestAnswerPieces(t *testing.T) {
	for _, size := range []int{0, 10, wire.PieceBytes - 10, wire.PieceBytes, 2*wire.PieceBytes + 3} {
		want := filled[sdk.RunStagesResponse]()
		for i := range want.Diagnostics {
			want.Diagnostics[i].Severity = sdk.Warning
		}
		want.Artifacts = []sdk.Artifact{
			{Stage: "a", Data: noise(size)}, {Stage: "empty", Data: []byte{}}, {Stage: "b", Data: noise(size / 3)}, {Stage: "c", Data: noise(3)},
		}
		want.MetadataJSON, want.Reproducer = string(noise(size+1)), strings.Repeat("r", size)
		var s stagesTape
		progress := []sdk.Progress{{Stage: "a", Fraction: 0.5}, {Stage: "b", Text: "half"}}
		if err := sendStages(&s, &sdk.RunStagesRequest{}); err != nil {
			t.Fatal(err)
		}
		if err := runStages(t, &known{progress: progress, ran: want}, &s); err != nil {
			t.Fatal(err)
		}
		if n := largest(s.events); n > wire.PieceBytes+4096 {
			t.Errorf("%d bytes: an event of %d", size, n)
		}
		if size == 10 && len(s.events) != len(progress)+1 {
			t.Errorf("a small answer has %d events", len(s.events))
		}
		var seen []sdk.Progress
		got, err := new(Client).receiveStages(&s, func(p sdk.Progress) { seen = append(seen, p) })
		if d := cmp.Diff(want, got, wholly); err != nil || d != "" {
			t.Errorf("%d bytes: %v\n%s", size, err, d)
		}
		if !slices.Equal(seen, progress) {
			t.Errorf("progress %v", seen)
		}
		for _, a := range got.Artifacts {
			if cap(a.Data) > len(a.Data)+len(a.Data)/8+64 {
				t.Errorf("an artifact of %d bytes takes %d", len(a.Data), cap(a.Data))
			}
		}
	}
}

// TestBadAnswers: an answer that is not whole is an error, and a bound holds before
// there is memory for what is announced.
func TestBadAnswers(t *testing.T) {
	piece := func(size int64, data []byte) *pb.RunStagesEvent {
		return &pb.RunStagesEvent{Artifacts: []*pb.ArtifactPiece{{Stage: "a", Data: data, Size: size}}}
	}
	end := &pb.RunStagesEvent{End: true}
	tests := []struct {
		name   string
		events []*pb.RunStagesEvent
		want   string
	}{
		{"nothing", nil, "has no end"},
		{"no end", []*pb.RunStagesEvent{piece(1, []byte("x"))}, "has no end"},
		{"announced", []*pb.RunStagesEvent{piece(1<<60, nil), end}, "more than the 1 MiB"},
		{"metadata announced", []*pb.RunStagesEvent{{MetadataSize: 1 << 60}, end}, "more than the 1 MiB"},
		{"announced by many", []*pb.RunStagesEvent{
			piece(600<<10, nil), {Artifacts: []*pb.ArtifactPiece{{Stage: "b", Size: 600 << 10}}}, end,
		}, "more than the 1 MiB"},
		{"announced, data and metadata", []*pb.RunStagesEvent{piece(600<<10, nil), {MetadataSize: 600 << 10}, end}, "more than the 1 MiB"},
		{"sent", []*pb.RunStagesEvent{piece(0, noise(wire.PieceBytes/2)), piece(0, noise(wire.PieceBytes/2)), end}, "more than the 1 MiB"},
	}
	for _, tt := range tests {
		_, err := (&Client{MaxBytes: 1 << 20}).receiveStages(&stagesTape{events: tt.events}, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	// Sizes that are wrong do no harm, and pieces may come mixed.
	got, err := new(Client).receiveStages(&stagesTape{events: []*pb.RunStagesEvent{
		piece(2, []byte("long")), {Artifacts: []*pb.ArtifactPiece{{Stage: "b", Data: []byte("b")}}, MetadataSize: -1}, piece(100, []byte("er")), end,
	}}, nil)
	if err != nil || string(got.Artifact("a")) != "longer" || !bytes.Equal(got.Artifact("b"), []byte("b")) {
		t.Errorf("%+v, %v", got, err)
	}
}
