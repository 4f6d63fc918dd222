package tmem

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// places are where a schedule puts the operations of a loop's body: what
// tritongpu-schedule-loops wrote on them.
type places struct{ body *ir.Block }

// at is the stage and the cluster of op; ok is false if it has none.
func (p places) at(op *ir.Operation) (stage, cluster int64, ok bool) {
	stage, ok = op.IntAttr(tt.StageAttr)
	cluster, _ = op.IntAttr(tt.ClusterAttr)
	return stage, cluster, ok
}

// put places op.
func (p places) put(op *ir.Operation, stage, cluster int64) {
	c := op.Context()
	op.SetAttr(tt.StageAttr, c.I32Attr(stage))
	op.SetAttr(tt.ClusterAttr, c.I32Attr(cluster))
}

// like places what is made while it is Builder.OnInsert, but for constants, where op is.
func (p places) like(op *ir.Operation) func(*ir.Operation) {
	return func(n *ir.Operation) {
		if stage, cluster, ok := p.at(op); ok && !n.Def().Has(ir.ConstantLike) {
			p.put(n, stage, cluster)
		}
	}
}

// before reports whether a is executed before b in an iteration of the old loop.
func (p places) before(a, b *ir.Operation) bool {
	sa, ca, _ := p.at(a)
	sb, cb, _ := p.at(b)
	switch {
	case sa != sb:
		return sa < sb
	case ca != cb:
		return ca < cb
	}
	return a.IsBeforeInBlock(b)
}

// clusterBefore makes a new cluster right before op, of which the cluster is divided where
// something precedes op in it, and returns its number.
func (p places) clusterBefore(op *ir.Operation) int64 {
	_, cluster, _ := p.at(op)
	divided := false
	for o := range p.body.Ops() {
		if o == op {
			break
		}
		_, c, ok := p.at(o)
		divided = divided || ok && c == cluster
	}
	n := cluster
	if divided {
		n++
	}
	past := false // op was seen
	for o := range p.body.Ops() {
		past = past || o == op
		stage, c, ok := p.at(o)
		switch {
		case !ok || c < cluster:
		case c == cluster && !past:
		default:
			p.put(o, stage, c+1+n-cluster)
		}
	}
	return n
}
