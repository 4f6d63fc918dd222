package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/layout/draw"
	"github.com/tritonc/tritonc/core/layout/show"
)

const layoutLong = `Show where the elements of a tensor are under a layout, in the words of Triton's
triton-tensor-layout.

The layout is given with -l, or is one that an IR file names (#blocked, #mma, …):
all of a file's, or those of --alias. Of a layout in registers every element is
shown with the thread and the register that hold it, T32:1, replicas joined by
"|"; with --hw every register of a warp with the elements of its lanes. Of a
layout in shared memory every offset is shown with the element there.

With --json each layout is an object with its bases: for each input (register, lane,
warp, block, or offset) the coordinates of the element that each of its bits leads
to; those of several bits are combined by exclusive or.

--svg draws the picture: colours tell threads, or banks of shared memory.`

// pointerBits is the size of an address.
const pointerBits = 64

// maxPlaces bounds what is printed; beyond it a picture helps nobody.
const maxPlaces = 1 << 20

// maxBanks bounds the key of a picture: more than any device has.
const maxBanks = 1 << 10

// layoutFlags are the flags of the layout verb.
type layoutFlags struct {
	pickFlags
	layout   string
	typ      string
	input    string
	aliases  []string
	hardware bool
	output   string
	svg      string
	banks    int
	target   string
}

func layoutCommand(env *environment) *cobra.Command {
	var f layoutFlags
	cmd := &cobra.Command{
		Use:   "layout [flags]",
		Short: "show which thread holds which element",
		Long:  layoutLong,
		Example: "  tritonc layout -t 'tensor<16x16xf16>' -l '#ttg.blocked<{sizePerThread = [2, 2], threadsPerWarp = [8, 4], warpsPerCTA = [1, 2], order = [1, 0]}>'\n" +
			"  tritonc layout -t 'tensor<64x64xf16>' -i kernel.ttgir --alias mma --svg mma.svg",
		Args:                  exactArgs(),
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), env)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.layout, "layout", "l", "", "the layout: `#ttg.blocked<{…}>`, say")
	flags.StringVarP(&f.typ, "type", "t", "", "the tensor's `TYPE`, without a layout: tensor<16x16xf16>")
	flags.StringVarP(&f.input, "input", "i", "", "the layouts that this `FILE` of IR names; - is standard input")
	flags.StringSliceVar(&f.aliases, "alias", nil, "of those, the ones with these `NAMES`: blocked,mma")
	flags.BoolVar(&f.hardware, "hw", false, "show by warp, register and lane, or by offset, what is there")
	flags.StringVarP(&f.output, "output", "o", "-", "the file to write; - is standard output")
	flags.StringVar(&f.svg, "svg", "", "draw a picture of the one layout into this `FILE`")
	flags.StringVar(&f.target, "target", "", "the device whose backend's dialects go first (the one that the file names)")
	f.addBackend(flags)
	flags.IntVar(&f.banks, "banks", 32, "banks of shared memory, of 4 bytes each, for --svg")
	return cmd
}

// namedLayout is a layout to show.
type namedLayout struct {
	name string // "" for that of -l
	attr ir.Attribute
}

func (f *layoutFlags) run(c context.Context, env *environment) error {
	host, err := newHost(env, 0, &f.pickFlags, f.input)
	if err != nil {
		return err
	}
	defer host.Close()
	_, target, err := targetBackend(c, host, f.target)
	if err != nil {
		return err
	}
	var src []byte
	if f.input != "" {
		if f.input, src, err = readFileOrInput(env, f.input); err != nil {
			return err
		}
	}
	if f.target == "" {
		target = namedTarget(src)
	}
	ctx := newIRContext(c, host, target)
	tensor, err := f.tensor(ctx)
	if err != nil {
		return err
	}
	list, err := f.layouts(ctx, src)
	if err != nil {
		return err
	}
	if f.svg == "-" {
		return usagef("--svg names a file; standard output has the text")
	}
	if f.svg != "" && len(list) != 1 {
		return usagef("--svg draws one layout, and there are %d", len(list)).withHelp("--alias picks one of a file's")
	}
	var out strings.Builder
	for _, n := range list {
		if err := f.show(env, &out, ctx, n, tensor); err != nil {
			return err
		}
	}
	if f.output != "-" {
		return writeFiles(filepath.Dir(f.output), []outFile{{filepath.Base(f.output), []byte(out.String())}})
	}
	_, err = env.stdout.Write([]byte(out.String()))
	return err
}

