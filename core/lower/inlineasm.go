package lower

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// inlineAsm emits the user's assembly once for each group of packed elements.
// Narrow elements are packed into 32-bit words, as Triton does; where a thread
// lacks some of the last group, zeros stand for the others.
func (e *emitter) inlineAsm(op tt.InlineAsmOp) error {
	if err := e.checkAsm(op); err != nil {
		return err
	}
	results := op.Result()
	n, err := e.m.regsOf(results[0].Type())
	if err != nil {
		return err
	}
	group := int(op.PackedElement())
	outs := make([][]llir.Value, len(results))
	for i := range outs {
		outs[i] = make([]llir.Value, 0, n)
	}
	for r := 0; r < n; r += group {
		var args []llir.Value
		for _, v := range op.Args() {
			elems := slices.Clone(spread(e.value(v), n)[r:min(r+group, n)])
			for len(elems) < group {
				elems = append(elems, e.m.llvm.Zero(elems[0].Type()))
			}
			args = append(args, e.packWords(elems)...)
		}
		var fields []llir.Type
		for _, res := range op.Result() {
			ts, err := e.wordTypes(res.Type(), group)
			if err != nil {
				return err
			}
			fields = append(fields, ts...)
		}
		ret := fields[0]
		if len(fields) > 1 {
			ret = e.m.llvm.Struct(fields...)
		}
		v := e.b.Asm(op.AsmString(), op.Constraints(), !op.Pure(), ret, args...)
		next := 0
		for i, res := range op.Result() {
			t, err := scalarType(res.Type())
			if err != nil {
				return err
			}
			words, err := e.wordTypes(res.Type(), group)
			if err != nil {
				return err
			}
			for range words {
				w := v
				if len(fields) > 1 {
					w = e.b.ExtractValue(v, next)
				}
				next++
				outs[i] = append(outs[i], e.unpackWord(w, t, group/len(words))...)
			}
		}
	}
	for i, res := range op.Result() {
		e.set(res, outs[i][:n])
	}
	return nil
}

// perWord is how many elements of a type go into one word of inline assembly.
func perWord(t llir.Type, group int) int {
	w := llir.Width(t)
	if llir.IsPtr(t) || w >= 32 || w == 1 {
		return 1
	}
	return min(32/w, group)
}

func (e *emitter) packWords(vals []llir.Value) []llir.Value {
	n := perWord(vals[0].Type(), len(vals))
	if n == 1 {
		return vals
	}
	var words []llir.Value
	for i := 0; i < len(vals); i += n {
		v := e.b.Vector(vals[i : i+n]...)
		words = append(words, e.b.BitCast(v, llir.IntN(n*llir.Width(vals[i].Type()))))
	}
	return words
}

func (e *emitter) wordTypes(t ir.Type, group int) ([]llir.Type, error) {
	s, err := scalarType(t)
	if err != nil {
		return nil, err
	}
	n := perWord(s, group)
	out := make([]llir.Type, group/n)
	for i := range out {
		if out[i] = s; n > 1 {
			out[i] = llir.IntN(n * llir.Width(s))
		}
	}
	return out, nil
}

func (e *emitter) unpackWord(w llir.Value, t llir.Type, n int) []llir.Value {
	if n == 1 {
		return []llir.Value{w}
	}
	v := e.b.BitCast(w, e.m.llvm.Vec(n, t))
	out := make([]llir.Value, n)
	for i := range out {
		out[i] = e.b.ExtractElement(v, i)
	}
	return out
}

