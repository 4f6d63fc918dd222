// Tritonc-backend-acme is a backend and the driver of its devices in one program:
//
//	tritonc run --target acme:v1 --grid 4 --arg n=1000 --arg BLOCK=256 … vector_add.py
//
// Acme's processor is made up. It runs a program on whole vectors, and its machine
// code is the text that the stage vasm makes of ttir; device.go runs that. Elementwise
// kernels over float32 are all that it can do.
package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.Serve(sdk.Plugin{Backend: backend{}, Driver: driver{}}) }

type backend struct{}

func (backend) Describe(context.Context) (sdk.Facts, error) {
	return sdk.Facts{
		Name: "acme", Version: "1.0", BinaryEnding: "vasm",
		Targets: []sdk.TargetFacts{{Pattern: "acme:v1", WarpSize: 1, Doc: "a vector machine that is made up"}},
		Options: []sdk.OptionSpec{{Name: "num_warps", Type: sdk.Int, Default: "1", Doc: "has no effect here"}},
	}, nil
}

func (backend) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	return []sdk.Stage{{Name: "vasm", Doc: "assembly of acme's vector machine", Run: compile}}, nil
}

// compile makes one instruction of each operation: "add.f32 %2 %x_7 %y_9". Values keep
// their names.
func compile(_ context.Context, in *sdk.StageInput) ([]byte, error) {
	var out strings.Builder
	start := 0 // of the line
	for line := range strings.Lines(string(in.Data)) {
		code, err := instruction(location.ReplaceAllString(strings.TrimSpace(line), ""))
		if err != nil {
			first := start + len(line) - len(strings.TrimLeft(line, " "))
			return nil, in.Errorf(in.Range(first, start+len(line)), "%v", err).
				WithHelp("this machine has loads, stores, and arithmetic on i32 and f32")
		}
		if code != "" {
			out.WriteString(code + "\n")
		}
		start += len(line)
	}
	in.Metadata["shared"] = 0
	return []byte(out.String()), nil
}

var (
	location   = regexp.MustCompile(` loc\([^()]*(\([^()]*\))?\)`)
	definition = regexp.MustCompile(`^(?:(%\w+) = )?([\w.]+) ?(.*)$`)
	parameter  = regexp.MustCompile(`(%\w+): `)
	operands   = regexp.MustCompile(`%\w+`)
	constant   = regexp.MustCompile(`^(?:dense<)?([\w.+-]+)>? : (?:tensor<(\d+)x)?(\w+)>?$`)
	makeRange  = regexp.MustCompile(`end = (\d+) : i32, start = (\d+) : i32`)
	splat      = regexp.MustCompile(`-> tensor<(\d+)x`)
)

// simple are the operations with operands of one type that ends their line.
var simple = map[string]string{
	"arith.addi": "add.i32", "arith.subi": "sub.i32", "arith.muli": "mul.i32",
	"arith.addf": "add.f32", "arith.subf": "sub.f32", "arith.mulf": "mul.f32", "arith.divf": "div.f32",
	"arith.cmpi": "less.i32", "arith.maxnumf": "max.f32", "tt.addptr": "addptr", "tt.load": "load", "tt.store": "store",
	"tt.get_program_id": "program", "tt.return": "return",
}

// instruction translates a line; "" stands for nothing.
func instruction(line string) (string, error) {
	if fn, ok := strings.CutPrefix(line, "tt.func public @"); ok {
		names := []string{".kernel"}
		name, params, _ := strings.Cut(fn, "(")
		names = append(names, name)
		for _, p := range parameter.FindAllStringSubmatch(params, -1) {
			names = append(names, p[1])
		}
		return strings.Join(names, " "), nil
	}
	m := definition.FindStringSubmatch(line)
	if m == nil || m[2] == "module" {
		return "", nil // a brace, an alias of a location
	}
	result, op, rest := m[1], m[2], m[3]
	text, _, _ := strings.Cut(rest, " : ")
	args := strings.Join(operands.FindAllString(text, -1), " ")
	switch {
	case op == "arith.constant":
		if c := constant.FindStringSubmatch(rest); c != nil && (c[3] == "i32" || c[3] == "f32") {
			return strings.TrimSpace(fmt.Sprintf("const.%s %s %s %s", c[3], result, c[1], c[2])), nil
		}
	case op == "tt.make_range":
		if r := makeRange.FindStringSubmatch(rest); r != nil {
			return fmt.Sprintf("range %s %s %s", result, r[2], r[1]), nil
		}
	case op == "tt.splat":
		if s := splat.FindStringSubmatch(rest); s != nil {
			return fmt.Sprintf("splat %s %s %s", result, args, s[1]), nil
		}
	case op == "arith.cmpi" && !strings.HasPrefix(rest, "slt"), op == "tt.get_program_id" && !strings.HasPrefix(rest, "x"):
	case strings.HasPrefix(op, "tt.") && strings.Contains(op, "ad") && !strings.Contains(rest, "f32"), strings.HasSuffix(op, "i") && !strings.Contains(rest, "i32"):
	case simple[op] != "":
		return strings.Join(strings.Fields(simple[op]+" "+result+" "+args), " "), nil
	}
	return "", fmt.Errorf("acme's vector machine has no %s %s", op, rest)
}
