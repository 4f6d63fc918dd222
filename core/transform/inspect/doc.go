// Package inspect has the passes that tell what an analysis found, in remarks at the
// operations that it is about. Their names and the form of what they say are those of
// Triton's test passes, so that tests written for these read them:
//
//	test-print-alignment   package axisinfo, of each result
//	test-print-alias       package alias, of each descriptor of shared memory
//	test-print-allocation  package allocation, of each operation that has memory
//	test-print-membar      package membar: barriers where they are due
//
// Only the last changes the module. The first three are sound to run anywhere in a
// pipeline; none of a compile's pipelines has one. Memory is placed by the scratch
// sizes of no target in particular (allocation.Neutral), not by those of a lowering;
// tritonc opt --print-analysis shows what the lowering for a target does.
package inspect
