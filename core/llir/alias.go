package llir

import (
	"slices"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/metadata"
)

// AliasScope is a set of accesses of which LLVM is told that others access no memory that
// they do (LLVM's metadata alias.scope and noalias).
type AliasScope struct {
	nodes [3]*metadata.Tuple // the domain, the scope, and the list of it alone
}

// AddAliasScope adds a scope, in a domain of its own.
func (m *Module) AddAliasScope(name string) *AliasScope {
	node := func(fields ...metadata.Field) *metadata.Tuple {
		return &metadata.Tuple{MetadataID: -1, Fields: fields}
	}
	domain, scope := node(), node()
	domain.Distinct, scope.Distinct = true, true
	domain.Fields = []metadata.Field{domain, &metadata.String{Value: "tritonc"}}
	scope.Fields = []metadata.Field{scope, domain, &metadata.String{Value: name}}
	s := &AliasScope{nodes: [3]*metadata.Tuple{domain, scope, node(scope)}}
	m.scopes = append(m.scopes, s)
	return s
}

// Holds says that inst, a call, belongs to the scope.
func (s *AliasScope) Holds(inst *ir.InstCall) { s.attach(&inst.Metadata, "alias.scope") }

// IsApartFrom says that inst, a load or a store, accesses no memory that those of the scope do.
func (s *AliasScope) IsApartFrom(inst ir.Instruction) {
	switch i := inst.(type) {
	case *ir.InstLoad:
		s.attach(&i.Metadata, "noalias")
	case *ir.InstStore:
		s.attach(&i.Metadata, "noalias")
	default:
		panic("BUG: llir: neither a load nor a store")
	}
}

// attach adds to a list that instructions of one location share.
func (s *AliasScope) attach(list *ir.Metadata, name string) {
	*list = append(slices.Clone(*list), &metadata.Attachment{Name: name, Node: s.nodes[2]})
}
