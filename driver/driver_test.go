package driver

import (
	"reflect"
	"strings"
	"testing"
)

func TestMetadata(t *testing.T) {
	m, err := ParseMetadata([]byte(`{"name":"k","num_warps":8,"shared":512,"global_scratch_size":4,"tensordesc_meta":[{"swizzle":3}],"more":1}`))
	if err != nil || len(m.Descriptors) != 1 || m.Kernel != "k" || m.NumWarps != 8 || m.Shared != 512 || m.GlobalScratch != 4 {
		t.Errorf("%+v, %v", m, err)
	}
	if !strings.Contains(string(m.Object), `"more":1`) {
		t.Errorf("of the object there is %s", m.Object)
	}
	if m, err := ParseMetadata(nil); err != nil || !reflect.DeepEqual(m, Metadata{}) {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := ParseMetadata([]byte("{")); err == nil {
		t.Error("half a text is read")
	}
}

func TestTiming(t *testing.T) {
	for timing, ok := range map[Timing]bool{
		{Runs: 1}: true, {Runs: MaxRuns, Warmup: MaxRuns, Flush: 1 << 40, Graph: true}: true,
		{}: false, {Runs: -1}: false, {Runs: MaxRuns + 1}: false, {Runs: 1, Warmup: -1}: false, {Runs: 1, Warmup: MaxRuns + 1}: false, {Runs: 1, Flush: -1}: false,
	} {
		if err := timing.Check(); (err == nil) != ok {
			t.Errorf("%+v: %v", timing, err)
		}
	}
}
