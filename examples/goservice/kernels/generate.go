package kernels

//go:generate tritonc build --go . -t cuda:80 -t cuda:90 softmax.py

// Blocks that row_softmax is compiled for: the most columns of a row.
const (
	Narrow = 128
	Wide   = 4096
)
