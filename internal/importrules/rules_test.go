package importrules

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tritonc/tritonc"

// stdlibOnly in rule.external says that a room imports nothing but Go's own
// library and the rooms it lists.
var stdlibOnly = []string{}

// A rule says what the packages of one room may depend on, directly or through
// others. Paths are relative to the module; "x/..." is x and all below it.
type rule struct {
	room string
	// ours are the rooms it may depend on. A room may always use itself.
	ours []string
	// external, when not nil, lists the prefixes of the only foreign modules
	// that it may depend on.
	external []string
	why      string
}

// natsClient is what a program links that speaks with a NATS server.
var natsClient = []string{"github.com/nats-io/nats.go", "github.com/nats-io/nkeys", "github.com/nats-io/nuid", "github.com/klauspost/compress", "golang.org/x/crypto", "golang.org/x/sys"}

// programsApart are libraries that cost a program which links them much room and time of
// each start, and the rooms that may: the NATS server is 17 MB and 4 ms, gonum's plots are
// 7 MB and 2 ms.
var programsApart = []struct {
	library string
	rooms   []string
}{
	{"github.com/nats-io/nats-server", []string{"internal/natstest", "cmd/tritonc-nats"}},
	{"gonum.org/v1/plot", []string{"driver/bench/plot", "cmd/tritonc-plot"}},
}

// spans is what a room links that records spans: OpenTelemetry's API, without the SDK.
var spans = []string{
	"go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/baggage", "go.opentelemetry.io/otel/codes", "go.opentelemetry.io/otel/internal",
	"go.opentelemetry.io/otel/propagation", "go.opentelemetry.io/otel/semconv", "go.opentelemetry.io/otel/trace", "go.opentelemetry.io/auto/sdk", "github.com/cespare/xxhash",
}

// Groups of rooms, from the ground up: each floor sees those below it.
var (
	irFloor       = []string{"core/diag", "core/slab", "core/work", "core/ir/..."}
	dialectFloor  = append(slices.Clone(irFloor), "core/layout", "core/dialect/...")
	analysisFloor = append(slices.Clone(dialectFloor), "core/analysis/...", "core/rewrite/...", "core/pass/...")
	passFloor     = append(slices.Clone(analysisFloor), "core/transform/std", "core/transform/facts", "core/transform/ttgir/dots", "core/transform/ttgir/forloop", "core/transform/ttgir/machine", "core/transform/ttgir/masks", "core/transform/ttgir/sharedmem", "core/transform/ttgir/tensors")
	authorFloor   = []string{"plugin-sdk", "plugin-sdk/internal/...", "plugin-sdk/proto/...", "plugin-sdk/target"}
	kitFloor      = []string{"core/filememo", "core/input", "core/trust", "core/plugin/wire"}
	lowerFloor    = append(slices.Clone(analysisFloor), "core/transform/...", "core/lower/...", "core/llir/...")
)

