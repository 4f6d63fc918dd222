package lang

// atomics: read-modify-write of memory.
var atomics = []*Builtin{}
