package cuda

/*
#include <cuda.h>
*/
import "C"

import (
	"fmt"

	"gorgonia.org/cu"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
)

// CanAccessPeer reports whether the hardware lets kernels of this GPU access memory of
// another one.
func (d *Device) CanAccessPeer(other *Device) (bool, error) {
	var can C.int
	err := d.gpu.enter(func() error {
		return explainResult("asking about peers", C.cuDeviceCanAccessPeer(&can, C.CUdevice(d.gpu.device), C.CUdevice(other.gpu.device)))
	})
	return can != 0, err
}

// EnablePeer lets kernels of this GPU access memory of another one: buffers of it may be
// their arguments from now on. It is an error where the hardware cannot.
func (d *Device) EnablePeer(other *Device) error {
	g, o := d.gpu, other.gpu
	if g == o || g.reaches(o) {
		return nil
	}
	can, err := d.CanAccessPeer(other)
	if err != nil {
		return err
	}
	if !can {
		return diag.Errorf(diag.Pos{}, "kernels of GPU %d, %s, cannot access memory of GPU %d, %s: nothing that the two are connected by allows it",
			g.number, g.properties.Name, o.number, o.properties.Name).WithHelp("CopyPeer copies between them all the same")
	}
	return g.enter(func() error {
		e := C.cuCtxEnablePeerAccess(o.handle(), 0)
		if e != C.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED {
			if err := explainResult(fmt.Sprintf("enabling access from GPU %d to GPU %d", g.number, o.number), e); err != nil {
				return err
			}
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.peers[o] = true
		return nil
	})
}

// Reaches reports whether buffers of another device may be arguments of this one's
// kernels: those of the same GPU, and of others after EnablePeer.
func (d *Device) Reaches(other driver.Device) bool {
	o, ok := other.(*Device)
	return ok && (d.gpu == o.gpu || d.gpu.reaches(o.gpu))
}

// reaches reports whether kernels may access memory of another GPU.
func (g *gpu) reaches(o *gpu) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.peers[o]
}

// CopyPeer copies n bytes between buffers, which may be those of different GPUs; it needs
// no EnablePeer, and is faster with it. It waits for what was launched on both.
func CopyPeer(to *Buffer, toOff int, from *Buffer, fromOff, n int) error {
	if n < 0 {
		return diag.Errorf(diag.Pos{}, "a copy has a negative size, %d", n)
	}
	if err := to.inside(toOff, n); err != nil {
		return err
	}
	if err := from.inside(fromOff, n); err != nil {
		return err
	}
	a, b := from.dev.gpu, to.dev.gpu
	if n == 0 {
		return nil
	}
	if err := a.enter(func() error { return explain("waiting for GPU "+a.properties.Name, cu.Synchronize()) }); err != nil {
		return err
	}
	return b.enter(func() error {
		at := func(b *Buffer, off int) C.CUdeviceptr { return C.CUdeviceptr(b.start()) + C.CUdeviceptr(off) }
		err := explainResult(fmt.Sprintf("copying from %s to %s", from.name, to.name),
			C.cuMemcpyPeer(at(to, toOff), b.handle(), at(from, fromOff), a.handle(), C.size_t(n)))
		if err != nil {
			return err
		}
		return explain("copying from "+from.name+" to "+to.name, cu.Synchronize())
	})
}
