package matrix

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/tritongpu-accelerate-matmul/example.txtar
	accelerateMatmulExample string
	//go:embed testdata/tritongpu-F32DotTC/example.txtar
	f32DotTCExample string
	//go:embed testdata/tritongpu-optimize-dot-operands/example.txtar
	optimizeDotOperandsExample string
	//go:embed testdata/tritongpu-reduce-data-duplication/example.txtar
	reduceDataDuplicationExample string
)