// tensor reads the type. The messages here and below are Triton's.
func (f *layoutFlags) tensor(ctx *ir.Context) (*ir.TensorType, error) {
	if f.typ == "" {
		return nil, diag.Errorf(diag.Pos{}, "Must specify the tensor type argument").WithHelp("for example -t 'tensor<16x16xf16>'")
	}
	typ, err := text.ParseType(ctx, f.typ)
	tensor, ok := typ.(*ir.TensorType)
	bad := diag.Errorf(diag.Pos{}, "Fail to parse the tensor type argument: %s", f.typ)
	switch {
	case err != nil:
		return nil, withMistake(bad, "-t", err)
	case !ok || len(tensor.Shape) == 0:
		return nil, bad.WithHelp("this is not a tensor with dimensions")
	case slices.ContainsFunc(tensor.Shape, func(n int64) bool { return n < 0 }):
		return nil, bad.WithHelp("every dimension needs a size")
	case tensor.Encoding != nil:
		return nil, bad.WithHelp("the type is given without a layout, which -l gives")
	}
	return tensor, nil
}

// withMistake adds to d the place in a flag's text that err, of its parser, is
// about.
func withMistake(d *diag.Diagnostic, flag string, err error) *diag.Diagnostic {
	for _, mistake := range diag.All(err) {
		note := *mistake
		note.Severity, note.Pos.File = diag.Note, flag
		d.Notes = append(d.Notes, note)
	}
	return d
}

// layouts gathers what -i, whose text is src, --alias and -l name.
func (f *layoutFlags) layouts(ctx *ir.Context, src []byte) ([]namedLayout, error) {
	if f.input == "" && len(f.aliases) > 0 {
		return nil, usagef("--alias names layouts of a file, and there is no -i")
	}
	if f.input == "" && f.layout == "" {
		return nil, usagef("no layout given").withHelp("-l '#ttg.blocked<{…}>' or -i FILE")
	}
	var list []namedLayout
	if f.input != "" {
		file, err := text.ParseFile(ctx, f.input, src)
		if err != nil {
			return nil, err
		}
		if list, err = f.pick(file.Aliases()); err != nil {
			return nil, err
		}
	}
	if f.layout != "" {
		attr, err := text.ParseAttr(ctx, f.layout)
		if err != nil {
			bad := withMistake(diag.Errorf(diag.Pos{}, "Invalid layout attribute: %s", f.layout), "-l", err)
			if name, isAlias := strings.CutPrefix(f.layout, "#"); isAlias && !strings.ContainsAny(name, ".<") {
				bad.WithHelp("a layout that a file names is picked with -i FILE --alias %s", name)
			}
			return nil, bad
		}
		list = append(list, namedLayout{attr: attr})
	}
	return list, nil
}

// pick returns the aliases asked for; without any, all that are layouts.
func (f *layoutFlags) pick(aliases []text.Alias) ([]namedLayout, error) {
	var list []namedLayout
	if len(f.aliases) == 0 {
		for _, a := range aliases {
			if _, ok := a.Attr.(*encoding.Attr); ok {
				list = append(list, namedLayout{a.Name, a.Attr})
			}
		}
		return list, nil
	}
	for _, name := range f.aliases {
		name = strings.TrimPrefix(strings.TrimSpace(name), "#")
		found := false
		for _, a := range aliases {
			if a.Name == name {
				list, found = append(list, namedLayout{a.Name, a.Attr}), true
			}
		}
		if !found {
			return nil, diag.Errorf(diag.Pos{File: f.input}, "Can't find the layout attribute: %s", name)
		}
	}
	return list, nil
}

