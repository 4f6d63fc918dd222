package amdgcn

import (
	"strconv"
	"strings"
)

// metadata reads the lines from first on up to .end_amdgpu_metadata and returns the
// last one's index. It is YAML of two shapes: mappings of scalars, and sequences of
// these. Of it the kernels and their arguments are kept.
func (p *parser) metadata(lines []string, first int) int {
	var kern *Kernel
	var name string // of the kernel in hand, where it comes before the kernel is known
	var args []Arg
	var nums map[string]int
	flush := func() {
		if kern = p.m.kernel(name); kern != nil {
			kern.Args = args
			kern.MaxThreads, kern.Wavefront = nums[".max_flat_workgroup_size"], nums[".wavefront_size"]
		}
		name, args, nums = "", nil, map[string]int{}
	}
	top := ""
	inArgs := false
	base := -1 // the column of a kernel's keys
	for i := first; i < len(lines); i++ {
		p.line = i + 1
		line := strings.TrimRight(lines[i], " \t\r")
		body := strings.TrimLeft(line, " \t")
		if body == ".end_amdgpu_metadata" {
			if base >= 0 {
				flush()
			}
			return i
		}
		if body == "" || body == "---" || body == "..." {
			continue
		}
		indent := len(line) - len(body)
		item := strings.HasPrefix(body, "- ")
		if item {
			body = strings.TrimLeft(body[2:], " ")
		}
		key, value, ok := strings.Cut(body, ":")
		if indent == 0 && !item {
			top = key
			continue
		}
		if top == "amdhsa.printf" && item {
			p.print(body, len(line)-len(body)+1)
		}
		if top != "amdhsa.kernels" || !ok {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `'`)
		value = unquote(value)
		column := len(line) - len(body)
		if item && (base < 0 || column <= base) {
			if base >= 0 {
				flush()
			}
			base, nums, inArgs = column, map[string]int{}, false
		}
		if column == base {
			inArgs = key == ".args"
			switch key {
			case ".name":
				name = value
			case ".max_flat_workgroup_size", ".wavefront_size":
				nums[key] = p.metaNumber(key, value, column)
			}
			continue
		}
		if !inArgs {
			continue
		}
		if item {
			args = append(args, Arg{})
		}
		if len(args) == 0 {
			p.fail(column+1, "%s outside an argument", key)
		}
		a := &args[len(args)-1]
		switch key {
		case ".name":
			a.Name = value
		case ".value_kind":
			a.Kind = value
		case ".offset":
			a.Offset = p.metaNumber(key, value, column)
		case ".size":
			a.Size = p.metaNumber(key, value, column)
		}
	}
	p.line = first
	p.fail(1, "no .end_amdgpu_metadata")
	return 0
}

// print reads a format of printf: its number, how many arguments it has, the size of
// each, and the format, in which a colon is \72.
func (p *parser) print(text string, col int) {
	if body, ok := strings.CutPrefix(text, "'"); ok {
		text = strings.ReplaceAll(strings.TrimSuffix(body, "'"), "''", "'")
	} else {
		text = unquote(text)
	}
	fields := strings.Split(text, ":")
	number := func(i int) int {
		if i < len(fields)-1 {
			if n, err := strconv.Atoi(fields[i]); err == nil && n >= 0 {
				return n
			}
		}
		p.fail(col, "%q is not a format of printf with its number and the sizes of its arguments", text)
		return 0
	}
	f := Print{Number: number(0)}
	args := number(1)
	for i := range args {
		f.Bytes += (number(2+i) + 3) &^ 3
	}
	if 2+args >= len(fields) {
		number(2 + args)
	}
	f.Format = strings.NewReplacer(`\72`, ":", `\n`, "\n", `\t`, "\t").Replace(strings.Join(fields[2+args:], ":"))
	p.m.Prints = append(p.m.Prints, f)
}

func (p *parser) metaNumber(key, value string, column int) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 1<<30 {
		p.fail(column+1, "%s has the value %q, which is not a size", key, value)
	}
	return n
}

// kernel returns the kernel of a name, or nil.
func (m *Module) kernel(name string) *Kernel {
	for _, k := range m.Kernels {
		if k.Name == name {
			return k
		}
	}
	return nil
}
