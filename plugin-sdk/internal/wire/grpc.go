package wire

import (
	"slices"

	"google.golang.org/grpc"
)

// MaxMessageBytes is the largest message of either direction. Beyond it a call
// fails with a size error rather than with the machine's memory.
const MaxMessageBytes = 256 << 20

// PieceBytes is how much data one message of a stream has at most.
const PieceBytes = 1 << 20

// windowBytes is how much may be under way on a connection. gRPC's own start of
// 64 KiB is for slow networks: on a socket of one machine either side would wait for the
// other again and again.
const (
	windowBytes = 8 << 20
	bufferBytes = 256 << 10
)

// NewServer makes a gRPC server with the contract's message limits.
func NewServer(opts []grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(slices.Clone(opts),
		grpc.MaxRecvMsgSize(MaxMessageBytes),
		grpc.MaxSendMsgSize(MaxMessageBytes),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(windowBytes),
		grpc.ReadBufferSize(bufferBytes),
		grpc.WriteBufferSize(bufferBytes),
	)...)
}

// DialOptions are a host's half of NewServer.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCodec())),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithReadBufferSize(bufferBytes),
		grpc.WithWriteBufferSize(bufferBytes),
	}
}
