package sdk

import (
	"errors"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// sendPasses is sendStages for RunPasses.
func sendPasses(stream pb.Backend_RunPassesClient, req *RunPassesRequest) error {
	part := &pb.RunPassesRequest{Header: runPassesHeaderToWire(req)}
	for input := req.Input; part != nil; {
		n := min(len(input), PieceBytes)
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

// receivePasses reads a whole request.
func receivePasses(stream pb.Backend_RunPassesServer) (RunPassesRequest, error) {
	var req RunPassesRequest
	var input strings.Builder
	for first := true; ; first = false {
		part, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && first:
			return req, errors.New("a request without a header")
		case errors.Is(err, io.EOF):
			req.Input = input.String()
			return req, nil
		case err != nil:
			return req, err
		}
		if first {
			req = runPassesHeaderFromWire(part.GetHeader())
			input.Grow(int(max(part.GetHeader().GetInputSize(), 0)))
		}
		input.Write(part.GetInput())
	}
}

// passEvents sends the events of one RunPasses call.
type passEvents struct{ events[pb.RunPassesEvent] }

// finish sends all that came of the call.
func (w *passEvents) finish(r *RunPassesResponse, diags []*pb.Diagnostic) error {
	for _, d := range append(each(r.Diagnostics, diagnosticToWire), diags...) {
		e := w.room(proto.Size(d))
		e.Diagnostics = append(e.Diagnostics, d)
	}
	for _, t := range r.Timings {
		e := w.room(len(t.Stage) + len(t.Name) + len(t.Did))
		e.Timings = append(e.Timings, timingToWire(t))
	}
	for _, t := range r.Dumps {
		w.passText(t, func(e *pb.RunPassesEvent, piece *pb.PassText) { e.Dumps = append(e.Dumps, piece) })
	}
	for _, t := range r.Analyses {
		w.passText(t, func(e *pb.RunPassesEvent, piece *pb.PassText) { e.Analyses = append(e.Analyses, piece) })
	}
	w.text(r.Output, func(e *pb.RunPassesEvent, piece string, first bool) {
		e.Output = append(e.Output, piece...)
		if first {
			e.OutputSize = int64(len(r.Output))
		}
	})
	w.text(r.Reproducer, func(e *pb.RunPassesEvent, piece string, _ bool) {
		e.Reproducer = append(e.Reproducer, piece...)
	})
	w.room(0).End = true
	w.flush()
	return w.err
}

// passText adds a text, an empty one, too.
func (w *passEvents) passText(t PassText, add func(e *pb.RunPassesEvent, piece *pb.PassText)) {
	for text, more := t.Text, true; more; {
		n := min(len(text), PieceBytes)
		more = n < len(text)
		add(w.room(n+len(t.Name)), &pb.PassText{Name: utf8(t.Name), Text: []byte(text[:n]), More: more})
		text = text[n:]
	}
}

// receivePasses reads the events of one RunPasses call.
func (c *Client) receivePasses(stream pb.Backend_RunPassesClient) (resp RunPassesResponse, err error) {
	limit := bound{limit: c.MaxBytes}
	var diagnostics []*pb.Diagnostic
	var output, reproducer strings.Builder
	var dumps, analyses passTexts
	err = receiveEvents(stream.Recv, "RunPasses", func(e *pb.RunPassesEvent) error {
		if err := limit.count(e); err != nil {
			return err
		}
		diagnostics = append(diagnostics, e.GetDiagnostics()...)
		resp.Timings = append(resp.Timings, each(e.GetTimings(), timingFromWire)...)
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
		return RunPassesResponse{}, err
	}
	resp.Dumps, resp.Analyses = dumps.whole(), analyses.whole()
	resp.Output, resp.Reproducer = output.String(), reproducer.String()
	resp.Diagnostics, err = received(diagnostics)
	return resp, err
}

// passTexts puts texts together that come in pieces.
type passTexts struct {
	list []PassText
	last strings.Builder // the text of the last one
	more bool            // which goes on
}

func (t *passTexts) add(pieces []*pb.PassText) {
	for _, p := range pieces {
		if !t.more {
			t.end()
			t.list = append(t.list, PassText{Name: p.GetName()})
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

func (t *passTexts) whole() []PassText {
	t.end()
	return t.list
}
