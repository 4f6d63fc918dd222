package partition

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/tritongpu-partition-loops/example.txtar
	partitionLoopsExample string
	//go:embed testdata/nvws-lower-warp-group/example.txtar
	lowerWarpGroupExample string
	//go:embed testdata/nvws-assign-stage-phase/example.txtar
	assignStagePhaseExample string
	//go:embed testdata/nvws-lower-aref/example.txtar
	lowerArefExample string
	//go:embed testdata/nvws-insert-aref/example.txtar
	insertArefExample string
	//go:embed testdata/nvws-insert-tmem-aref/example.txtar
	insertTmemArefExample string
	//go:embed testdata/tritongpu-automatic-warp-specialization/example.txtar
	automaticWarpSpecializationExample string
	//go:embed testdata/tritongpu-partition-scheduling/example.txtar
	partitionSchedulingExample string
	//go:embed testdata/tritongpu-optimize-partition-warps/example.txtar
	optimizePartitionWarpsExample string
)
