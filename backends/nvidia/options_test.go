package nvidia

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func archFor(t testing.TB, cc string) arch {
	t.Helper()
	a, err := archOf(sdk.Target{Backend: backendName, Arch: cc})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestOptionDefaults: the defaults are those of Triton 3.6's CUDAOptions, and of
// options of our own.
func TestOptionDefaults(t *testing.T) {
	const common = `"allowed_dot_input_precisions":["tf32","tf32x3","ieee","bf16x3","bf16x6"],` +
		`"arch":"smCC","backend_name":"cuda","debug":false,"default_dot_input_precision":"tf32",` +
		`"deprecated_fp8_dot_operand_dtypes":DEP,"enable_fp_fusion":true,"enable_reflect_ftz":true,"extern_libs":{},` +
		`"instrumentation_mode":"","ir_override":null,"launch_cooperative_grid":false,"launch_pdl":false,` +
		`"max_num_imprecise_acc_default":ACC,"maxnreg":null,"num_ctas":1,"num_stages":3,"num_warps":4,` +
		`"prefetch_operands":false,"ptx":"direct","ptx_options":null,"ptx_version":null,"sanitize_overflow":true,"skip_passes":[],"supported_fp8_dtypes":FP8,"tma":"auto","warp_size":32,"wgmma":"auto"`
	tests := []struct{ cc, dep, acc, fp8 string }{
		{"80", `[]`, "0", `["fp8e4b15","fp8e5"]`},
		{"86", `[]`, "0", `["fp8e4b15","fp8e5"]`},
		{"89", `[]`, "0", `["fp8e4b15","fp8e4nv","fp8e5"]`},
		{"90", `["fp8e4b15"]`, "1073741824", `["fp8e4b15","fp8e4nv","fp8e5"]`},
	}
	for _, tt := range tests {
		want := "{" + strings.NewReplacer("CC", tt.cc, "DEP", tt.dep, "ACC", tt.acc, "FP8", tt.fp8).Replace(common) + "}"
		got, err := parseOptions(archFor(t, tt.cc), "")
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("cuda:%s:\ngot  %s\nwant %s", tt.cc, got, want)
		}
	}
}

func TestOptionValues(t *testing.T) {
	given := `{"num_warps":"8","num_ctas":2,"maxnreg":64,"ptx_version":"83","ptx_options":"-O2 --maxrregcount 40",` +
		`"enable_fp_fusion":"false","ir_override":"/x/k.ttgir","arch":"sm80"}`
	text, err := parseOptions(archFor(t, "90"), given)
	if err != nil {
		t.Fatal(err)
	}
	o, err := readOptions(text)
	if err != nil {
		t.Fatal(err)
	}
	if o.NumWarps != 8 || o.NumCTAs != 2 || *o.MaxNReg != 64 || *o.PTXVersion != 83 || *o.PTXOptions != "-O2 --maxrregcount 40" ||
		o.EnableFPFusion || *o.IROverride != "/x/k.ttgir" || o.Arch != "sm80" {
		t.Errorf("got %+v", o)
	}
	if _, err := readOptions("{}"); err == nil {
		t.Error("options that are none were read")
	}
}

func TestOptionMistakes(t *testing.T) {
	tests := []struct{ cc, given, message string }{
		{"80", `{"num_warps":3}`, "option num_warps: 3 is not a power of two between 1 and 32"},
		{"80", `{"num_warps":0}`, "0 is not a power of two"},
		{"80", `{"num_warps":64}`, "64 is not a power of two between 1 and 32"},
		{"80", `{"num_ctas":2}`, "cuda:80 has no clusters"},
		{"80", `{"skip_passes":["tritongpu-coalesce","convert-triton-to-tritongpu"]}`, "cannot be left out: every later pass needs layouts"},
		{"80", `{"skip_passes":["coalesce"]}`, "there is no pass \"coalesce\" to leave out"},
		{"90", `{"num_ctas":3}`, "3 is not a power of two between 1 and 16"},
		{"80", `{"num_stages":-1}`, "-1 is negative"},
		{"80", `{"warp_size":64}`, "a warp has 32 threads"},
		{"80", `{"maxnreg":8}`, "8 is not between 16 and 255"},
		{"80", `{"ptx_version":89}`, "89 is none of 70, "},
		{"80", `{"ir_override":"k.cubin"}`, `"k.cubin" does not end in one of .ttir, .ttgir, .llir, .ptx`},
		{"80", `{"default_dot_input_precision":"bf16"}`, `"bf16" is none of tf32`},
		{"80", `{"allowed_dot_input_precisions":"ieee"}`, `"tf32" is none of the allowed ieee`},
		{"80", `{"supported_fp8_dtypes":["fp8e3"]}`, `"fp8e3" is none of`},
		{"80", `{"extern_libs":"libdevice=/x.bc"}`, `libdevice: there is no file "/x.bc"`},
		{"80", `{"arch":"80"}`, `"80" is not of the form sm80`},
		{"80", `{"arch":"sm70"}`, `"sm70" is not an architecture of cuda:80, `},
		{"80", `{"max_num_imprecise_acc_default":-1}`, "-1 is negative"},
		{"80", `{"backend_name":"hip"}`, `"backend_name" is derived`},
		{"80", `{"instrumentation_mode":"fpsan"}`, `"fpsan" is none of "", consan`},
		{"80", `{"num_warp":4}`, `unknown option "num_warp"`},
		{"80", `{"waves_per_eu":4}`, `unknown option "waves_per_eu"`},
		{"80", `{"debug":"perhaps"}`, `is not true or false`},
	}
	for _, tt := range tests {
		_, err := parseOptions(archFor(t, tt.cc), tt.given)
		var l sdk.Diagnostics
		if !errors.As(err, &l) || len(l) != 1 {
			t.Errorf("%s: got %v, want one diagnostic", tt.given, err)
			continue
		}
		if !strings.Contains(l[0].Message, tt.message) || l[0].Help == "" && !strings.Contains(tt.message, "derived") {
			t.Errorf("%s: %q, help %q", tt.given, l[0].Message, l[0].Help)
		}
	}
	_, err := parseOptions(archFor(t, "80"), `{"num_warps":3,"num_stages":-1}`)
	var l sdk.Diagnostics
	if !errors.As(err, &l) || len(l) != 2 {
		t.Errorf("two mistakes: %v", err)
	}
}

// TestOptionSpecs: the table's defaults are values that it accepts, and each row
// is documented.
func TestOptionSpecs(t *testing.T) {
	for _, s := range optionSpecs {
		if s.Doc == "" || !json.Valid([]byte(s.Default)) {
			t.Errorf("option %s: doc %q, default %s", s.Name, s.Doc, s.Default)
		}
	}
}

func TestTargets(t *testing.T) {
	f := describe()
	for _, name := range []string{"cuda:80", "cuda:86", "cuda:89", "cuda:90", "cuda:90:32"} {
		target, err := sdk.ParseTarget(name)
		if err != nil {
			t.Fatal(err)
		}
		if r := f.Supports(target); !r.Supported || r.Target.WarpSize != 32 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, name := range []string{"cuda:70", "cuda:100", "cuda:90:64", "hip:gfx942"} {
		target, err := sdk.ParseTarget(name)
		if err != nil {
			t.Fatal(err)
		}
		if r := f.Supports(target); r.Supported {
			t.Errorf("%s: %+v", name, r)
		}
	}
	_, err := archOf(sdk.Target{Backend: "cuda", Arch: "100"})
	if err == nil || !strings.Contains(err.Error(), "cuda:100") {
		t.Errorf("got %v", err)
	}
}