// show appends one layout's text and writes its picture. Of a file's layouts
// that nobody asked for by name, those that do not fit the tensor are warned of.
func (f *layoutFlags) show(env *environment, out *strings.Builder, ctx *ir.Context, n namedLayout, tensor *ir.TensorType) error {
	attr := text.AttrString(ctx, n.attr)
	enc, ok := n.attr.(*encoding.Attr)
	if !ok {
		bad := diag.Errorf(diag.Pos{File: f.input}, "Unsupported tensor layout attribute: %s", attr)
		if opaque, ok := n.attr.(*ir.OpaqueAttr); ok && ctx.WhyMissing(opaque.Dialect) != nil {
			bad.WithHelp("%v", ctx.WhyMissing(opaque.Dialect))
		}
		return bad
	}
	l, err := enc.Layout.Linear(tensor.Shape)
	view := ""
	if err == nil && !env.report.json {
		view, err = f.view(l, padding(enc.Layout))
	}
	if err != nil {
		d := diag.Errorf(diag.Pos{}, "%s does not fit %s: %v", attr, text.TypeString(ctx, tensor), err)
		if n.name != "" && len(f.aliases) == 0 {
			d.Severity = diag.Warning
			env.report.diagnostics(d)
			return nil
		}
		return d
	}
	if env.report.json {
		if err := writeJSON(out, layoutRowOf(n.name, attr, l)); err != nil || f.svg == "" {
			return err
		}
	}
	title := attr
	if n.name != "" {
		title = "#" + n.name + " = " + attr
	}
	if !env.report.json {
		fmt.Fprintf(out, "Print layout attribute: %s\n%s", title, view)
		if len(f.aliases) > 0 {
			out.WriteByte('\n')
		}
	}
	if f.svg == "" {
		return nil
	}
	return f.draw(l, enc.Layout, title+" of "+text.TypeString(ctx, tensor), tensor.Elem)
}

// layoutRow is a layout with --json.
type layoutRow struct {
	Name   string `json:"name,omitempty"` // in the file
	Layout string `json:"layout"`
	// Bases of each input, the lowest bit's first: a coordinate per dimension.
	Bases map[string]layout.Bases `json:"bases"`
	Shape []int64                 `json:"shape"`
}

func layoutRowOf(name, attr string, l layout.Layout) layoutRow {
	row := layoutRow{Name: name, Layout: attr, Bases: map[string]layout.Bases{}, Shape: l.Shape()}
	for _, in := range l.Ins() {
		row.Bases[in.Dim.String()] = l.BasesOf(in.Dim)
	}
	return row
}

// padding maps offsets of a layout's linear part into addresses; nil where
// there is none.
func padding(e layout.Encoding) func(offset int) int {
	if p, ok := e.(*layout.PaddedShared); ok {
		return p.Pad
	}
	return nil
}

func (f *layoutFlags) view(l layout.Layout, address func(int) int) (string, error) {
	places := 1
	for _, in := range l.Ins() {
		places *= in.Size()
	}
	if places > maxPlaces {
		return "", fmt.Errorf("%s are more than can be shown (%d)", diag.Count(places, "place"), maxPlaces)
	}
	if f.hardware {
		return show.Hardware(l, address), nil
	}
	return show.Tensor(l), nil
}

func (f *layoutFlags) draw(l layout.Layout, e layout.Encoding, title string, elem ir.Type) error {
	if f.banks < 1 || f.banks > maxBanks {
		return usagef("--banks %d is not a number of banks", f.banks)
	}
	// An element has at least a byte.
	opt := draw.Options{Title: title, ElementBits: max(ir.BitWidth(elem), 8), Banks: f.banks, BankBytes: 4, Address: padding(e)}
	if _, ok := elem.(*tt.PtrType); ok {
		opt.ElementBits = pointerBits
	}
	return writeFiles(filepath.Dir(f.svg), []outFile{{filepath.Base(f.svg), draw.SVG(l, opt)}})
}
