// The driver of NVIDIA GPUs is a module of its own: what it needs to be built
// (cuda.h) and its dependencies concern nobody else.
module github.com/tritonc/tritonc/driver/cuda

go 1.26.0

require (
	github.com/tritonc/tritonc v0.0.0
	golang.org/x/sys v0.50.0
	gorgonia.org/cu v0.9.6
)

require (
	github.com/fatih/color v1.13.0 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/hashicorp/go-hclog v1.6.3 // indirect
	github.com/hashicorp/go-plugin v1.8.0 // indirect
	github.com/hashicorp/yamux v0.1.2 // indirect
	github.com/mattn/go-colorable v0.1.12 // indirect
	github.com/mattn/go-isatty v0.0.17 // indirect
	github.com/oklog/run v1.1.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/tritonc/tritonc => ../..

// What other packages of cu's module want; cu itself does not, and with them
// come old modules that clash with gRPC's.
exclude (
	github.com/cloudflare/cfssl v0.0.0-20190808011637-b1ec8c586c2a
	github.com/gorgonia/bindgen v0.0.0-20210223094355-432cd89e7765
	gorgonia.org/gorgonia v0.9.17
	gorgonia.org/tensor v0.9.20
)
