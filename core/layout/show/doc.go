// Package show writes layouts as text, in the two views of Triton's
// triton-tensor-layout and character for character as it does.
//
// The tensor view has a cell for every element: of a distributed layout, the
// threads and registers that hold it, "T<thread>:<register>" with the thread
// counted over the warps of a CTA, and "B<cta>:" before it where there are
// several CTAs; replicas are joined by "|". Of a shared layout, the cells are
// offsets, in rows as long as the tensor's, and say which element lies there.
//
// The hardware view has a line for every register of a warp, with the element
// of each lane; of a shared layout, a line for every offset. Of a padded layout,
// which Triton's tool does not show, the tensor view has the cells in the order of
// their addresses and the hardware view the addresses themselves, with the gaps.
//
// Numbers are padded to the widest of their kind, so that columns line up.
package show