// checkAsm finds what LLVM would refuse, or trip over, in the user's assembly:
// constraints that do not fit the operands or that the target does not know, and
// references to operands that there are not.
func (e *emitter) checkAsm(op tt.InlineAsmOp) error {
	if len(op.Result()) == 0 {
		return fmt.Errorf("the assembly has no result")
	}
	pack := op.PackedElement()
	words := func(t ir.Type) (int, error) {
		s, err := scalarType(t)
		if err != nil {
			return 0, err
		}
		n := perWord(s, int(pack))
		if n&(n-1) != 0 || int(pack)%n != 0 {
			return 0, fmt.Errorf("pack = %d with elements of %s does not fill words of 32", pack, diag.Count(llir.Width(s), "bit"))
		}
		return int(pack) / n, nil
	}
	results, args := 0, 0
	for _, v := range op.Result() {
		n, err := words(v.Type())
		if err != nil {
			return err
		}
		results += n
	}
	for _, v := range op.Args() {
		n, err := words(v.Type())
		if err != nil {
			return err
		}
		args += n
	}
	constraints := op.Constraints()
	outs, ins, err := e.countConstraints(constraints)
	if err != nil {
		return fmt.Errorf("constraints %q: %w", constraints, err)
	}
	if outs != results || ins != args {
		return fmt.Errorf("the constraints %q are of %s and %s, and with pack=%d there are %s and %s",
			constraints, diag.Count(outs, "output"), diag.Count(ins, "input"), pack, diag.Count(results, "output"), diag.Count(args, "input"))
	}
	return checkReferences(op.AsmString(), outs+ins)
}

// countConstraints reads LLVM's constraints of outputs, =r, of inputs, r or the
// number of an output, and of what else changes, ~{memory}, in this order.
func (e *emitter) countConstraints(text string) (outs, ins int, err error) {
	clobbers := 0
	for text != "" {
		c := text
		if i := comma(text); i >= 0 {
			c, text = text[:i], text[i+1:]
		} else {
			text = ""
		}
		c = strings.TrimSpace(c)
		if strings.HasPrefix(c, "~") {
			clobbers++
			continue
		}
		code, isOut := strings.CutPrefix(c, "=")
		code = strings.TrimLeft(code, "&*% ")
		switch {
		case code == "":
			return 0, 0, fmt.Errorf("%q names no kind of operand", c)
		case clobbers > 0, isOut && ins > 0:
			return 0, 0, fmt.Errorf("%q comes too late; outputs come first, then inputs, then what else changes", c)
		case isOut:
			outs++
		default:
			ins++
		}
		if tied, err := strconv.Atoi(code); err == nil {
			if isOut || tied >= outs {
				return 0, 0, fmt.Errorf("%q names no output", c)
			}
			continue
		}
		for _, letter := range code {
			if letter != '|' && !e.m.caps.Asm.AsmConstraint(letter) {
				return 0, 0, &helpedError{
					fmt.Errorf("this target knows no operands of the kind %q", string(letter)),
					"assembly is for the GPUs of one vendor: a tl.constexpr can choose another way for others",
				}
			}
		}
	}
	return outs, ins, nil
}

// comma is the place of the first comma outside braces, or -1.
func comma(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// checkReferences finds references in assembly, $0 or ${0:…}, that are none of
// so many operands; $$ is a dollar sign, and $( $| $) part alternatives.
func checkReferences(text string, operands int) error {
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 {
			return nil
		}
		rest := text[i+1:]
		if rest != "" && strings.IndexByte("$(|)", rest[0]) >= 0 {
			text = rest[1:]
			continue
		}
		name := rest
		if braced, ok := strings.CutPrefix(rest, "{"); ok {
			end := strings.IndexByte(braced, '}')
			if end < 0 {
				return fmt.Errorf("a brace in the assembly is not closed: %q", text[i:])
			}
			name, rest = braced[:end], braced[end+1:]
			if strings.HasPrefix(name, ":") { // LLVM's own: ${:uid}
				text = rest
				continue
			}
			name, _, _ = strings.Cut(name, ":")
		} else {
			end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
			if end < 0 {
				end = len(rest)
			}
			name, rest = rest[:end], rest[end:]
		}
		n, err := strconv.Atoi(name)
		switch {
		case err != nil:
			return fmt.Errorf("a dollar sign in the assembly names no operand: %q; $$ stands for the sign itself", clip(text[i:]))
		case n >= operands:
			return fmt.Errorf("the assembly names operand $%d, and the constraints have %d, from $0", n, operands)
		}
		text = rest
	}
}

// clip is the beginning of a text, for a message.
func clip(text string) string {
	if len(text) > 20 {
		return text[:20] + "…"
	}
	return text
}