// rules are tried in order; the first whose room matches a package holds for
// it. A package that no rule matches fails the test, so that each new room gets
// a decision.
var rules = []rule{
	{"core/diag", nil, stdlibOnly, "every room returns diagnostics"},
	{"core/work", nil, stdlibOnly, "every room counts what it visits"},
	{"core/slab", nil, stdlibOnly, "what is allocated many at a time knows of none"},
	{"core/promtext", nil, stdlibOnly, "how figures are written knows none"},
	{"core/span", nil, spans, "every room may say what it waits for, and none decides who is told"},
	{"core/work/...", []string{"core/work"}, stdlibOnly, "contexts for tests"},
	{"core/input", nil, stdlibOnly, "which files are read whole is not an affair of what is in them"},
	{"core/trust", nil, stdlibOnly, "owners and modes of files are the system's affair"},
	{"core/filememo", []string{"core/trust"}, stdlibOnly, "a memo on disk knows nothing of what it remembers"},
	{"core/layout", nil, stdlibOnly, "layouts are pure mathematics"},
	{"core/layout/...", []string{"core/layout"}, stdlibOnly, "pictures need the layout alone"},
	{"core/ir", []string{"core/diag", "core/slab", "core/work"}, stdlibOnly, "the IR is the ground floor"},
	{"core/ir/diff", irFloor, []string{"github.com/rogpeppe/go-internal/diff"}, "comparing modules needs their text"},
	{"core/ir/...", []string{"core/diag", "core/slab", "core/work", "core/ir"}, stdlibOnly, "the text form needs the IR alone"},
	{"core/dialect/...", append(slices.Clone(irFloor), "core/layout"), stdlibOnly, "dialects are tables over the IR"},
	{"core/analysis/...", append(slices.Clone(dialectFloor), "core/rewrite/..."), stdlibOnly, "analyses read"},
	{"core/rewrite/...", dialectFloor, stdlibOnly, "pattern drivers know no pass"},
	{"core/pass/...", dialectFloor, stdlibOnly, "the runner knows no pass"},
	{"core/transform/ttgir", append(slices.Clone(analysisFloor), "core/transform/std", "core/transform/facts", "core/transform/ttgir/..."), stdlibOnly, "the list of the passes below it"},
	{"core/transform/ttgir/layouts", passFloor, stdlibOnly, "packages of passes do not know one another"},
	{"core/transform/ttgir/matrix", passFloor, stdlibOnly, "packages of passes do not know one another"},
	{"core/transform/ttgir/loops", passFloor, stdlibOnly, "packages of passes do not know one another"},
	{"core/transform/ttgir/memory", passFloor, stdlibOnly, "packages of passes do not know one another"},
	{"core/transform/ttgir/pipeline", passFloor, stdlibOnly, "packages of passes do not know one another"},
	{"core/transform/ttgir/sharedmem", append(slices.Clone(dialectFloor), "core/transform/ttgir/tensors"), stdlibOnly, "buffers that tensors pass through"},
	{"core/transform/ttgir/dots", append(slices.Clone(dialectFloor), "core/transform/ttgir/machine", "core/transform/ttgir/tensors"), stdlibOnly, "what passes ask of a target's matrix unit knows no pass"},
	{"core/transform/ttgir/forloop", dialectFloor, stdlibOnly, "what several packages of passes ask knows no pass"},
	{"core/transform/ttgir/machine", dialectFloor, stdlibOnly, "what several packages of passes ask knows no pass"},
	{"core/transform/ttgir/masks", dialectFloor, stdlibOnly, "what several packages of passes ask knows no pass"},
	{"core/transform/ttgir/tensors", dialectFloor, stdlibOnly, "what several packages of passes ask knows no pass"},
	{"core/transform/facts", append(slices.Clone(dialectFloor), "core/pass"), stdlibOnly, "what passes need and give knows no pass"},
	{"core/transform/ttir", append(slices.Clone(analysisFloor), "core/transform/std", "core/transform/facts"), stdlibOnly, "passes change the IR, they do not lower it"},
	{"core/transform/inspect", analysisFloor, stdlibOnly, "what tells of analyses changes nothing that a pass needs"},
	{"core/transform/std", analysisFloor, stdlibOnly, "passes change the IR, they do not lower it"},
	{"core/llir/...", []string{"core/diag", "core/slab", "core/work"}, []string{"github.com/llir/", "github.com/mewmew/", "github.com/pkg/errors"}, "LLVM IR is separate from our IR"},
	{"core/lower/...", lowerFloor, []string{"github.com/llir/", "github.com/mewmew/", "github.com/pkg/errors"}, "lowering ends the trip through core"},
	{"core/frontend/syntax", []string{"core/diag", "core/slab", "core/work"}, stdlibOnly, "a Python parser has nothing to do with IR"},
	{"core/frontend/...", append(slices.Clone(dialectFloor), "core/frontend/..."), stdlibOnly, "the front end builds ttir and goes no further"},
	{"core/cache/...", []string{"core/diag", "core/filememo", "core/promtext", "core/trust"}, stdlibOnly, "a store of bytes"},
	{"core/plugin/wire", append(slices.Clone(authorFloor), "core/diag"), nil, "diagnostics on both sides of the border"},
	{"core/plugin/process", []string{"core/trust", "plugin-sdk/..."}, nil, "processes, whatever is spoken with them"},
	{"core/plugin/manifest", []string{"core/diag"}, stdlibOnly, "what a backend is made of is told without starting one"},
	{"core/plugin/install", []string{"core/diag", "core/plugin/manifest", "core/trust", "plugin-sdk/..."}, nil, "what is installed is files; whoever calls it starts their program"},
	{"core/plugin/conform", append(slices.Clone(dialectFloor), "core/filememo", "core/trust", "core/plugin", "core/plugin/manifest", "core/plugin/process", "core/plugin/wire", "core/span", "plugin-sdk/..."), nil, "what a host relies on, asked of a program"},
	{"core/plugin/...", []string{"core/diag", "core/filememo", "core/span", "core/trust", "core/plugin/wire", "plugin-sdk/..."}, nil, "the host's half of the contract: text, JSON and processes"},
	{"core/project", []string{"core/diag", "core/input", "core/plugin/manifest"}, []string{"github.com/pelletier/go-toml/v2"}, "what a project says is read without looking for a backend"},
	{"core/backend", slices.Concat(analysisFloor, authorFloor, kitFloor, []string{"core/transform/facts"}), nil, "a kit for backends of every kind of machine"},
	{"core/backend/llvm", slices.Concat(lowerFloor, authorFloor, kitFloor, []string{"core/backend"}), nil, "what a vendor's own package would import that has LLVM make its code"},
	{"core", []string{"core/...", "plugin-sdk/..."}, nil, "the trip knows no backend, device or flag"},
	{"plugin-sdk/target", nil, stdlibOnly, "a program that launches kernels links nothing of the wire"},
	{"plugin-sdk", authorFloor, nil, "a backend author sees nothing of core, nor of the host's end"},
	{"plugin-sdk/internal/...", authorFloor[1:], nil, "what both ends know knows neither"},
	{"plugin-sdk/...", []string{"plugin-sdk/..."}, nil, "a backend author sees nothing of core"},
	{"backends/nvidia/...", slices.Concat(lowerFloor, authorFloor, kitFloor, []string{"core/backend/...", "backends/nvidia/..."}), nil, "backends import core's libraries and the sdk, never one another"},
	{"backends/amd/...", slices.Concat(lowerFloor, authorFloor, kitFloor, []string{"core/backend/...", "backends/amd/..."}), nil, "backends import core's libraries and the sdk, never one another"},
	{"backends/npu/chip", nil, stdlibOnly, "what is known of chips is for simulators, too"},
	{"backends/npu/...", slices.Concat(analysisFloor, authorFloor, kitFloor, []string{"core/backend", "core/transform/facts", "core/transform/std", "core/transform/ttir", "backends/npu/..."}), nil, "a machine without threads has nothing of the passes and the lowering for GPUs"},
	{"driver/bundle/...", []string{"core/diag", "core/slab", "core/work", "core/frontend/syntax", "core/input", "driver", "driver/array", "driver/kernel", "driver/launch/calc", "plugin-sdk/target"}, nil, "a program that carries its kernels compiled carries no compiler"},
	{"driver/tune", []string{"core/...", "plugin-sdk/...", "driver/..."}, nil, "tuning compiles and launches"},
	{"driver/launch/...", []string{"core/...", "plugin-sdk/...", "driver/..."}, nil, "specialization at launch compiles"},
	{"driver/kernel", []string{"core/diag", "core/work", "driver", "driver/array", "plugin-sdk/target"}, stdlibOnly, "a program that carries its kernels compiled carries no compiler"},
	{"driver", []string{"core/diag", "core/work", "plugin-sdk/target"}, stdlibOnly, "what a program needs of a device is not a device's affair"},
	{"driver/bench/table", nil, stdlibOnly, "numbers on paper know no device"},
	{"driver/bench/plot", []string{"driver/bench/table"}, nil, "a picture is of a table"},
	{"driver/bench", []string{"core/diag", "core/work", "driver", "plugin-sdk/target"}, stdlibOnly, "measuring needs a device, whichever it is"},
	{"driver/array/expr", []string{"core/diag", "core/slab", "core/work", "core/frontend/syntax", "driver/array", "driver/launch/calc"}, stdlibOnly, "expressions over arrays know no device"},
	{"driver/array/arrayfile", []string{"core/diag", "core/slab", "core/work", "core/frontend/syntax", "core/input", "driver/array"}, stdlibOnly, "files of arrays know no device"},
	{"driver/simulated", []string{"backends/npu/chip", "core/diag", "core/work", "driver", "driver/sim/...", "plugin-sdk/target"}, nil, "a device runs binaries, it does not compile"},
	{"driver/sim/npu", []string{"backends/npu/chip", "core/diag", "core/work", "driver/sim/simt"}, stdlibOnly, "what programs of NPUs mean is said by their format; chips and costs are data"},
	{"driver/sim/amdgcn", []string{"core/diag", "core/work", "driver/sim/simt"}, stdlibOnly, "what reads one machine's code knows no other's"},
	{"driver/sim/page", []string{"backends/npu/chip", "core/diag", "core/work", "driver/sim/..."}, nil, "a page is of what any simulator counted"},
	{"driver/sim/...", []string{"core/diag", "core/work", "driver/sim/..."}, nil, "the simulator knows code for GPUs, and no device of ours"},
	{"driver/native", []string{"core/diag", "core/work", "plugin-sdk/..."}, nil, "what drivers over a vendor's library share knows no vendor"},
	{"driver/ascend/...", []string{"backends/npu/chip", "core/diag", "core/work", "driver/ascend", "driver/native", "plugin-sdk/..."}, nil, "a driver plugin speaks with a vendor's library and the SDK"},
	{"driver/hip/...", []string{"core/diag", "core/work", "driver", "driver/hip", "driver/image", "driver/native", "plugin-sdk/..."}, nil, "a driver plugin speaks with a vendor's library and the SDK"},
	{"driver/...", []string{"core/diag", "core/work", "core/layout", "core/plugin/process", "core/trust", "core/plugin/wire", "plugin-sdk/...", "driver/..."}, nil, "a device runs binaries, it does not compile"},
	{"examples/...", []string{"backends/npu/chip", "core/diag", "core/input", "core/slab", "core/work", "core/frontend/syntax", "driver/...", "plugin-sdk/target", "examples/..."}, nil, "a program that carries its kernels compiled carries no compiler"},
	{"farm/sign", []string{"core/diag", "core/input", "core/trust"}, stdlibOnly, "who is believed is not an affair of what is sent, nor how"},
	{"farm/remote", []string{"core/cache", "core/diag", "core/filememo", "core/promtext", "core/trust", "farm/bus", "farm/sign", "core/input"}, natsClient, "a store of bytes"},
	{"farm/local", []string{"core/filememo", "core/trust"}, []string{"github.com/gofrs/flock", "golang.org/x/sys"}, "who starts a server need not speak with it"},
	{"farm/bus", []string{"core/diag"}, natsClient, "a connection knows nothing of what is sent over it"},
	{"farm/compile", []string{"core/...", "plugin-sdk/...", "farm/bus", "farm/work"}, nil, "a compile as a task knows no flag"},
	{"farm/work", []string{"core/diag", "core/promtext", "core/span", "farm/bus"}, slices.Concat(natsClient, spans), "a queue does not know what its tasks are"},
	{"farm/measure", []string{"core/...", "plugin-sdk/...", "driver/...", "farm/bus", "farm/work"}, nil, "what is measured was compiled before"},
	{"farm/times", []string{"core/...", "plugin-sdk/...", "driver/...", "farm/bus", "farm/sign"}, nil, "times are what driver/tune measures"},
	{"cmd/tritonc/tracing", []string{"core/span"}, nil, "where spans go is not an affair of what they are about"},
	{"cmd/tritonc/serve/...", []string{"core/...", "plugin-sdk/...", "cmd/tritonc/serve/..."}, nil, "who is served, and when, is not an affair of devices and verbs"},
	{"cmd/tritonc-plot", []string{"driver/bench/plot", "driver/bench/table"}, nil, "who draws a table knows nothing of where it comes from"},
	{"cmd/tritonc-nats", []string{"core/filememo", "core/trust", "farm/local"}, nil, "a server knows nothing of what it keeps"},
	{"cmd/...", []string{"backends/npu/chip", "core/...", "plugin-sdk/...", "driver/...", "farm/...", "cmd/..."}, nil, "the command reaches a backend only as a process; chips are what simulated devices know"},
	{"internal/golden", nil, nil, "a test library"},
	{"internal/natstest", nil, nil, "a test library"},
	{"internal/refkernels", nil, stdlibOnly, "a test library"},
	{"internal/testseed", nil, nil, "a test library"},
	{"internal/importrules", nil, stdlibOnly, "this test"},
	{"test/deploy", []string{"core/...", "driver/...", "plugin-sdk/...", "farm/...", "internal/..."}, nil, "files for machines are held against what runs there"},
	{"test/...", []string{"core/...", "driver/...", "plugin-sdk/...", "backends/...", "internal/...", "test/..."}, nil, "suites hold the product against references; no product code is here"},
	{"internal/...", []string{"core/...", "driver/...", "plugin-sdk/...", "backends/...", "internal/..."}, nil, "test libraries"},
}

