package nvidia

import "testing"

func TestLibdeviceTable(t *testing.T) {
	symbols := map[string]bool{}
	for _, e := range libdevice().Externs {
		if symbols[e.Symbol] {
			t.Errorf("symbol %s twice", e.Symbol)
		}
		symbols[e.Symbol] = true
	}
	if len(symbols) != 313 { // as many as Triton 3.6's own module has
		t.Errorf("%d symbols, want 313", len(symbols))
	}
	for _, want := range []string{"__nv_tanhf", "__nv_powi", "__nv_fmaf_rn", "__nv_dsqrt_ru", "__nv_double2ull_rz", "__nv_fast_log2f", "__nv_umul64hi"} {
		if !symbols[want] {
			t.Errorf("no %s", want)
		}
	}
}
