// Package importrules holds tests of the source itself: which package may import
// which (rules_test.go), that core names no vendor (vendor_test.go), that documents
// link to what exists (docs_test.go), and that comments, messages and documents use
// common terms (words_test.go). It has no code of its own.
package importrules
