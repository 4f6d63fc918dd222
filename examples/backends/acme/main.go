// Tritonc-backend-acme is a backend of tritonc and the driver of its device, in one program.
//
// The processor is made up: it runs a program of a kernel on whole vectors, and its machine
// code is the text that the stage vasm makes of ttir. Elementwise kernels over float32 are
// all that it can do. A compiler goes where compile is, a driver where device.go is.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.Serve(sdk.Plugin{Backend: backend{}, Driver: driver{}}) }

const version = "0.1.0"

type backend struct{}

func (backend) Describe(context.Context) (sdk.Facts, error) {
	return sdk.Facts{
		Name: "acme", Version: version, BinaryEnding: "vasm",
		Targets: []sdk.TargetFacts{
			{Pattern: "acme:v1", WarpSize: 1, Doc: "a vector machine that is made up"},
		},
		Options: []sdk.OptionSpec{
			{Name: "num_warps", Type: sdk.Int, Default: "1", Doc: "has no effect here"},
		},
	}, nil
}

func (backend) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	return []sdk.Stage{
		{Name: "vasm", Doc: "assembly of the vector machine", Run: compile},
	}, nil
}

// compile makes an instruction of each operation. Values keep their names:
// "%2 = arith.addf %x_7, %y_9 : tensor<1024xf32>" becomes "add.f32 %2 %x_7 %y_9".
func compile(_ context.Context, in *sdk.StageInput) ([]byte, error) {
	var out bytes.Buffer
	start := 0 // of the line
	for line := range strings.Lines(string(in.Data)) {
		code, err := translate(location.ReplaceAllString(strings.TrimSpace(line), ""))
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
	if out.Len() == 0 {
		return nil, in.Errorf(sdk.Range{Line: 1, Column: 1}, "there is no kernel here")
	}
	in.Metadata["shared"] = 0
	return out.Bytes(), nil
}

var (
	location  = regexp.MustCompile(` loc\([^()]*(\([^()]*\))?\)`)
	noCode    = regexp.MustCompile(`^(module .*|[#}].*|//.*|tt\.return)?$`)
	parameter = regexp.MustCompile(`(%\w+): ([^ ,)]+)`)
	// operation is "%result = name word, arguments : types".
	operation = regexp.MustCompile(`^(?:(%\w+) = )?(\w+\.[\w.]+(?: [a-z]+)?),? ?(\{.*\}|[^:{]*)(?: : (.*))?$`)
	types     = regexp.MustCompile(`^((, | -> )?(tensor<\d+x)?(i1|i32|f32|!tt\.ptr<f32>)>?)+$`)
	lanes     = regexp.MustCompile(`tensor<(\d+)x`)
	value     = regexp.MustCompile(`%\w+`)
	number    = regexp.MustCompile(`^<?([\w.+-]+)>?$`)
	makeRange = regexp.MustCompile(`^\{end = (\d+) : i32, start = (\d+) : i32\}$`)
)

// mnemonics are of the operations whose arguments are values.
var mnemonics = map[string]string{
	"arith.addi": "add.i32", "arith.subi": "sub.i32", "arith.muli": "mul.i32", "arith.cmpi slt": "less.i32",
	"arith.addf": "add.f32", "arith.subf": "sub.f32", "arith.mulf": "mul.f32", "arith.divf": "div.f32",
	"tt.get_program_id x": "program", "tt.addptr": "addptr", "tt.load": "load", "tt.store": "store",
}

// translate returns the instruction for a line, "" where it needs none.
func translate(line string) (string, error) {
	if fn, ok := strings.CutPrefix(line, "tt.func public @"); ok {
		return header(fn)
	}
	if noCode.MatchString(line) {
		return "", nil
	}
	m := operation.FindStringSubmatch(line)
	if m == nil {
		return "", errors.New("acme's vector machine has no instruction for this")
	}
	if !types.MatchString(m[4]) {
		return "", refused(line)
	}
	result, name, arguments, count := m[1], m[2], m[3], ""
	if n := lanes.FindStringSubmatch(m[4]); n != nil {
		count = n[1]
	}
	switch {
	case mnemonics[name] != "":
		return instruction(mnemonics[name], result, strings.Join(value.FindAllString(arguments, -1), " ")), nil
	case name == "tt.splat":
		return instruction("splat", result, arguments, count), nil
	case name == "tt.make_range" && makeRange.MatchString(arguments):
		r := makeRange.FindStringSubmatch(arguments)
		return instruction("range", result, r[2], r[1]), nil
	case strings.HasPrefix(name, "arith.constant") && number.MatchString(arguments):
		if bits, ok := literal(number.FindStringSubmatch(arguments)[1], m[4]); ok {
			return instruction("const", result, bits, count), nil
		}
	}
	return "", refused(line)
}

func refused(line string) error {
	if _, op, ok := strings.Cut(line, " = "); ok && line[0] == '%' {
		line = op
	}
	return fmt.Errorf("acme's vector machine has no %s", line)
}

// instruction leaves out words that are empty.
func instruction(words ...string) string {
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// header returns ".kernel name %x_ptr %n".
func header(fn string) (string, error) {
	name, rest, _ := strings.Cut(fn, "(")
	words := []string{".kernel", name}
	for _, p := range parameter.FindAllStringSubmatch(rest, -1) {
		if !types.MatchString(p[2]) {
			return "", refused("parameters of type " + p[2])
		}
		words = append(words, p[1])
	}
	return instruction(words...), nil
}

// literal returns the 32 bits of a constant.
func literal(text, of string) (string, bool) {
	if !strings.Contains(of, "f32") {
		n, err := strconv.ParseInt(text, 10, 32)
		return strconv.FormatUint(uint64(uint32(n)), 10), err == nil
	}
	if bits, ok := strings.CutPrefix(text, "0x"); ok { // an infinity or NaN
		_, err := strconv.ParseUint(bits, 16, 32)
		return text, err == nil
	}
	f, err := strconv.ParseFloat(text, 32)
	return fmt.Sprintf("0x%08x", math.Float32bits(float32(f))), err == nil
}