// matches reports whether the package path pkg is in room.
func matches(room, pkg string) bool {
	if base, ok := strings.CutSuffix(room, "/..."); ok {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	return pkg == room
}

func ruleFor(pkg string) (rule, bool) {
	for _, r := range rules {
		if matches(r.room, pkg) {
			return r, true
		}
	}
	return rule{}, false
}

// violations returns what is wrong with pkg depending on deps: packages of the
// module by relative path, others by their full path.
func violations(pkg string, deps []string, foreign []string) []string {
	r, ok := ruleFor(pkg)
	if !ok {
		return []string{fmt.Sprintf("%s: no rule covers this package; add one to rules_test.go", pkg)}
	}
	var bad []string
	for _, dep := range deps {
		allowed := dep == pkg || matches(r.room, dep) && strings.HasSuffix(r.room, "/...")
		for _, room := range r.ours {
			allowed = allowed || matches(room, dep)
		}
		if !allowed {
			bad = append(bad, fmt.Sprintf("%s depends on %s: %s (rule %q)", pkg, dep, r.why, r.room))
		}
	}
	for _, dep := range foreign {
		for _, apart := range programsApart {
			if strings.HasPrefix(dep, apart.library) && !slices.Contains(apart.rooms, pkg) {
				bad = append(bad, fmt.Sprintf("%s depends on %s, which is for %s only", pkg, dep, strings.Join(apart.rooms, ", ")))
			}
		}
	}
	if r.external == nil {
		return bad
	}
	for _, dep := range foreign {
		if !slices.ContainsFunc(r.external, func(prefix string) bool { return strings.HasPrefix(dep, prefix) }) {
			bad = append(bad, fmt.Sprintf("%s depends on the foreign %s: %s (rule %q)", pkg, dep, r.why, r.room))
		}
	}
	return bad
}

// TestImportsPointDown holds every package of the module to its rule.
func TestImportsPointDown(t *testing.T) {
	// One line a package: its path, then all packages it depends on.
	cmd := exec.Command("go", "list", "-e", "-deps", "-f",
		`{{if not .Standard}}{{.ImportPath}} {{join .Deps " "}}{{end}}`, module+"/...")
	cmd.Dir = "../.."
	cmd.Stderr = new(strings.Builder)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, cmd.Stderr)
	}
	checked, held := 0, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg, ok := relative(words[0])
		if !ok {
			continue
		}
		checked++
		if r, ok := ruleFor(pkg); ok {
			held[r.room] = true
		}
		var deps, foreign []string
		for _, dep := range words[1:] {
			if path, ours := relative(dep); ours {
				deps = append(deps, path)
			} else if strings.Contains(strings.SplitN(dep, "/", 2)[0], ".") {
				foreign = append(foreign, dep) // a path of Go's own library has no dot in its first part
			}
		}
		for _, v := range violations(pkg, deps, foreign) {
			t.Error(v)
		}
	}
	if checked < 3 {
		t.Fatalf("go list named %d packages of the module", checked)
	}
	for _, r := range rules {
		if !held[r.room] {
			t.Errorf("the rule %q is about no package", r.room)
		}
	}
}

