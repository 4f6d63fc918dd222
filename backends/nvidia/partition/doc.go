// Package partition has the passes that divide loops among groups of warps by marks on
// their operations:
//
//	tritongpu-partition-scheduling
//	                            operations of loops say their partitions
//	tritongpu-partition-loops   a loop whose operations say their partitions becomes
//	                            an nvws.warp_group of loops
//	nvws-insert-aref            values that pass between partitions go through buffers
//	nvws-insert-tmem-aref       so do buffers in tensor memory that several use
//	nvws-assign-stage-phase     buffers that pass between partitions are numbered
//	nvws-lower-aref             and get barriers
//	nvws-lower-warp-group       which becomes a ttg.warp_specialize
//	tritongpu-optimize-partition-warps
//	                            whose partitions have no more warps than they need
//	tritongpu-automatic-warp-specialization
//	                            all but the last of these, and the schedules of the parts
//
// An operation says in which partitions it runs by ttg.partition, one with regions also
// for which its results are, by ttg.partition.outputs. The loop lists its partitions by
// their stages, in ttg.partition.stages, and has a number, ttg.warp_specialize.tag,
// which operations around it that go with it share.
//
// Package warpspec divides kernels by a design of its own, and is what the pipeline
// has; these passes run by name. Names and marks are Triton 3.6's.
package partition
