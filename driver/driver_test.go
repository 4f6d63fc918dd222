package driver

import (
	"reflect"
	"testing"
)

func TestMetadata(t *testing.T) {
	m, err := ParseMetadata([]byte(`{"name":"k","num_warps":8,"shared":512,"global_scratch_size":4,"tensordesc_meta":[{"swizzle":3}],"more":1}`))
	if err != nil || len(m.Descriptors) != 1 || m.Kernel != "k" || m.NumWarps != 8 || m.Shared != 512 || m.GlobalScratch != 4 {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := ParseMetadata(nil); err != nil || !reflect.DeepEqual(m, Metadata{}) {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := ParseMetadata([]byte("{")); err == nil {
		t.Error("half a text is read")
	}
}
