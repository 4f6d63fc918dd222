package tune

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch"
)

func config(block int64, more ...frontend.ConfigSetting) Config {
	return append(Config{{Name: "BLOCK", Value: block}}, more...)
}

func warps(n int64) frontend.ConfigSetting {
	return frontend.ConfigSetting{Name: "num_warps", Value: n, Option: true}
}

func TestConfig(t *testing.T) {
	c := Config{
		{Name: "BLOCK", Value: int64(64)},
		{Name: "EVEN", Value: true},
		{Name: "SCALE", Value: 2.0},
		{Name: "T", Value: "tf32"},
		{Name: "N", Value: nil},
		warps(8),
		{Name: "maxnreg", Value: int64(128), Option: true},
	}
	if got, want := c.String(), "BLOCK: 64, EVEN: True, SCALE: 2.0, T: tf32, N: None, num_warps: 8, num_ctas: 1, num_stages: 3, maxnreg: 128"; got != want {
		t.Errorf("Triton prints %s, not %s", want, got)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"kwargs":{"BLOCK":64,"EVEN":true,"SCALE":2,"T":"tf32","N":null},"num_warps":8,"maxnreg":128}`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
	var d Config
	if err := json.Unmarshal(text, &d); err != nil || d.Text() != "BLOCK=64, EVEN=True, SCALE=2, T=tf32, N=None, num_warps=8, maxnreg=128" {
		t.Errorf("%v, %v", d.Text(), err)
	}
	if err := json.Unmarshal([]byte(`{"kwargs": {"BLOCK": [1]}}`), &d); err == nil || !strings.Contains(err.Error(), "BLOCK: [1] is not a value") {
		t.Error(err)
	}
	if !config(1, warps(4)).Same(Config{warps(4), {Name: "BLOCK", Value: int64(1)}}) || config(1).Same(config(1, warps(4))) {
		t.Error("the order of settings makes a difference, or their number none")
	}
}

// TestKey has the key that Triton 3.6 makes: values of key in its order, then types.
func TestKey(t *testing.T) {
	info := &frontend.KernelInfo{Params: []frontend.ParamInfo{{Name: "x"}, {Name: "n"}, {Name: "s"}, {Name: "y"}, {Name: "B", Constexpr: true}}}
	args := []launch.Arg{
		{Name: "y", Value: array.New(array.Named("fp8e4nv"), 4)},
		{Name: "n", Value: int64(4)},
		{Name: "s", Value: 2.0},
		{Name: "x", Value: array.New(array.Named("fp16"), 4)},
		{Name: "B", Value: int64(16)},
	}
	tuning := &frontend.Tuning{Key: []string{"s", "n"}}
	key := keyOf(info, tuning, args)
	if got, want := key.String(), "(2.0, 4, 'torch.float16', 'torch.float8_e4m3fn')"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	text, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	var again Key
	if err := json.Unmarshal(text, &again); err != nil || again.String() != key.String() {
		t.Errorf("%s is read as %s, %v", text, again, err)
	}
	if got, want := keyOf(info, nil, args).String(), "(4, 2.0, 'torch.float16', 'torch.float8_e4m3fn')"; got != want {
		t.Errorf("without a decorator %s, want %s", got, want)
	}
}

func entry(kernel, source, device string, n int64, times ...float64) *Entry {
	e := &Entry{Kernel: kernel, Source: source, Device: device, Target: "cuda:90", Measure: "do_bench", Key: Key{n, "torch.float32"}}
	for i, us := range times {
		m := Measured{Config: config(int64(16<<i), warps(4)), Time: us}
		if us == 0 {
			m.Error = "OutOfResources: shared memory"
		}
		e.Configs = append(e.Configs, m)
	}
	e.sort()
	return e
}

func TestFile(t *testing.T) {
	f := &File{}
	f.Add(entry("k", "aa", "H200", 64, 0, 7, 5), entry("k", "aa", "H200", 128, 3), entry("j", "aa", "A100", 64, 1))
	// Another run of the first, with a configuration that the file lacks.
	more := entry("k", "aa", "H200", 64, 2, 9)
	more.Configs = append(more.Configs, Measured{Config: config(4096), Error: "too large"})
	f.Add(more)
	text, err := f.Text()
	if err != nil {
		t.Fatal(err)
	}
	g, err := Read("t.json", text)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := g.Text(); err != nil || string(again) != string(text) {
		t.Errorf("the file is read as another one: %v", err)
	}
	found, err := g.Find(Want{Kernel: "k", Source: "aa", Key: Key{int64(64), "torch.float32"}, Device: "H200", Target: "cuda:90"})
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	var got []string
	for _, m := range found[0].Configs {
		got = append(got, m.Config.Text()+": "+python(m.Time)+m.Error)
	}
	if want := "BLOCK=16, num_warps=4: 2.0; BLOCK=64, num_warps=4: 5.0; BLOCK=32, num_warps=4: 9.0; BLOCK=4096: 0.0too large"; strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
	if best := found[0].Best(); best.Time != 2 || best.Duration() != 2000 {
		t.Errorf("the best is %+v", best)
	}
	if entry("k", "", "", 1, 0, 0).Best() != nil {
		t.Error("where all fail there is no best")
	}
	for _, tt := range []struct {
		want    Want
		says    string
		devices int
	}{
		{Want{Kernel: "other"}, "it has no times of 'other', but of 'j', 'k'", 0},
		{Want{Kernel: "k", Source: "bb"}, "its times of 'k' are of another version of the kernel's file, which is bb now and was aa", 0},
		{Want{Kernel: "k", Source: "aa", Target: "cuda:80"}, "its times of 'k' are not of cuda:80, but of cuda:90", 0},
		{Want{Kernel: "k", Source: "aa", Target: "cuda:90", Device: "H100"}, "its times of 'k' are not of the device H100, but of H200", 1},
		{Want{Kernel: "k", Source: "aa", Target: "cuda:90", Device: "H200", Key: Key{int64(1)}}, "it has no times of 'k' for (1,), but for (128, 'torch.float32'), (64, 'torch.float32')", 0},
	} {
		_, err := g.Find(tt.want)
		var m *Mismatch
		if !errors.As(err, &m) || m.Text != tt.says || len(m.Devices) != tt.devices {
			t.Errorf("%+v: %v, want %s", tt.want, err, tt.says)
		}
	}
}

func TestReadMistakes(t *testing.T) {
	for _, tt := range []struct{ text, says string }{
		{"", "it ends too early"},
		{`{"version": 1, "entries": [`, "it ends too early"},
		{`[]`, "cannot unmarshal array"},
		{`{"version": 2}`, "its version is 2, and this tritonc reads version 1"},
		{`{"version": 1} x`, "something follows the object"},
		{`{"version": 1, "times": []}`, `unknown field "times"`},
		{`{"version": 1, "entries": [null]}`, "entry 0 has no kernel"},
		{`{"version": 1, "entries": [{"kernel": "k", "key": [], "configs": [{"config": {"kwargs": {}}, "us": 0}]}]}`, "configuration 0 of entry 0 has neither"},
		{`{"version": 1, "entries": [{"kernel": "k", "key": [{}], "configs": []}]}`, "{} is not a value"},
	} {
		if _, err := Read("t.json", []byte(tt.text)); err == nil || !strings.HasPrefix(err.Error(), "t.json is not a file of tritonc tune: ") || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.says)
		}
	}
}

func TestSpace(t *testing.T) {
	got, err := Space([]string{"B=16:64:x2", "num_warps=4, 8", "EVEN=True"})
	want := `[{"B":16,"num_warps":4,"EVEN":true},{"B":16,"num_warps":8,"EVEN":true},{"B":32,"num_warps":4,"EVEN":true},` +
		`{"B":32,"num_warps":8,"EVEN":true},{"B":64,"num_warps":4,"EVEN":true},{"B":64,"num_warps":8,"EVEN":true}]`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	for text, want := range map[string]string{
		"A=1:7:3":                                `[{"A":1},{"A":4},{"A":7}]`,
		"A=0:40:16,64":                           `[{"A":0},{"A":16},{"A":32},{"A":64}]`,
		"A=5:7":                                  `[{"A":5},{"A":6},{"A":7}]`,
		"A=None,1.5,'ieee'":                      `[{"A":null},{"A":1.5},{"A":"ieee"}]`,
		"A=4:9223372036854775807:x1099511627776": `[{"A":4},{"A":4398046511104}]`,
	} {
		if got, err := Space([]string{text}); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"A":             "is not of the form NAME=VALUES",
		"A=":            "is not of the form NAME=VALUES",
		"A=1,,2":        "a value is missing",
		"A=8:1":         "8:1 is not a range",
		"A=1:8:x1":      "never reaches its end",
		"A=0:8:x2":      "never reaches its end",
		"A=1:2:3:4":     "is not a range",
		"A=a:b":         "is not a range",
		"A=1:1000000:1": "has more than 65536 values",
		"A=a,b":         "a is not a number, True, False or None; strings have quotes, as 'a'",
		"A='a,b":        "strings have quotes, as 'a'",
	} {
		if _, err := Space([]string{text}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", text, err, says)
		}
	}
	if _, err := Space([]string{"A=1:300", "B=1:300"}); err == nil || !strings.Contains(err.Error(), "the space has more than 65536 configurations") {
		t.Error(err)
	}
	if _, err := Space([]string{"A=1", "A=2"}); err == nil || !strings.Contains(err.Error(), "A is given twice") {
		t.Error(err)
	}
}
