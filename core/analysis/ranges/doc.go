// Package ranges finds bounds of integers: the least and the greatest number, taken as
// signed, that an integer or an element of a tensor of integers may be.
//
// Values are looked at when they are asked for, operands first. Sums, differences and
// products that may wrap around are unknown. Loops bound what they count and what they
// carry: a carried value to which an iteration adds a bounded number moves as far as the
// greatest number of iterations takes it, if that is known. Arguments of blocks are what
// branches give them. A comparison that the user
// states by tl.assume at the top of a function bounds its operands, wherever they are
// used: a program in which it fails has no meaning.
//
// A Result describes the module as it was. The package imports core/ir and core/dialect,
// and knows no vendor.
package ranges
