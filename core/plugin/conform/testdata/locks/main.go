// A backend with a lock for its process that it leaves when it is killed.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.ServeBackend(backend{}) }

type backend struct{}

func (backend) Describe(context.Context) (sdk.Facts, error) {
	return sdk.Facts{Name: "locks", Version: "1", Targets: []sdk.TargetFacts{{Pattern: "locks:v1", WarpSize: 1}}}, nil
}

func (backend) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	return []sdk.Stage{{Name: "out", Run: func(_ context.Context, in *sdk.StageInput) ([]byte, error) {
		if !strings.Contains(string(in.Data), "tt.func") {
			return nil, in.Errorf(sdk.Range{Line: 1, Column: 1}, "there is no kernel here")
		}
		unlock, err := lock()
		if err != nil {
			return nil, err
		}
		defer unlock()
		time.Sleep(50 * time.Millisecond)
		return fmt.Append(nil, len(in.Data)), nil
	}}}, nil
}

var (
	mu    sync.Mutex
	holds int // calls that hold the lock
	file  = os.Args[0] + ".lock"
)

// lock makes the file for the calls of this process.
func lock() (unlock func(), err error) {
	mu.Lock()
	defer mu.Unlock()
	if holds == 0 {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		f.Close()
	}
	holds++
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if holds--; holds == 0 {
			os.Remove(file)
		}
	}, nil
}
