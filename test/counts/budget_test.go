package counts

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
	"github.com/tritonc/tritonc/driver/sim/simt"
)

// counters runs a kernel on a device and returns what was counted.
func counters(t testing.TB, k *compiled, opt sim.Options, s shape) simt.Counters {
	t.Helper()
	mod, err := sim.Load(k.kernel+".ptx", []byte(k.ptx))
	if err != nil {
		t.Fatal(err)
	}
	d := sim.New(opt)
	rep, err := s.launch(d, mod, k, k.shared)
	if err != nil {
		t.Fatal(err)
	}
	return rep.Counters
}

var labelLine = regexp.MustCompile(`^(\$L__BB\d+_\d+):`)

// isDot reports whether a line of PTX multiplies matrices.
func isDot(line string) bool {
	return strings.Contains(line, "mma.sync") || strings.Contains(line, "wgmma.mma_async")
}

// innerLoop is the text of the loop of PTX that has the dots in it.
func innerLoop(t testing.TB, ptx string) []string {
	t.Helper()
	lines := strings.Split(ptx, "\n")
	for from, line := range lines {
		m := labelLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		products := false
		for to := from + 1; to < len(lines) && !labelLine.MatchString(lines[to]); to++ {
			products = products || isDot(lines[to])
			if products && strings.Contains(lines[to], "bra") && strings.HasSuffix(lines[to], m[1]+";") {
				return lines[from : to+1]
			}
		}
	}
	t.Fatal("no loop with dots")
	return nil
}

// The inner loop of a dot: operands come by copies of 16 bytes, go from shared memory
// into registers with ldmatrix and no conflict of banks, or stay there for wgmma, and
// nothing goes back.
func TestMatmulLoop(t *testing.T) {
	for _, name := range []string{"matmul_fp16", "matmul_bf16", "matmul_fp16_8w"} {
		for _, target := range targets {
			t.Run(target+"/"+name, func(t *testing.T) {
				k := compile(t, jobNamed(t, name), target)
				copies, products, warpgroup := 0, 0, false
				for _, line := range innerLoop(t, k.ptx) {
					switch {
					case strings.Contains(line, "st.shared"), strings.Contains(line, "ld.shared"), strings.Contains(line, "ld.global"), strings.Contains(line, ".local"):
						t.Errorf("in the loop: %s", strings.TrimSpace(line))
					case strings.Contains(line, "cp.async.c") && !strings.Contains(line, "commit"):
						copies++
						if !strings.Contains(line, "cp.async.cg") || !strings.Contains(line, ", 0x10,") {
							t.Errorf("a narrow copy: %s", strings.TrimSpace(line))
						}
					case isDot(line):
						products++
						warpgroup = warpgroup || strings.Contains(line, "wgmma")
					}
				}
				if warpgroup != (target == "cuda:90") {
					t.Errorf("wgmma in the loop: %v", warpgroup)
				}
				if copies != 16 && name != "matmul_fp16_8w" || products == 0 {
					t.Errorf("%d copies and %d dots in the loop", copies, products)
				}
				// What eight iterations more count is the loop's alone.
				const n = int32(256)
				at := func(depth int32) simt.Counters {
					bytes := int(n * depth * 2)
					return counters(t, k, sim.Options{NoChecks: true, Chip: sim.H200}, shape{sim.Dim(2), func(d *sim.Device) []any {
						return []any{ramp(d, "a", bytes), ramp(d, "b", bytes), d.Alloc("c", int(2*n*n)), n, n, depth, depth, n, n}
					}})
				}
				short, long := at(512), at(1024)
				if got, least := long.SharedWavefronts-short.SharedWavefronts, long.SharedWavefrontsNeeded-short.SharedWavefrontsNeeded; got != least || got == 0 {
					t.Errorf("the banks of shared memory take %d passes, %d without conflicts", got, least)
				}
				// Two barriers per iteration: before reading a buffer and before refilling one.
				warps := uint64(k.threads / 32)
				if got := (long.Barriers - short.Barriers) / warps / 2 / 8; got > 2 {
					t.Errorf("%d barriers per iteration", got)
				}
			})
		}
	}
}

// Softmax reads and writes each byte once, whole sectors at a time.
func TestSoftmaxTraffic(t *testing.T) {
	const rows, n = 4, 2000
	k := compile(t, jobNamed(t, "row_softmax"), "cuda:80")
	c := counters(t, k, sim.Options{}, shape{sim.Dim(rows), func(d *sim.Device) []any {
		in := d.Alloc("in", 4*rows*n)
		in.Fill(0)
		return []any{d.Alloc("out", 4*rows*n), in, int32(n), int32(n), int32(n)}
	}})
	const bytes = 4 * rows * n
	if r, w := c.BytesRead[simt.SpaceGlobal], c.BytesWritten[simt.SpaceGlobal]; r != bytes || w != bytes {
		t.Errorf("%d bytes read and %d written, want %d", r, w, bytes)
	}
	if c.GlobalSectors != 2*bytes/32 {
		t.Errorf("%d sectors, want %d", c.GlobalSectors, 2*bytes/32)
	}
	if c.SharedWavefronts != c.SharedWavefrontsNeeded {
		t.Errorf("%d passes through shared memory, %d needed", c.SharedWavefronts, c.SharedWavefrontsNeeded)
	}
}

