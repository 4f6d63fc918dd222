package nvidia

import (
	"reflect"
	"strings"
	"testing"
)

func TestReadPTX(t *testing.T) {
	const module = ".version 8.4\n.target sm_80\n.extern .shared .align 16 .b8 global_smem[];\n" +
		"// .visible .entry no(\n.func f()\n{\n}\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n.reqntid 64, 2, 1\n{\n\tret;\n}\n"
	k, err := readPTX(module)
	if want := (kernelFacts{name: "k", threads: 128, dynamicShared: true}); err != nil || k != want {
		t.Errorf("got %+v, %v", k, err)
	}
	for text, want := range map[string]string{
		"":                                  "there is no kernel",
		".visible .entry a()\n.entry b()":   "two kernels here, a and b",
		".entry a()\n.reqntid many":         `"many" is not a number of threads`,
		".entry a()\n.reqntid 4096":         `"4096" is not a number of threads`,
		".visible .entry quiet()\n{\nret;}": "",
	} {
		_, err := readPTX(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestWithoutDebugTarget(t *testing.T) {
	for in, want := range map[string]string{
		"\n.target sm_80, debug\n.x , debug": "\n.target sm_80\n.x , debug",
		"\n.target sm_80\n":                  "\n.target sm_80\n",
		"\n.target sm_80, debug":             "\n.target sm_80",
		"none":                               "none",
	} {
		if got := withoutDebugTarget(in); got != want {
			t.Errorf("%q gave %q, want %q", in, got, want)
		}
	}
}

func TestPtxasMessage(t *testing.T) {
	tests := []struct {
		line, message string
		at            int
		ok            bool
	}{
		{"ptxas k.ptx, line 98; error   : Modifier '.a' cannot be combined", "Modifier '.a' cannot be combined", 98, true},
		{"ptxas k.ptx, line 5; fatal   : Unsupported .version 8.7; current version is '8.4'", "Unsupported .version 8.7; current version is '8.4'", 5, true},
		{"ptxas error   : Entry function 'k' uses too much shared data", "Entry function 'k' uses too much shared data", 0, true},
		{"ptxas fatal   : Ptx assembly aborted due to errors", "Ptx assembly aborted due to errors", 0, true},
		{"ptxas info    : 0 bytes gmem", "0 bytes gmem", 0, false},
		{"ptxas k.ptx, line 9; warning : something", "something", 9, false},
		{"    0 bytes stack frame", "", 0, false},
		{"", "", 0, false},
	}
	for _, tt := range tests {
		at, message, ok := ptxasMessage(tt.line)
		if at != tt.at || message != tt.message || ok != tt.ok {
			t.Errorf("%q: %d, %q, %v", tt.line, at, message, ok)
		}
	}
}

func TestReadUsage(t *testing.T) {
	const said = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for helper
    8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Function properties for k
    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 26 registers, used 1 barriers, 400 bytes cmem[0]
`
	if got, want := readUsage(said, "k"), (&usage{Registers: 26, SpillStores: 12, SpillLoads: 20, Stack: 16}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, text := range []string{"", said[:len(said)-60], strings.Replace(said, "16 bytes", "some", 1)} {
		if got := readUsage(text, "k"); got != nil {
			t.Errorf("%q gave %+v", text, got)
		}
	}
}

func TestSourceOf(t *testing.T) {
	const ptx = `.visible .entry a()
{
	.loc	1 7 0                           // a.py:7:0
	mov;
	.loc	2 9 5, function_name $x, inlined_at 1 8 3
	add;
}
.visible .entry b()
{
	ret;
}
	.file	1 "a.py"
	.file	2 "dir/b.py"
`
	tests := []struct {
		line   int
		file   string
		at     int
		column int
		ok     bool
	}{
		{2, "", 0, 0, false},
		{4, "a.py", 7, 0, true},
		{6, "dir/b.py", 9, 6, true},
		{10, "", 0, 0, false}, // of another function
		{99, "", 0, 0, false},
	}
	for _, tt := range tests {
		file, at, column, ok := sourceOf(ptx, tt.line)
		if file != tt.file || at != tt.at || column != tt.column || ok != tt.ok {
			t.Errorf("line %d: %s:%d:%d %v", tt.line, file, at, column, ok)
		}
	}
	if got := lineOf(ptx, 4); got != "\tmov;" {
		t.Errorf("line 4 is %q", got)
	}
}

func TestCallOf(t *testing.T) {
	const ptx = ".extern .func f\n.extern .func g\n{\n\tcall.uni (r), \n\tg, \n\t(p);\n\tmov f;\n\t{ call (r), f, (p); }\n}\n"
	for name, want := range map[string]int{"f": 8, "g": 5, "h": 0} {
		if got := callOf(ptx, name); got != want {
			t.Errorf("%s is called in line %d, want %d", name, got, want)
		}
	}
}
