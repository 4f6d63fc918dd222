package std

import _ "embed" // the examples are archives of the tests, too

// What each pass does, for people; TestPasses holds them.
var (
	//go:embed testdata/inline/example.txtar
	inlineExample string
	//go:embed testdata/inline-all/example.txtar
	inlineAllExample string
	//go:embed testdata/lift-cf-to-scf/example.txtar
	liftCFToSCFExample string
	//go:embed testdata/canonicalize/example.txtar
	canonicalizeExample string
	//go:embed testdata/cse/example.txtar
	cseExample string
	//go:embed testdata/symbol-dce/example.txtar
	symbolDCEExample string
	//go:embed testdata/sccp/example.txtar
	sccpExample string
	//go:embed testdata/fold-arith/example.txtar
	foldArithExample string
	//go:embed testdata/convert-scf-to-cf/example.txtar
	convertSCFToCFExample string
)