// Blocks that are resident together share operands the more, the squarer the
// part of the result that they compute. Of 4×4 tiles, four at once, row by row
// need 4 tiles of A and 16 of B, squares of two by two 8 of each: 20 and 16. Of
// 16×16 tiles, sixteen at once, a row needs 1 + 16 panels, and 8×2 tiles 8 + 2.
func TestGrouping(t *testing.T) {
	const tile, sectors = 32, 32 * 32 * 2 / 32 // of a tile of f16
	for _, c := range []struct {
		group           string
		tiles, resident int
		panels          int // of operands, a wave
	}{
		{"1", 4, 4, 1 + 4},
		{"2", 4, 4, 2 + 2},
		{"1", 16, 16, 1 + 16},
		{"8", 16, 16, 8 + 2},
	} {
		j := jobNamed(t, "matmul_fp16")
		j.Signature = strings.Replace(j.Signature, "BM=128, BN=128, BK=64, GROUP=8", "BM=32, BN=32, BK=32, GROUP="+c.group, 1)
		k := compile(t, j, "cuda:80")
		size := int32(c.tiles * tile)
		const depth = 4 * tile
		chip := sim.A100
		chip.SMs, chip.MaxBlocks = c.resident, 1
		got := counters(t, k, sim.Options{NoChecks: true, Waves: true, Chip: chip}, shape{sim.Dim(c.tiles * c.tiles), func(d *sim.Device) []any {
			bytes := int(size) * depth * 2
			return []any{ramp(d, "a", bytes), ramp(d, "b", bytes), d.Alloc("c", int(2*size*size)), size, size, int32(depth), int32(depth), size, size}
		}})
		waves := c.tiles * c.tiles / c.resident
		want := uint64(waves * (c.panels*depth/tile + c.resident) * sectors)
		if got.WaveSectors != want {
			t.Errorf("%d×%d tiles, %d at once, in groups of %s: %d distinct sectors, want %d", c.tiles, c.tiles, c.resident, c.group, got.WaveSectors, want)
		}
	}
}

var register = regexp.MustCompile(`%[a-z]+\d+`)

// freeProducts counts, of the dots of a loop, those that can run while
// what is loaded from shared memory after the wait for copies is under way: they
// depend on nothing of it.
func freeProducts(t testing.TB, ptx string) (free, all int) {
	t.Helper()
	loop := innerLoop(t, ptx)
	wait := -1
	for i, line := range loop {
		if strings.Contains(line, "cp.async.wait_group") {
			wait = i
		}
	}
	if wait < 0 {
		t.Fatal("the loop waits for no copies")
	}
	// From one wait to the next, over the end of the loop.
	late := map[string]bool{} // registers that depend on loads since
	for i := range loop {
		line := loop[(wait+i)%len(loop)]
		found := register.FindAllString(line, -1)
		switch {
		case strings.Contains(line, "ldmatrix"):
			for _, r := range found[:len(found)-1] { // the last is the address
				late[r] = true
			}
		case strings.Contains(line, "mma.sync"):
			all++
			const results = 4 // of f32, first in the list
			depends := false
			for _, r := range found[results:] {
				depends = depends || late[r]
			}
			if !depends {
				free++
				continue
			}
			for _, r := range found[:results] {
				late[r] = true
			}
		}
	}
	return free, all
}

// Operands that are read ahead give dots that need not wait for shared
// memory: half of an iteration's. Nothing else becomes more, but for registers.
func TestPrefetchedProducts(t *testing.T) {
	for _, name := range []string{"matmul_fp16", "matmul_fp16_8w"} {
		t.Run(name, func(t *testing.T) {
			j := jobNamed(t, name)
			plain := compile(t, j, "cuda:80")
			j.Options = maps.Clone(j.Options)
			j.Options["prefetch_operands"] = true
			ahead := compile(t, j, "cuda:80")
			if free, _ := freeProducts(t, plain.ptx); free != 0 {
				t.Errorf("%d dots wait for nothing without operands read ahead", free)
			}
			if free, all := freeProducts(t, ahead.ptx); 2*free < all {
				t.Errorf("%d of %d dots wait for nothing", free, all)
			}
			var r [2]row
			for i, k := range []*compiled{plain, ahead} {
				r[i] = newRow("cuda:80", name)
				if err := r[i].simulate(t, k, k.shared, shapeOf(j)); err != nil {
					t.Fatal(err)
				}
			}
			warps := plain.threads / 32 * shapeOf(j).grid[0]
			if r[1].sectors != r[0].sectors || r[1].barriers > r[0].barriers+warps {
				t.Errorf("%d sectors and %d barriers, without %d and %d", r[1].sectors, r[1].barriers, r[0].sectors, r[0].barriers)
			}
			// One part is read for an iteration that does not come.
			if most := r[0].passes * 9 / 8; r[1].passes > most {
				t.Errorf("%d passes through shared memory, without %d", r[1].passes, r[0].passes)
			}
		})
	}
}
