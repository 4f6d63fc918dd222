package text

import (
	"strconv"

	"github.com/tritonc/tritonc/core/ir"
)

// Names returns the names, with %, under which values are in the text of the
// operation that op is a part of: %x, %0, and %0#1 for one of several results
// that share a name.
func Names(op *ir.Operation) map[*ir.Value]string { return namesBy(op, locName) }

// Numbers is Names without the names that locations give: %0, %arg0, %cst.
func Numbers(op *ir.Operation) map[*ir.Value]string {
	return namesBy(op, func(_ *ir.Value, own string) string { return own })
}

func namesBy(op *ir.Operation, named func(v *ir.Value, own string) string) map[*ir.Value]string {
	names := make(map[*ir.Value]string)
	n := &namer{
		named: named,
		set: func(v *ir.Value, name string, id int) {
			if name == "" {
				name = strconv.Itoa(id)
			}
			names[v] = "%" + name
		},
	}
	top := topOf(op)
	n.run(top)
	ir.Walk(top, func(op *ir.Operation) ir.WalkResult {
		results := op.Results()
		for first := 0; first < len(results); {
			group := first + 1
			for group < len(results) && names[results[group]] == "" {
				group++
			}
			if name := names[results[first]]; group > first+1 {
				for i, r := range results[first:group] {
					names[r] = name + "#" + strconv.Itoa(i)
				}
			}
			first = group
		}
		return ir.Advance
	})
	return names
}
