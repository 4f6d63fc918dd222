package codegen

import (
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// The texts that users of Triton search for, as Triton 3.6 words them
// (triton/compiler/code_generator.py). Everything else is in our own words,
// where it is said.
const (
	errNode           = "unsupported AST node type: %s"
	errUndefined      = "%s is not defined"
	errNotCallable    = "'%s' object is not callable"
	errGlobal         = "Cannot access global variable %s from within @jit'ed function. Triton kernels can only access global variables that are instanstiated as constexpr (`x = triton.language.constexpr(42)`)."
	errConvert        = "cannot convert %s of type <class '%s'> to tensor"
	errConstexprAgain = "%s is already defined. constexpr cannot be reassigned."
	errReturnInLoop   = "Cannot have `return` statements inside `while` or `for` statements in triton."
	errReturnTypes    = "Inconsistent return types: %s and %s"
	errLoopType       = "Loop-carried variable %s has initial type %s but is re-assigned to %s in loop! Please make sure that the type stays consistent."
	errLoopConstexpr  = "cannot reassign constexpr %s in the loop"
	errLoopBounds     = "For loop bounds and step must all be ints, are (%s, %s, %s)"
	errIterator       = "Only `range` and `static_range` iterators are currently supported"
	errIfInitial      = "initial value for `%s` is of type %s, but the %s block redefines it as %s"
	errIfMismatch     = "Mismatched type for %s between then block (%s) and else block (%s)"
	errCondition      = "`if` conditionals can only accept values of type {%s}, not objects of type %s"
	errTernary        = "Ternary expression with dynamic condition has inconsistent types %s and %s"
	errAmbiguous      = "Boolean value of Tensor with more than one value is ambiguous"
	errCompareChain   = "simultaneous multiple comparison is not supported"
	errStaticRange    = "%s used as tl.static_range %s value is not a constexpr"
	warnBlockCond     = "If conditional called with multidimensional Tensor instead of scalar; please use \"if (%s).item()\" instead"
	warnLogicalBlock  = "Logical operators 'and' and 'or' are deprecated for non-scalar tensors; please use '&' or '|' instead"
)

// nodeName is the name of a node's class in Python's ast.
func nodeName(n syntax.Node) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", n), "*syntax.")
	if name == "ExprStmt" {
		return "Expr"
	}
	return name
}
