// Package draw makes SVG pictures of layouts: the tensor as a grid of cells, the
// planes of more than two dimensions one below the other.
//
// In the picture of a distributed layout each cell has the colour of the thread
// that holds the element, the hue telling the lane and the shade the warp, and
// says thread and register. In that of a shared layout each cell has the colour
// of the bank that holds the element, and says its offset: equal colours in
// what the threads of a warp access together are bank conflicts. Pointing at a
// cell shows all there is to know of it.
package draw
