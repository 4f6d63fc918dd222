package local

import (
	"io"
	"sync"
)

// lifelines are the ends of pipes by which servers know that this process lives. They are
// kept from the garbage collector, which would close them.
var lifelines struct {
	sync.Mutex
	list []io.Closer
}

func keep(c io.Closer) {
	lifelines.Lock()
	defer lifelines.Unlock()
	lifelines.list = append(lifelines.list, c)
}
