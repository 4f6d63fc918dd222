package lang

// matrices: products of matrices.
var matrices = []*Builtin{}