func relative(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// TestRulesBite feeds the checker imports that must be refused.
func TestRulesBite(t *testing.T) {
	tests := []struct {
		pkg     string
		deps    []string
		foreign []string
		ok      bool
	}{
		{"core/ir", []string{"core/diag"}, nil, true},
		{"core/ir", []string{"core/dialect/tt"}, nil, false},
		{"core/ir", nil, []string{"google.golang.org/grpc"}, false},
		{"core/layout", []string{"core/diag"}, nil, false},
		{"core/dialect/ttg", []string{"core/layout", "core/dialect/tt"}, nil, true},
		{"core/dialect/tt", []string{"core/analysis"}, nil, false},
		{"core/transform/ttir", []string{"core/lower"}, nil, false},
		{"core/transform/ttgir", []string{"core/transform/ttgir/loops", "core/pass"}, nil, true},
		{"core/transform/ttgir/loops", []string{"core/transform/ttgir/forloop", "core/pass"}, nil, true},
		{"core/transform/ttgir/loops", []string{"core/transform/ttgir/pipeline"}, nil, false},
		{"core/transform/ttgir/layouts", []string{"core/transform/ttgir"}, nil, false},
		{"core/transform/ttgir/tensors", []string{"core/transform/ttgir/sharedmem"}, nil, false},
		{"core/transform/ttgir/machine", []string{"core/pass"}, nil, false},
		{"core/transform/ttgir/newroom", nil, nil, false},
		{"core/frontend/codegen", []string{"core/transform/ttir"}, nil, false},
		{"core", []string{"backends/nvidia"}, nil, false},
		{"plugin-sdk", []string{"core/diag"}, nil, false},
		{"plugin-sdk", []string{"plugin-sdk/host"}, nil, false},
		{"plugin-sdk/host", []string{"plugin-sdk"}, nil, true},
		{"backends/amd", []string{"plugin-sdk/host"}, nil, false},
		{"backends/nvidia", []string{"core/lower", "plugin-sdk"}, nil, true},
		{"backends/nvidia", []string{"core/backend"}, nil, true},
		{"backends/nvidia", []string{"backends/amd"}, nil, false},
		{"backends/amd", []string{"backends/nvidia"}, nil, false},
		{"backends/amd/gpu", []string{"core/lower"}, nil, true},
		{"core/backend", []string{"core/lower", "plugin-sdk"}, nil, false},
		{"core/backend/llvm", []string{"core/lower", "plugin-sdk"}, nil, true},
		{"backends/npu", []string{"core/backend/llvm"}, nil, false},
		{"core/backend", []string{"core/frontend/syntax"}, nil, false},
		{"core/backend", []string{"backends/nvidia"}, nil, false},
		{"backends/nvidia/cmd/tritonc-backend-nvidia", []string{"backends/nvidia"}, nil, true},
		{"backends/nvidia", []string{"core/frontend/syntax"}, nil, false},
		{"driver/sim/ptx", []string{"driver/sim/simt"}, nil, true},
		{"driver/sim/ptx", []string{"core/lower"}, nil, false},
		{"cmd/tritonc", []string{"core", "core/plugin"}, nil, true},
		{"cmd/tritonc", []string{"backends/nvidia"}, nil, false},
		{"cmd/tritonc", nil, []string{"github.com/nats-io/nats.go"}, true},
		{"cmd/tritonc", nil, []string{"github.com/nats-io/nats-server/v2/server"}, false},
		{"cmd/tritonc-nats", nil, []string{"github.com/nats-io/nats-server/v2/server"}, true},
		{"cmd/tritonc", []string{"driver/bench/table"}, []string{"gonum.org/v1/plot"}, false},
		{"cmd/tritonc-plot", []string{"driver/bench/plot", "driver/bench/table"}, []string{"gonum.org/v1/plot"}, true},
		{"internal/natstest", nil, []string{"github.com/nats-io/nats-server/v2/server"}, true},
		{"farm/bus", []string{"core/cache"}, nil, false},
		{"newroom", nil, nil, false},
	}
	for _, tt := range tests {
		got := violations(tt.pkg, tt.deps, tt.foreign)
		if ok := len(got) == 0; ok != tt.ok {
			t.Errorf("%s <- %v %v: allowed %v, want %v (%v)", tt.pkg, tt.deps, tt.foreign, ok, tt.ok, got)
		}
	}
}
