package gpu

import (
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// clusters runs programs of several blocks, which compute capability 9.0 brought.
type clusters struct{}

var _ lower.Clusters = clusters{}

// Rank is the block's number in its cluster.
func (clusters) Rank(b *llir.Builder, ctas int) llir.Value {
	v := sreg(b, "cluster.ctarank")
	b.F.AssumeZeroBits(v, ^uint64(ctas-1))
	return v
}

// ClusterID is the cluster's index.
func (clusters) ClusterID(b *llir.Builder, axis int) llir.Value {
	return gridReg(b, "clusterid.", axis)
}

// NumClusters is the size of the grid in clusters.
func (clusters) NumClusters(b *llir.Builder, axis int) llir.Value {
	return gridReg(b, "nclusterid.", axis)
}

// ClusterBarrier is barrier.cluster.arrive, which releases, and wait, which acquires.
func (clusters) ClusterBarrier(b *llir.Builder) {
	for _, half := range []string{"arrive", "wait"} {
		b.Call(b.M.Declare("llvm.nvvm.barrier.cluster."+half+".aligned", llir.HasEffects, llir.Void))
	}
}

// LoadRemote is one ld.shared::cluster, of the address that mapa gives.
func (clusters) LoadRemote(b *llir.Builder, a *lower.Access, rank llir.Value) []llir.Value {
	ws := wordsOf(b.M, a)
	var s assembly
	for range ws.count {
		s.out(ws.constraint)
	}
	s.str("{\n\t.reg .b32 remote;\n\tmapa.shared::cluster.u32 remote, ")
	s.ref(s.in("r", b.PtrAdd(a.Ptr, a.Offset)))
	s.str(", ")
	s.ref(s.in("r", rank))
	s.str(";\n\tld.shared::cluster")
	s.vector(ws)
	s.list(0, ws.count, true)
	s.str(", [ remote ];\n}")
	return ws.unpack(b, a.Elem, s.emit(b, ws.typ))
}
