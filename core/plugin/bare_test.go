package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/tritonc/tritonc/core/diag"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// bare is a backend without the SDK and go-plugin: the three calls that
// docs/plugin-protocol.md demands, on a server as gRPC makes it.
type bare struct{ pb.UnimplementedBackendServer }

func serveBare() {
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if os.Getenv("TRITONC_BACKEND") != "b1f0c1d4-tritonc-backend" {
		check(errors.New("tritonc starts this program"))
	}
	fd, err := strconv.Atoi(os.Getenv("TRITONC_LIFELINE"))
	check(err)
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(uintptr(fd), "lifeline"))
		os.Exit(0)
	}()
	socket, err := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
	check(err)
	s := grpc.NewServer()
	pb.RegisterBackendServer(s, bare{})
	fmt.Printf("1|1|unix|%s|grpc|\n", socket.Addr())
	check(s.Serve(socket))
}

func (bare) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return &pb.DescribeResponse{Facts: &pb.Facts{
		Name: "bare", Version: "1", Hash: "1", BinaryEnding: "copy",
		Targets: []*pb.TargetFacts{{Pattern: "bare:*", WarpSize: 4}},
		Options: []*pb.OptionSpec{{Name: "n", Type: "int", DefaultJson: "4", Doc: "a number"}},
	}}, nil
}

func (bare) AddStages(context.Context, *pb.AddStagesRequest) (*pb.AddStagesResponse, error) {
	return &pb.AddStagesResponse{Stages: []*pb.Stage{{Name: "copy", Ending: "copy"}}}, nil
}

func (bare) RunStages(stream grpc.BidiStreamingServer[pb.RunStagesRequest, pb.RunStagesEvent]) error {
	var input []byte
	if md, err := stream.Recv(); err == nil && md.GetHeader().GetFirst() == "early" {
		// Against the rules: all is said before the input was read.
		for range 40 {
			if err := stream.Send(&pb.RunStagesEvent{Artifacts: []*pb.ArtifactPiece{{Stage: "copy", Data: make([]byte, 1<<20)}}}); err != nil {
				return err
			}
		}
		for {
			if _, err := stream.Recv(); err == io.EOF {
				return stream.Send(&pb.RunStagesEvent{End: true})
			}
		}
	} else if err != nil {
		return err
	} else {
		input = md.GetInput()
	}
	for {
		part, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		input = append(input, part.GetInput()...)
	}
	if len(input) == 0 {
		return stream.Send(&pb.RunStagesEvent{Diagnostics: []*pb.Diagnostic{{Message: "nothing to copy"}}, End: true})
	}
	for len(input) > 0 {
		n := min(len(input), 100_000)
		if err := stream.Send(&pb.RunStagesEvent{Artifacts: []*pb.ArtifactPiece{{Stage: "copy", Data: input[:n]}}}); err != nil {
			return err
		}
		input = input[n:]
	}
	return stream.Send(&pb.RunStagesEvent{Metadata: []byte("{}"), End: true})
}

// TestBare: what the protocol's page calls optional is.
func TestBare(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the backend has a Unix socket")
	}
	ctx := t.Context()
	h := newHost(t, Options{Dirs: []string{filepath.Dir(thisProgram(t, "bare").Path)}})
	b, target, err := h.SelectBackend(ctx, sdk.Target{Backend: "bare", Arch: "x"})
	if err != nil || target.WarpSize != 4 {
		t.Fatalf("%v, %v", target, err)
	}
	if _, _, err := h.SelectBackend(ctx, sdk.Target{Backend: "bare", Arch: "x", WarpSize: 8}); err == nil || !strings.Contains(err.Error(), "warps of 4 threads") && !strings.Contains(fmt.Sprint(diag.All(err)[0].Help), "warps of 4 threads") {
		t.Errorf("another warp size: %v", err)
	}
	if o, err := b.ParseOptions(ctx, sdk.ParseOptionsRequest{Target: target, OptionsJSON: `{"n":"8"}`}); err != nil || o.OptionsJSON != `{"n":8}` {
		t.Errorf("options %+v, %v", o, err)
	}
	if _, err := b.ParseOptions(ctx, sdk.ParseOptionsRequest{Target: target, OptionsJSON: `{"m":"8"}`}); len(diag.All(err)) != 1 {
		t.Errorf("a wrong option: %v", err)
	}
	facts, err := b.Facts(ctx)
	if err != nil || len(facts.Modules) != 0 || len(facts.Dialects) != 0 {
		t.Errorf("facts %+v, %v", facts, err)
	}
	if d, err := b.LoadDialects(ctx); err != nil || len(d) != 0 {
		t.Errorf("dialects %v, %v", d, err)
	}
	if _, err := b.RunPasses(ctx, sdk.RunPassesRequest{}); err == nil || !strings.Contains(err.Error(), "does not serve RunPasses") {
		t.Errorf("passes: %v", err)
	}
	input := bytes.Repeat([]byte("ttir"), 3<<20) // thrice what a server of gRPC's takes in one message
	req := sdk.RunStagesRequest{Target: target, First: "copy", Last: "copy", Input: input}
	if resp, err := b.RunStages(ctx, req); err != nil || !bytes.Equal(resp.Artifact("copy"), input) || resp.MetadataJSON != "{}" {
		t.Errorf("%d bytes came back of %d, %v", len(resp.Artifact("copy")), len(input), err)
	}
	req.First, req.Input = "early", bytes.Repeat(input, 3)
	if resp, err := b.RunStages(ctx, req); err != nil || len(resp.Artifact("copy")) != 40<<20 {
		t.Errorf("an early answer: %d bytes, %v", len(resp.Artifact("copy")), err)
	}
	req.First, req.Input = "copy", nil
	if _, err := b.RunStages(ctx, req); len(diag.All(err)) != 1 || !strings.Contains(err.Error(), "nothing to copy") {
		t.Errorf("without input: %v", err)
	}
	start := time.Now()
	if h.Close(); time.Since(start) > 3*time.Second {
		t.Errorf("it ended after %s", time.Since(start))
	}
}
