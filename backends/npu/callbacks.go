package npu

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// callbacks are the functions of the library that the vendor's compiler writes beside some
// binaries, by what follows the kernel's name in theirs: what they return is a constant that
// a launch must know.
var callbacks = []struct {
	suffix string
	set    func(f *binFacts, n int64)
}{
	{"_infer_task_type_function", func(f *binFacts, n int64) { f.TaskType = &n }},
	{"_infer_workspace_shape_function", func(f *binFacts, n int64) { f.WorkspaceSize = n }},
	{"_infer_sync_block_lock_num_function", func(f *binFacts, n int64) { f.LockNum = n }},
	{"_infer_sync_block_lock_init_function", func(f *binFacts, n int64) { f.LockInitValue = n }},
}

// readCallbacks takes what the callbacks of a kernel return from their code: nothing of the
// vendor's is executed, and a library for another processor is read as well.
func readCallbacks(path, kernel string, facts *binFacts) error {
	file, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return err
	}
	for _, c := range callbacks {
		for i := range symbols {
			if s := &symbols[i]; s.Name == kernel+c.suffix && s.Section != elf.SHN_UNDEF {
				code, err := codeAt(file, s.Value)
				if err != nil {
					return fmt.Errorf("%s: %w", s.Name, err)
				}
				n, ok := returned(file.Machine, code)
				if !ok {
					return fmt.Errorf("%s does more than to return a number: its code begins with % x", s.Name, code[:min(len(code), 16)])
				}
				c.set(facts, n)
			}
		}
	}
	return nil
}

// mostCode is more than a function has that returns a constant.
const mostCode = 64

// codeAt is what lies at an address of the loaded file, at most mostCode bytes.
func codeAt(file *elf.File, address uint64) ([]byte, error) {
	for _, p := range file.Progs {
		if p.Type != elf.PT_LOAD || address < p.Vaddr || address >= p.Vaddr+p.Filesz {
			continue
		}
		code := make([]byte, min(mostCode, p.Vaddr+p.Filesz-address))
		if _, err := p.ReadAt(code, int64(address-p.Vaddr)); err != nil {
			return nil, err
		}
		return code, nil
	}
	return nil, fmt.Errorf("there is nothing at 0x%x", address)
}

// returned is the constant that a function returns in its first register, or false where
// the code has an instruction that such a function needs not.
func returned(machine elf.Machine, code []byte) (int64, bool) {
	switch machine {
	case elf.EM_X86_64:
		return returnedX86(string(code))
	case elf.EM_AARCH64:
		return returnedARM(code)
	}
	return 0, false
}

// Instructions of x86-64 that change nothing that is returned.
var neutralX86 = []string{
	"\xf3\x0f\x1e\xfa", // endbr64
	"\x55",             // push rbp
	"\x48\x89\xe5",     // mov rbp, rsp
	"\x5d",             // pop rbp
	"\xc9",             // leave
	"\x90",             // nop
}

// constantsX86 are those that write rax, by their first bytes, with the bytes of the number
// that follows.
var constantsX86 = []struct {
	code   string
	size   int
	number func(b []byte) int64
}{
	{"\x48\xb8", 8, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }},            // movabs rax
	{"\x48\xc7\xc0", 4, func(b []byte) int64 { return int64(int32(binary.LittleEndian.Uint32(b))) }}, // mov rax, sign-extended
	{"\xb8", 4, func(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) }},                // mov eax, which clears the rest
	{"\x48\x83\xc8\xff", 0, func([]byte) int64 { return -1 }},                                        // or rax, -1
	{"\x31\xc0", 0, func([]byte) int64 { return 0 }},                                                 // xor eax, eax
	{"\x48\x31\xc0", 0, func([]byte) int64 { return 0 }},                                             // xor rax, rax
}

func returnedX86(code string) (value int64, ok bool) {
next:
	for code != "" {
		if code[0] == 0xc3 { // ret
			return value, ok
		}
		for _, c := range constantsX86 {
			if rest, found := strings.CutPrefix(code, c.code); found && len(rest) >= c.size {
				value, ok, code = c.number([]byte(rest[:c.size])), true, rest[c.size:]
				continue next
			}
		}
		for _, c := range neutralX86 {
			if rest, found := strings.CutPrefix(code, c); found {
				code = rest
				continue next
			}
		}
		return 0, false
	}
	return 0, false
}

// returnedARM is returnedX86 of AArch64: moves of 16 bits to x0 or w0, and what a function
// may begin and end with.
func returnedARM(code []byte) (value int64, ok bool) {
	var x uint64
	for ; len(code) >= 4; code = code[4:] {
		w := binary.LittleEndian.Uint32(code)
		shift := (w >> 21 & 3) * 16
		number := uint64(w>>5&0xffff) << shift
		switch {
		case w == 0xd65f03c0: // ret
			return int64(x), ok
		case w&0xffffff1f == 0xd503241f || w == 0xd503201f || w == 0xd503233f || w == 0xd50323bf: // bti, nop, paciasp, autiasp
		case w == 0xaa1f03e0 || w == 0x2a1f03e0: // mov x0, xzr
			x, ok = 0, true
		case w&0xff80001f == 0xd2800000 || w&0xff80001f == 0x52800000: // movz
			x, ok = number, true
		case w&0xff80001f == 0x92800000: // movn x0
			x, ok = ^number, true
		case w&0xff80001f == 0x12800000: // movn w0
			x, ok = uint64(^uint32(number)), true
		case w&0xff80001f == 0xf2800000 || w&0xff80001f == 0x72800000: // movk
			x = x&^(0xffff<<shift) | number
		default:
			return 0, false
		}
	}
	return 0, false
}
