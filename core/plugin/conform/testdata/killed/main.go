// A backend without go-plugin's services, on a server as gRPC makes it: nothing can ask
// it to end.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/grpc"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

type backend struct{ pb.UnimplementedBackendServer }

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	if os.Getenv("TRITONC_BACKEND") != "b1f0c1d4-tritonc-backend" {
		return fmt.Errorf("tritonc starts this program")
	}
	fd, err := strconv.Atoi(os.Getenv("TRITONC_LIFELINE"))
	if err != nil {
		return err
	}
	folder := os.Getenv("PLUGIN_UNIX_SOCKET_DIR")
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(uintptr(fd), "lifeline"))
		os.RemoveAll(folder)
		os.Exit(0)
	}()
	socket, err := net.Listen("unix", filepath.Join(folder, "s"))
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	pb.RegisterBackendServer(s, backend{})
	fmt.Printf("1|1|unix|%s|grpc|\n", socket.Addr())
	return s.Serve(socket)
}

func (backend) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return &pb.DescribeResponse{Facts: &pb.Facts{
		Name: "killed", Version: "1", Hash: "1", BinaryEnding: "out",
		Targets: []*pb.TargetFacts{{Pattern: "killed:v1", WarpSize: 1}},
	}}, nil
}

func (backend) AddStages(context.Context, *pb.AddStagesRequest) (*pb.AddStagesResponse, error) {
	return &pb.AddStagesResponse{Stages: []*pb.Stage{{Name: "out", Ending: "out"}}}, nil
}

// RunStages answers how long the input is.
func (backend) RunStages(stream grpc.BidiStreamingServer[pb.RunStagesRequest, pb.RunStagesEvent]) error {
	var input []byte
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
	if !bytes.Contains(input, []byte("tt.func")) {
		return stream.Send(&pb.RunStagesEvent{Diagnostics: []*pb.Diagnostic{{File: "input.ttir", Line: 1, Column: 1, Message: "there is no kernel here"}}, End: true})
	}
	return stream.Send(&pb.RunStagesEvent{
		Artifacts: []*pb.ArtifactPiece{{Stage: "out", Data: fmt.Append(nil, len(input))}}, Metadata: []byte("{}"), End: true,
	})
}
