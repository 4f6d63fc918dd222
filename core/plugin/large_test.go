package plugin

import (
	"bytes"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync"
	"testing"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// largeEnv sets how many mebibytes the input, the artifact and the metadata of TestLarge
// have, each. Those of the suite are there to be quick.
const largeEnv = "TRITONC_TEST_LARGE"

// TestLarge: no limit of messages bounds what crosses, and the host has it in memory
// once.
func TestLarge(t *testing.T) {
	size := 24 << 20
	if text := os.Getenv(largeEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		size = n << 20
	}
	_, b := testHost(t, "works", Options{})
	mustRun(t, b, "echo", "")
	input := make([]byte, size)
	for i := range input {
		input[i] = byte(i >> 12)
	}
	metadata := bytes.Repeat([]byte("m"), size)
	copy(metadata, `{"x":"`)
	copy(metadata[size-2:], `"}`)
	req := sdk.RunStagesRequest{First: "echo", Last: "echo", Input: input, MetadataJSON: string(metadata)}

	defer debug.SetGCPercent(debug.SetGCPercent(5)) // garbage is none of what is measured
	debug.FreeOSMemory()
	peak := watchHeap(t)
	start := time.Now()
	resp, err := b.RunStages(t.Context(), req)
	took, most := time.Since(start), peak()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(resp.Artifact("echo"), input) || resp.MetadataJSON != req.MetadataJSON {
		t.Errorf("%d and %d bytes came back, not those that were sent", len(resp.Artifact("echo")), len(resp.MetadataJSON))
	}
	if most > int64(2*size+size/4+32<<20) {
		t.Errorf("the host took %d MiB for %d MiB", most>>20, 2*size>>20)
	}
	t.Logf("%d MiB each way in %s; the host took %d MiB more", 2*size>>20, took.Round(time.Millisecond), most>>20)
}

// watchHeap samples how much the heap grows; what it returns ends that and gives the
// most.
func watchHeap(t *testing.T) func() int64 {
	t.Helper()
	read := func() int64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	start, most := read(), int64(0)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			most = max(most, read()-start)
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	return func() int64 {
		close(stop)
		wg.Wait()
		return most
	}
}
