package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/tritonc/tritonc/cmd/tritonc/serve/v1"
	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/core/plugin"
)

// Config says what a Server does.
type Config struct {
	// Socket is the path that it listens at.
	Socket string
	// Build identifies the program; a client of another is refused.
	Build string
	// Jobs is how many kernels are compiled at a time.
	Jobs int
	// Idle is how long it stays without anything to do; 0: for ever.
	Idle time.Duration
	// Handle runs a command line and returns its exit code. Several run at once.
	Handle func(ctx context.Context, call *Call) int
	// Backends lists the processes of backends.
	Backends func() []plugin.Running
	// Shared counts what became of questions to caches that machines share; nil, and so is
	// what it returns, where nothing is shared.
	Shared func() *cache.Counts
	// Log receives what is of interest to who runs the server.
	Log func(format string, args ...any)
}

// Limits of what clients may send and have under way. A folder with a hundred thousand
// variables in its environment is a mistake; standard input has a bound of its own.
const (
	maxRequestBytes = 128 << 20
	maxEventBytes   = math.MaxInt32
	maxCalls        = 4096 // of one connection
)

// Server answers clients. Make one with Listen.
type Server struct {
	pb.UnimplementedCompilerServer
	cfg     Config
	queue   *Queue
	socket  *listener
	grpc    *grpc.Server
	metrics *metrics
	ctx     context.Context // of calls by frames
	cancel  context.CancelFunc
	frames  sync.WaitGroup // calls by frames

	mu     sync.Mutex
	active int // calls under way
	idle   *time.Timer
	ending bool
}

// Listen makes the socket. Nobody is answered before Serve.
func Listen(cfg Config) (*Server, error) {
	l, err := listen(cfg.Socket, cfg.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, queue: NewQueue(cfg.Jobs), socket: l, metrics: newMetrics()}
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxRequestBytes), grpc.MaxSendMsgSize(maxEventBytes), grpc.MaxConcurrentStreams(maxCalls),
		grpc.ConnectionTimeout(10*time.Second), grpc.WaitForHandlers(true),
	)
	pb.RegisterCompilerServer(s.grpc, s)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Serve answers until ctx ends, which ends the calls under way, until a client asks for
// the end, or until nobody has asked for anything for long.
func (s *Server) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { s.endNow() })()
	if s.cfg.Idle > 0 {
		s.mu.Lock()
		s.idle = time.AfterFunc(s.cfg.Idle, s.endIdle)
		s.mu.Unlock()
	}
	err := s.grpc.Serve(split(s.socket, s.serveFrames))
	s.mu.Lock()
	ending := s.ending
	s.ending = true
	if s.idle != nil {
		s.idle.Stop()
	}
	s.mu.Unlock()
	s.grpc.Stop() // waits for the handlers
	s.frames.Wait()
	s.cancel()
	if ending && (err == nil || errors.Is(err, grpc.ErrServerStopped)) {
		return nil
	}
	return err
}

// endNow ends the calls under way, too.
func (s *Server) endNow() {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.cancel()
	s.grpc.Stop()
}

// endSoon lets the calls under way end.
func (s *Server) endSoon() {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	go s.grpc.GracefulStop()
}

// endIdle ends a server that has nothing to do.
func (s *Server) endIdle() {
	s.mu.Lock()
	idle := s.active == 0
	s.mu.Unlock()
	if idle {
		s.cfg.Log("nobody has asked for anything for %s", s.cfg.Idle)
		s.endSoon()
	}
}

// begin counts a call as under way, which the function that it returns ends.
func (s *Server) begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active++
	if s.idle != nil {
		s.idle.Stop()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.active--; s.active == 0 && s.idle != nil {
			s.idle.Reset(s.cfg.Idle)
		}
	}
}

// Compile implements the service.
func (s *Server) Compile(req *pb.CompileRequest, stream grpc.ServerStreamingServer[pb.CompileEvent]) error {
	return s.compile(stream.Context(), req, stream)
}

// compile runs a command line until ctx ends.
func (s *Server) compile(ctx context.Context, req *pb.CompileRequest, stream eventStream) error {
	defer s.begin()()
	if why := s.refusal(req); why != "" {
		s.metrics.request(resultRefused)
		return status.Error(codes.FailedPrecondition, why)
	}
	call := newCall(req, s.queue.Lane(), stream, s.metrics)
	code := s.cfg.Handle(ctx, call)
	if ctx.Err() != nil {
		s.metrics.request(resultCancelled)
		return status.FromContextError(ctx.Err()).Err()
	}
	s.metrics.request(resultOf(code))
	return call.send(&pb.CompileEvent{Event: &pb.CompileEvent_Exit{Exit: &pb.Exit{Code: int32(code)}}})
}

// refusal says why a request is not served; empty: it is.
func (s *Server) refusal(req *pb.CompileRequest) string {
	if req.GetBuild() != s.cfg.Build {
		return "it is another build of tritonc"
	}
	for _, f := range req.GetSeen() {
		path := string(f.GetPath())
		device, inode, err := identity(path)
		switch {
		case err != nil:
			return fmt.Sprintf("it does not see %s: %v", path, err)
		case device != f.GetDevice() || inode != f.GetInode():
			return "it sees something else as " + path
		}
	}
	if !slices.Equal(req.GetLimits(), processLimits()) {
		return "it runs under other limits of the shell (ulimit)"
	}
	return ""
}

// GetStatus implements the service. To ask does not keep a server from its end.
func (s *Server) GetStatus(context.Context, *pb.GetStatusRequest) (*pb.GetStatusResponse, error) {
	resp := s.metrics.status()
	resp.Build = s.cfg.Build
	s.mu.Lock()
	resp.Active = int64(s.active)
	s.mu.Unlock()
	running, waiting := s.queue.Load()
	resp.Running, resp.Waiting, resp.Jobs = int64(running), int64(waiting), int64(s.cfg.Jobs)
	for _, b := range s.cfg.Backends() {
		resp.Backends = append(resp.Backends, &pb.BackendProcess{Name: b.Name, Pid: int64(b.PID), ResidentBytes: residentBytes(b.PID)})
	}
	var counts *cache.Counts
	if s.cfg.Shared != nil {
		counts = s.cfg.Shared()
	}
	if counts != nil {
		text, err := json.Marshal(counts)
		if err != nil {
			return nil, err
		}
		resp.SharedCache = text
	}
	return resp, nil
}

// Stop implements the service.
func (s *Server) Stop(context.Context, *pb.StopRequest) (*pb.StopResponse, error) {
	s.cfg.Log("a client asks for the end")
	s.endSoon()
	return &pb.StopResponse{}, nil
}
