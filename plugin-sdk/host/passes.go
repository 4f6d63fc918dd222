package host

import (
	"errors"
	"io"
	"strings"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// sendPasses is sendStages for RunPasses.
func sendPasses(stream pb.Backend_RunPassesClient, req *sdk.RunPassesRequest) error {
	part := &pb.RunPassesRequest{Header: runPassesHeaderToWire(req)}
	for input := req.Input; part != nil; {
		n := min(len(input), wire.PieceBytes)
		part.Input, input = []byte(input[:n]), input[n:]
		if err := stream.Send(part); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		part = nil
		if len(input) > 0 {
			part = &pb.RunPassesRequest{}
		}
	}
	return stream.CloseSend()
}

// receivePasses reads the events of one RunPasses call.
func (c *Client) receivePasses(stream pb.Backend_RunPassesClient) (resp sdk.RunPassesResponse, err error) {
	limit := bound{limit: c.MaxBytes}
	var diagnostics []*pb.Diagnostic
	var output, reproducer strings.Builder
	var dumps, analyses passTexts
	err = receiveEvents(stream.Recv, "RunPasses", func(e *pb.RunPassesEvent) error {
		if err := limit.count(e); err != nil {
			return err
		}
		diagnostics = append(diagnostics, e.GetDiagnostics()...)
		resp.Timings = append(resp.Timings, wire.Each(e.GetTimings(), timingFromWire)...)
		dumps.add(e.GetDumps())
		analyses.add(e.GetAnalyses())
		if n := e.GetOutputSize(); n > 0 && output.Len() == 0 {
			if err := limit.announce(n); err != nil {
				return err
			}
			output.Grow(int(n))
		}
		output.Write(e.GetOutput())
		reproducer.Write(e.GetReproducer())
		return nil
	})
	if err != nil {
		return sdk.RunPassesResponse{}, err
	}
	resp.Dumps, resp.Analyses = dumps.whole(), analyses.whole()
	resp.Output, resp.Reproducer = output.String(), reproducer.String()
	resp.Diagnostics, err = received(diagnostics)
	return resp, err
}

// passTexts puts texts together that come in pieces.
type passTexts struct {
	list []sdk.PassText
	last strings.Builder // the text of the last one
	more bool            // which goes on
}

func (t *passTexts) add(pieces []*pb.PassText) {
	for _, p := range pieces {
		if !t.more {
			t.end()
			t.list = append(t.list, sdk.PassText{Name: p.GetName()})
		}
		t.last.Write(p.GetText())
		t.more = p.GetMore()
	}
}

func (t *passTexts) end() {
	if n := len(t.list); n > 0 {
		t.list[n-1].Text = t.last.String()
	}
	t.last.Reset()
}

func (t *passTexts) whole() []sdk.PassText {
	t.end()
	return t.list
}
