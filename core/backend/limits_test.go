package backend

import (
	"strings"
	"testing"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// TestLimits: each kind has its limits, which the settings replace.
func TestLimits(t *testing.T) {
	other := &ToolKind{Name: "other"} // has none of its own
	for _, tt := range []struct {
		tool            *ToolKind
		seconds, memory string
		want            Limits
	}{
		{other, "", "", Limits{5 * time.Minute, 4 << 30}},
		{asm, "", "", Limits{10 * time.Minute, 16 << 30}},
		{other, "5", "", Limits{5 * time.Second, 4 << 30}},
		{asm, "3600", "1024", Limits{time.Hour, 1 << 30}},
	} {
		got, err := tt.tool.limits(map[string]string{toolSeconds.Name: tt.seconds, toolMemory.Name: tt.memory})
		if err != nil || got != tt.want {
			t.Errorf("%+v: %+v, %v", tt, got, err)
		}
	}
	for _, bad := range []string{"0", "-1", "1.5", "10s", "99999999999999999999", "4294967297"} {
		for _, setting := range []sdk.SettingSpec{toolSeconds, toolMemory} {
			_, err := other.limits(map[string]string{setting.Name: bad})
			if err == nil || !strings.Contains(err.Error(), setting.Env[0]+"="+bad+" is not a whole number") {
				t.Errorf("%s=%s: %v", setting.Name, bad, err)
			}
		}
	}
}
