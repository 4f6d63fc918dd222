package lang

// foreign: code that is not of the language.
var foreign = []*Builtin{}
