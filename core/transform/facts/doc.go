// Package facts names what passes need of a module beside that it verifies, and what
// they give: facts of package pass, each with the check that finds the first operation
// at which it does not hold. A vendor's passes may have more of their own.
package facts
