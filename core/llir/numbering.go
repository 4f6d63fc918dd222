package llir

import "github.com/llir/llvm/ir"

// vnTable has the computations of a function by their keys, and of those with one key the
// one that was added last. It is what a map would be, which takes twice as long to fill.
type vnTable struct {
	last  []int32     // by the low bits of a hash: the entry that was added last, from 1
	pages [][]vnEntry // the entries, in pages of pageEntries, which are never copied
	n     int         // of entries
}

const pageEntries = 128

// at is entry i.
func (t *vnTable) at(i int32) *vnEntry { return &t.pages[i/pageEntries][i%pageEntries] }

type vnEntry struct {
	key    vnKey
	before int32 // with the same low bits
	v      Value
	block  *ir.Block
}

// leastBuckets is how many a table has at first, a power of two.
const leastBuckets = 256

// hash mixes the fields of a key.
func (k *vnKey) hash() uint64 {
	const prime = 0x9e3779b97f4a7c15
	h := uint64(k.op)<<32 ^ uint64(k.pred)<<40 ^ uint64(k.flags)<<48 ^ uint64(uint32(k.typ))
	for _, x := range [...]uint64{uint64(uint32(k.a)) | uint64(k.b)<<32, uint64(uint32(k.c)) | uint64(k.n)<<32} {
		h = (h ^ x) * prime
		h ^= h >> 29
	}
	return h
}

// bucket is where the entries with a key begin.
func (t *vnTable) bucket(k *vnKey) *int32 { return &t.last[k.hash()&uint64(len(t.last)-1)] }

// find is the entry with a key that was added last, or nil.
func (t *vnTable) find(k *vnKey) *vnEntry {
	if len(t.last) == 0 {
		return nil
	}
	for i := *t.bucket(k); i > 0; {
		e := t.at(i - 1)
		if e.key == *k {
			return e
		}
		i = e.before
	}
	return nil
}

func (t *vnTable) add(k *vnKey, v Value, block *ir.Block) {
	if t.n%pageEntries == 0 {
		t.pages = append(t.pages, make([]vnEntry, pageEntries))
	}
	e := t.at(int32(t.n))
	e.key, e.v, e.block = *k, v, block
	if t.n++; t.n <= len(t.last) {
		t.link(int32(t.n - 1))
		return
	}
	t.last = make([]int32, max(leastBuckets, 2*len(t.last)))
	for i := range int32(t.n) {
		t.link(i)
	}
}

// link puts entry i before those of its bucket.
func (t *vnTable) link(i int32) {
	e := t.at(i)
	at := t.bucket(&e.key)
	e.before, *at = *at, i+1
}
