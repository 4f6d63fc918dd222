package main

import (
	"bytes"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/driver/tune"
)

// TestKeepTogether: nobody's times are lost where several add theirs to one file at once.
func TestKeepTogether(t *testing.T) {
	f := tuneFlags{write: filepath.Join(t.TempDir(), "folder", "t.json")}
	const writers, each = 8, 5
	var said [writers]bytes.Buffer
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			env := &environment{stderr: &said[w]}
			config := []tune.Measured{{Config: tune.Config{{Name: "B", Value: int64(64)}}, Time: 1}}
			for i := range each {
				e := &tune.Entry{Kernel: "k", Key: tune.Key{int64(w), int64(i)}, Configs: config}
				if err := f.keep(env, e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for i := range said {
		if said[i].Len() > 0 {
			t.Errorf("%s", said[i].Bytes())
		}
	}
	times, err := f.openTimes("")
	if err != nil {
		t.Fatal(err)
	}
	if len(times.Entries) != writers*each {
		t.Errorf("%d entries", len(times.Entries))
	}
}
