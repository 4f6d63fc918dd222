package backend

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// tritonVersion is the release whose metadata and kernel ABI ours are.
const tritonVersion = "3.6.0"

// Metadata is what a launch must know of a kernel. The JSON's names are
// Triton's; the stages fill it in.
type Metadata struct {
	Name                string `json:"name"`
	NumWarps            int    `json:"num_warps"` // of a block, all warp groups
	NumCTAs             int    `json:"num_ctas"`
	Shared              *int   `json:"shared"`    // bytes of dynamic shared memory; nil: not known yet
	TensorMemory        int    `json:"tmem_size"` // columns
	GlobalScratchSize   int    `json:"global_scratch_size"`
	GlobalScratchAlign  int    `json:"global_scratch_align"`
	ProfileScratchSize  int    `json:"profile_scratch_size"`
	ProfileScratchAlign int    `json:"profile_scratch_align"`

	// Descriptors has an entry for each parameter that is a tensor descriptor, in order:
	// what the host must know to make it, in the vendor's terms, or nil where it is passed
	// in parts. All are where there is no entry.
	Descriptors []any `json:"tensordesc_meta"`

	// Remarks are what passes decided about operations of the kernel.
	Remarks []Remark `json:"remarks,omitempty"`

	// Usage is what the device code takes, as the backend's tools tell it: a struct
	// whose fields join the metadata; nil where it is not known.
	Usage any `json:"-"`
}

// Remark is a decision of a pass about an operation: whether a descriptor is copied
// through by hardware, say. The place is that of the operation in the source.
type Remark struct {
	Subject  string `json:"subject"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Decision string `json:"decision"`
	Why      string `json:"why"`

	open bool
}

// remark takes over the remarks of a pass. They replace those on the same subject that
// were open.
func (m *Metadata) remark(list []pass.Remark) {
	for i, r := range list {
		if i == 0 || list[i-1].Subject != r.Subject {
			m.Remarks = slices.DeleteFunc(m.Remarks, func(o Remark) bool { return o.open && o.Subject == r.Subject })
		}
	}
	for _, r := range list {
		n := Remark{Subject: r.Subject, Decision: r.Decision, Why: r.Why, open: r.Open}
		if at := ir.FileLocOf(r.At); at != nil {
			n.File, n.Line, n.Column = at.File, at.Line, at.Col+1
		}
		m.Remarks = append(m.Remarks, n)
	}
}

// newMetadata is what holds of a kernel that says nothing else.
func newMetadata(p *Plan) Metadata {
	return Metadata{NumCTAs: p.NumCTAs, GlobalScratchAlign: 1, ProfileScratchAlign: 1, Descriptors: []any{}}
}

// read takes over what an earlier compile wrote of a kernel. Fields that
// it does not name keep their values.
func (m *Metadata) read(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), m); err != nil {
		return sdk.Errorf("the metadata is not that of a kernel: %v", err)
	}
	return nil
}

// EnterBelow completes the metadata of a kernel that enters below ttgir with what
// the text of a file says of it: its name, the threads of a block (0 where it does
// not say, as its directive would) and whether it uses shared memory whose size a
// launch gives. It fails when something is known from nowhere.
func (m *Metadata) EnterBelow(d *Device, file, name string, threads int, directive string, dynamicShared bool) error {
	if m.Name != "" && m.Name != name {
		return sdk.Errorf("the metadata is of the kernel %s, but %s has %s", m.Name, file, name)
	}
	m.Name = name
	switch {
	case threads%d.WarpSize != 0:
		return sdk.Errorf("%s: blocks of %s are not whole warps", file, diag.Count(threads, "thread"))
	case m.NumWarps == 0 && threads == 0:
		return sdk.Errorf("%s does not say how many warps the kernel %s has", file, name).
			WithHelp("put its metadata beside it, as %s, or give it a %s", stem(file)+".json", directive)
	case m.NumWarps != 0 && threads != 0 && m.NumWarps*d.WarpSize != threads:
		return sdk.Errorf("the metadata has %s, but %s has blocks of %s", diag.Count(m.NumWarps, "warp"), file, diag.Count(threads, "thread"))
	case m.NumWarps == 0:
		m.NumWarps = threads / d.WarpSize
	}
	if m.Shared != nil {
		return nil
	}
	if dynamicShared {
		return sdk.Errorf("%s does not say how many bytes of shared memory the kernel %s uses", file, name).
			WithHelp("put its metadata beside it, as %s, or give --option shared=BYTES", stem(file)+".json")
	}
	zero := 0
	m.Shared = &zero
	return nil
}

// json is the metadata as Triton writes it, keys sorted: the options, what the
// stages found out, and what the code takes.
func (m *Metadata) json(req sdk.RunStagesRequest, warpSize int, hash string, tools []sdk.ToolInfo) (string, error) {
	all := map[string]any{}
	put := func(text []byte) error { return json.Unmarshal(text, &all) }
	if err := put([]byte(req.OptionsJSON)); err != nil {
		return "", fmt.Errorf("options: %w", err)
	}
	own, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	if err := put(own); err != nil {
		return "", err
	}
	if m.Usage != nil {
		text, err := json.Marshal(m.Usage)
		if err != nil {
			return "", err
		}
		if err := put(text); err != nil {
			return "", err
		}
	}
	var arch any = req.Target.Arch
	if n, err := strconv.Atoi(req.Target.Arch); err == nil { // as Triton has it: 90, but "gfx942"
		arch = n
	}
	all["target"] = map[string]any{"backend": req.Target.Backend, "arch": arch, "warp_size": warpSize}
	all["triton_version"] = tritonVersion
	all["hash"] = hash
	versions := map[string]string{}
	for _, t := range tools {
		versions[t.Name] = t.Version
	}
	all["tools"] = versions
	var b strings.Builder
	enc := json.NewEncoder(&b) // sorts keys
	enc.SetEscapeHTML(false)
	if err := enc.Encode(all); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// stem is a file's name without its ending.
func stem(file string) string {
	if i := strings.LastIndexByte(file, '.'); i > strings.LastIndexByte(file, '/') {
		return file[:i]
	}
	return file
}
