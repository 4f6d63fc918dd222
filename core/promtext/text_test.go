package promtext

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	text := New("tritonc_")
	text.One("resident_bytes", Gauge, "Memory.", 1<<31)
	text.Family("stage_seconds_total", Counter, "Time.")
	text.Value("stage_seconds_total", `{stage="ptx"}`, 0.0000125)
	var b strings.Builder
	n, err := text.WriteTo(&b)
	const want = `# HELP tritonc_resident_bytes Memory.
# TYPE tritonc_resident_bytes gauge
tritonc_resident_bytes 2147483648
# HELP tritonc_stage_seconds_total Time.
# TYPE tritonc_stage_seconds_total counter
tritonc_stage_seconds_total{stage="ptx"} 0.0000125
`
	if err != nil || n != int64(len(want)) || b.String() != want {
		t.Errorf("%d bytes, %v:\n%s", n, err, b.String())
	}
}
