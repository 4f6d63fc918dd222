package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/pass"
)

// mlirFlags are flags of mlir-opt that opt has by another name. Those that stand for
// nothing say what opt does anyway.
var mlirFlags = map[string]string{
	"mlir-print-op-generic":       "--generic",
	"mlir-print-ir-after-all":     "--dump-after",
	"verify-each":                 "",
	"mlir-disable-threading":      "",
	"allow-unregistered-dialects": "--allow-unregistered-dialect",
}

// asTritonFlag says that passes were flags. Passes that depend on the target then run as
// a backend has them, also where the module names no target.
const asTritonFlag = "passes-as-flags"

// mlirArgs rewrites the arguments of opt that are in the manner of mlir-opt: long
// flags with one dash, and a flag for each pass, with its options after an equals
// sign. The passes become the value of --passes, in their order, and what is printed is
// what mlir-opt prints by default: no names of the file's, no locations. What is neither
// a flag of opt nor can be the name of a pass stays, and so does all that does not call
// opt.
func mlirArgs(root *cobra.Command, known []*pass.Pass, args []string) []string {
	verb := slices.Index(args, "opt")
	if verb < 0 || slices.ContainsFunc(args[:verb], func(a string) bool { return !strings.HasPrefix(a, "-") }) {
		return args
	}
	cmd, _, err := root.Find([]string{"opt"})
	if err != nil {
		return args
	}
	flags := cmd.Flags()
	out := slices.Clone(args[:verb+1])
	var passes []string
	for i := verb + 1; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			out = append(out, args[i:]...)
			break
		}
		name, value, given := strings.Cut(strings.TrimLeft(a, "-"), "=")
		dashes := len(a) - len(strings.TrimLeft(a, "-"))
		isPass := slices.ContainsFunc(known, func(p *pass.Pass) bool { return p.Name == name })
		own, ours := mlirFlags[name]
		flag := lookup(root, flags, name)
		switch {
		case dashes == 0 || dashes > 2 || name == "":
			out = append(out, a)
		case flag != nil && (dashes == 2 || len(name) > 1):
			out = append(out, "--"+strings.TrimLeft(a, "-"))
			if !given && flag.NoOptDefVal == "" && i+1 < len(args) {
				i++
				out = append(out, args[i]) // its value
			}
		case ours:
			if own != "" && value != "false" {
				out = append(out, own)
			}
		case isPass, canBePass(a, name) && diag.Closest(name, flagNames(flags)) == "":
			passes = append(passes, tritonPass(name, value))
		case dashes == 1 && len(name) == 1 && flags.ShorthandLookup(name) != nil && flags.ShorthandLookup(name).NoOptDefVal == "" && i+1 < len(args):
			i++
			out = append(out, a, args[i])
		default:
			out = append(out, a)
		}
	}
	if len(passes) == 0 {
		return out
	}
	return slices.Insert(out, verb+1, "--passes="+strings.Join(passes, ","), "--"+asTritonFlag,
		"--mlir-use-nameloc-as-prefix=false", "--mlir-print-debuginfo=false")
}

// lookup finds a flag of opt or of every verb.
func lookup(root *cobra.Command, flags *pflag.FlagSet, name string) *pflag.Flag {
	if f := flags.Lookup(name); f != nil {
		return f
	}
	if name == "help" {
		return &pflag.Flag{Name: name, NoOptDefVal: "true"}
	}
	return root.PersistentFlags().Lookup(name)
}

// flagNames lists a verb's own long flags.
func flagNames(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// canBePass reports whether an argument that is not a flag of opt may be a pass that
// some backend has: a name of words with hyphens. After one dash it must not begin
// with a flag's letter and the flag's value, such as a file after -o.
func canBePass(arg, name string) bool {
	if strings.HasPrefix(arg, "-o") && !strings.HasPrefix(arg, "-optimize-") || !strings.Contains(name, "-") || strings.HasSuffix(name, "-") {
		return false
	}
	for _, c := range []byte(name) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// tritonDefaults are options of passes that a flag of triton-opt need not give, and
// that are not the defaults here, where targets have theirs.
var tritonDefaults = map[string][]string{
	"convert-triton-to-tritongpu": {"threads-per-warp=32"},
	"tritongpu-F32DotTC":          {"emu-tf32=false"},
	"tritongpu-pipeline":          {"whole=true"},
}

// driverOptions are options of MLIR's canonicalize that say how it applies its
// patterns. Ours applies them until nothing changes.
var driverOptions = []string{"max-iterations", "max-num-rewrites", "region-simplify", "test-convergence", "top-down"}

// tritonPass writes a pass as --passes reads it, with options as triton-opt has them.
func tritonPass(name, options string) string {
	var kept []string
	for _, o := range strings.Fields(options) {
		key, _, _ := strings.Cut(o, "=")
		if name != "canonicalize" || !slices.Contains(driverOptions, key) {
			kept = append(kept, o)
		}
	}
	for _, o := range tritonDefaults[name] {
		key, _, _ := strings.Cut(o, "=")
		if !slices.ContainsFunc(kept, func(k string) bool { return strings.HasPrefix(k, key+"=") }) {
			kept = append(kept, o)
		}
	}
	if len(kept) == 0 {
		return name
	}
	return name + "{" + strings.Join(kept, " ") + "}"
}

// flatPipeline turns a pipeline in MLIR's notation into that of --passes. The
// operations in which passes are nested are left out, since every pass of ours looks
// for its own.
func flatPipeline(s string) string {
	var passes []string
	for s != "" {
		end := strings.IndexAny(s, "(),{")
		if end < 0 {
			end = len(s)
		}
		name := strings.TrimSpace(s[:end])
		options := ""
		s = s[end:]
		if strings.HasPrefix(s, "{") {
			options, s, _ = strings.Cut(s[1:], "}")
		}
		if name != "" && !strings.HasPrefix(s, "(") {
			passes = append(passes, tritonPass(name, options))
		}
		s = strings.TrimLeft(s, "(), ")
	}
	return strings.Join(passes, ",")
}
