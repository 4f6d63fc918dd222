package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// TestPassesRequestPieces: a request of any size comes as it was, in messages of a
// mebibyte, a small one in one.
func TestPassesRequestPieces(t *testing.T) {
	for _, size := range []int{0, 1, wire.PieceBytes, wire.PieceBytes + 1, 3*wire.PieceBytes + 7} {
		want := filled[sdk.RunPassesRequest]()
		want.Input = string(noise(size))
		var s passesTape
		if err := sendPasses(&s, &want); err != nil || !s.closed {
			t.Fatalf("%v, closed %v", err, s.closed)
		}
		if n := max(1, (size+wire.PieceBytes-1)/wire.PieceBytes); len(s.requests) != n {
			t.Errorf("%d bytes: %d messages, want %d", size, len(s.requests), n)
		}
		var b known
		err := runPasses(t, &b, &s)
		if d := cmp.Diff(want, b.askedPasses, wholly); err != nil || d != "" {
			t.Errorf("%d bytes: %v\n%s", size, err, d)
		}
	}
	if err := runPasses(t, &known{}, &passesTape{}); err == nil {
		t.Error("an empty request is none")
	}
}

// TestPassesAnswerPieces: likewise for the answer, whose texts may have one name.
func TestPassesAnswerPieces(t *testing.T) {
	for _, size := range []int{0, 10, wire.PieceBytes - 10, wire.PieceBytes, 2*wire.PieceBytes + 3} {
		want := filled[sdk.RunPassesResponse]()
		for i := range want.Diagnostics {
			want.Diagnostics[i].Severity = sdk.Warning
		}
		text := string(noise(size))
		want.Dumps = []sdk.PassText{{Name: "cse", Text: text}, {Name: "cse", Text: text}, {Name: "empty"}, {Name: "cse", Text: text + "\xff"}}
		want.Analyses = []sdk.PassText{{Name: "a", Text: text[:size/3]}, {Name: "b", Text: text}}
		want.Output, want.Reproducer = text, text+"r"
		var s passesTape
		if err := sendPasses(&s, &sdk.RunPassesRequest{}); err != nil {
			t.Fatal(err)
		}
		if err := runPasses(t, &known{passed: want}, &s); err != nil {
			t.Fatal(err)
		}
		if n := largest(s.events); n > wire.PieceBytes+4096 {
			t.Errorf("%d bytes: an event of %d", size, n)
		}
		if size == 10 && len(s.events) != 1 {
			t.Errorf("a small answer has %d events", len(s.events))
		}
		got, err := new(Client).receivePasses(&s)
		if d := cmp.Diff(want, got, wholly); err != nil || d != "" {
			t.Errorf("%d bytes: %v\n%s", size, err, d)
		}
	}
}

// TestBadPassesAnswers: an answer without an end is an error, and so is one beyond the
// bound, before there is memory for it.
func TestBadPassesAnswers(t *testing.T) {
	for want, e := range map[string]*pb.RunPassesEvent{
		"RunPasses has no end": {Output: []byte("x")},
		"more than the 1 MiB":  {OutputSize: 1 << 60, End: true},
		"than the 1 MiB that":  {Output: noise(wire.PieceBytes), End: true},
	} {
		_, err := (&Client{MaxBytes: 1 << 20}).receivePasses(&passesTape{events: []*pb.RunPassesEvent{e}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
