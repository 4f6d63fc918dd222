// Package importrules holds the tests that keep the house's floors apart: which
// package may import which (rules_test.go), and that core names no vendor
// (vendor_test.go). It has no code of its own.
package importrules
