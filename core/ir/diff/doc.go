// Package diff compares two modules by structure: what they compute and in
// which order. The modules may belong to different contexts. Apart from the
// comparison are
//
//   - the names of values, blocks, private functions and attribute aliases,
//   - locations,
//   - where constants are, in which order, and whether twice,
//   - the order of the operands of commutative operations,
//   - attributes that have their default value.
//
// Two modules are equal when their normal forms are the same text. When they
// are not, a diff of the normal forms would be of little use, since one more
// operation renumbers all values after it: Modules therefore first finds which
// operations of the one correspond to which of the other and gives their results
// the same numbers.
package diff
