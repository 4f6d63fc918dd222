package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// tiny is the backend of the trace in docs/plugin-protocol.md.
type tiny struct{}

func (tiny) Describe(context.Context) (sdk.Facts, error) {
	return sdk.Facts{
		Name: "tiny", Version: "1", Hash: "h1", BinaryEnding: "out",
		Targets: []sdk.TargetFacts{{Pattern: "tiny:*", WarpSize: 1}},
		Options: []sdk.OptionSpec{{Name: "n", Type: sdk.Int, Default: "4", Doc: "a number"}},
	}, nil
}

func (tiny) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	return []sdk.Stage{{Name: "out", Run: func(_ context.Context, in *sdk.StageInput) ([]byte, error) {
		in.Metadata = map[string]any{"name": "k"}
		return []byte("done"), nil
	}}}, nil
}

// Marks of the trace in the page.
const (
	traceBegin = "<!-- trace: TRITONC_UPDATE=1 go test ./plugin-sdk/host -run TestTrace -->\n```\n"
	traceEnd   = "```\n<!-- end of the trace -->\n"
)

// TestTrace: the bytes of one compile that the page shows are those that cross.
func TestTrace(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "plugin-protocol.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), traceBegin)
	shown, after, closed := strings.Cut(rest, traceEnd)
	if !ok || !closed {
		t.Fatalf("%s has no trace", page)
	}
	want := trace(t)
	if shown == want {
		return
	}
	if os.Getenv("TRITONC_UPDATE") == "" {
		t.Fatalf("%s shows other bytes than\n%s", page, want)
	}
	if err := os.WriteFile(page, []byte(before+traceBegin+want+traceEnd+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// trace is one compile with tiny, message by message.
func trace(t *testing.T) string {
	t.Helper()
	s := serve(tiny{}).server
	var b strings.Builder
	show := func(arrow, method string, list ...proto.Message) {
		if method != "" {
			fmt.Fprintf(&b, "%s /tritonc.backend.v1.Backend/%s\n", arrow, method)
		} else {
			b.WriteString(arrow + "\n")
		}
		for _, m := range list {
			raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  00 %08x%s%s, %d bytes\n", len(raw), strings.Repeat(" ", 13), m.ProtoReflect().Descriptor().Name(), len(raw))
			dump(&b, raw, m.ProtoReflect().Descriptor(), 2)
		}
	}
	ask := func(method string, req proto.Message, call func() (proto.Message, error)) {
		show("host:", method, req)
		resp, err := call()
		if err != nil {
			t.Fatal(err)
		}
		show("backend:", "", resp)
	}
	target := &pb.Target{Backend: "tiny", Arch: "x"}
	describe := &pb.DescribeRequest{}
	ask("Describe", describe, func() (proto.Message, error) { return s.Describe(t.Context(), describe) })
	full := &pb.Target{Backend: "tiny", Arch: "x", WarpSize: 1}
	supports := &pb.SupportsTargetRequest{Target: target}
	ask("SupportsTarget", supports, func() (proto.Message, error) { return s.SupportsTarget(t.Context(), supports) })
	parse := &pb.ParseOptionsRequest{Target: full, OptionsJson: `{"n":"8"}`}
	ask("ParseOptions", parse, func() (proto.Message, error) { return s.ParseOptions(t.Context(), parse) })
	stages := &pb.AddStagesRequest{Target: full, OptionsJson: `{"n":8}`}
	ask("AddStages", stages, func() (proto.Message, error) { return s.AddStages(t.Context(), stages) })

	var over stagesTape
	req := sdk.RunStagesRequest{
		Target: wire.TargetFromWire(full), OptionsJSON: `{"n":8}`, First: "out", Last: "out",
		Input: []byte("module {}\n"), InputName: "k.source",
	}
	if err := sendStages(&over, &req); err != nil {
		t.Fatal(err)
	}
	for _, m := range over.requests {
		show("host:", "RunStages", m)
	}
	if err := s.RunStages(stagesServerTape{tape: &over, ctx: t.Context()}); err != nil {
		t.Fatal(err)
	}
	for _, e := range over.events {
		for _, row := range e.GetTimings() {
			row.Nanoseconds, row.Start = 250000, 0 // other times each time
		}
		show("backend:", "", e)
	}
	return b.String()
}

// dump writes the fields of a message a line each: their bytes, names and values.
func dump(b *strings.Builder, raw []byte, d protoreflect.MessageDescriptor, indent int) {
	line := func(head []byte, text string) {
		fmt.Fprintf(b, "  %s%-*s%s\n", strings.Repeat(" ", indent), 24-indent, fmt.Sprintf("% x", head), text)
	}
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		f := d.Fields().ByNumber(number)
		size := n + protowire.ConsumeFieldValue(number, kind, raw[n:])
		field := raw[:size]
		raw = raw[size:]
		if kind != protowire.BytesType {
			v, _ := protowire.ConsumeVarint(field[n:])
			line(field, fmt.Sprintf("%s = %d", f.Name(), v))
			continue
		}
		content, _ := protowire.ConsumeBytes(field[n:])
		head := field[:len(field)-len(content)]
		if f.Message() != nil {
			line(head, string(f.Name()))
			dump(b, content, f.Message(), indent+2)
			continue
		}
		line(head, fmt.Sprintf("%s = %q", f.Name(), content))
	}
}
