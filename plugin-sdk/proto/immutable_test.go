package proto_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	backendv1 "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
	devicev1 "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/device/v1"
)

// TestImmutable: what plugins speak stays as it was. A field, value, message or call
// may be added, which TRITONC_UPDATE=1 notes in testdata; whatever else a change does
// to the wire is for another version of the protocol, in a package of its own.
func TestImmutable(t *testing.T) {
	for _, file := range []protoreflect.FileDescriptor{
		backendv1.File_tritonc_backend_v1_backend_proto, devicev1.File_tritonc_device_v1_device_proto,
	} {
		golden := filepath.Join("testdata", string(file.Package())+".txt")
		text, err := os.ReadFile(golden)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		was, is := strings.Fields(string(text)), wire(file)
		gone, added := changes(was, is)
		if len(gone) > 0 {
			t.Errorf("%s: plugins rely on\n  %s", file.Path(), strings.Join(gone, "\n  "))
			continue
		}
		if len(added) == 0 {
			continue
		}
		if os.Getenv("TRITONC_UPDATE") == "" {
			t.Errorf("%s: not in %s (TRITONC_UPDATE=1 adds it):\n  %s", file.Path(), golden, strings.Join(added, "\n  "))
		} else if err := os.WriteFile(golden, []byte(strings.Join(is, "\n")+"\n"), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// changes are the lines that only one of two lists has.
func changes(was, is []string) (gone, added []string) {
	only := func(a, b []string) (list []string) {
		for _, line := range a {
			if !slices.Contains(b, line) {
				list = append(list, line)
			}
		}
		return list
	}
	return only(was, is), only(is, was)
}

// wire lists all of a file that the wire depends on, an item a word, sorted.
func wire(file protoreflect.FileDescriptor) (lines []string) {
	add := func(parts ...any) { lines = append(lines, strings.ReplaceAll(fmt.Sprintln(parts...), " ", ":")) }
	var message func(m protoreflect.MessageDescriptor)
	enums := func(list protoreflect.EnumDescriptors) {
		for i := range list.Len() {
			for k := range list.Get(i).Values().Len() {
				v := list.Get(i).Values().Get(k)
				add("enum", list.Get(i).FullName(), v.Name(), v.Number())
			}
		}
	}
	message = func(m protoreflect.MessageDescriptor) {
		add("message", m.FullName())
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			parts := []any{"field", m.FullName(), f.Name(), f.Number(), f.Cardinality(), f.Kind()}
			switch {
			case f.Message() != nil:
				parts = append(parts, f.Message().FullName())
			case f.Enum() != nil:
				parts = append(parts, f.Enum().FullName())
			}
			if o := f.ContainingOneof(); o != nil {
				parts = append(parts, "oneof", o.Name())
			}
			add(parts...)
		}
		enums(m.Enums())
		for i := range m.Messages().Len() {
			message(m.Messages().Get(i))
		}
	}
	for i := range file.Messages().Len() {
		message(file.Messages().Get(i))
	}
	enums(file.Enums())
	for i := range file.Services().Len() {
		s := file.Services().Get(i)
		for k := range s.Methods().Len() {
			c := s.Methods().Get(k)
			add("call", c.FullName(), c.Input().FullName(), c.IsStreamingClient(), c.Output().FullName(), c.IsStreamingServer())
		}
	}
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	slices.Sort(lines)
	return lines
}

// TestChanges: what a plugin would notice is told from what it would not.
func TestChanges(t *testing.T) {
	was := []string{"field:m:a:1:optional:string", "field:m:b:2:repeated:int32"}
	for _, tt := range []struct {
		is          []string
		gone, added int
	}{
		{was, 0, 0},
		{append(slices.Clone(was), "field:m:c:3:optional:bool"), 0, 1},
		{[]string{"field:m:a:1:optional:bytes", was[1]}, 1, 1},
		{[]string{was[0], "field:m:b:3:repeated:int32"}, 1, 1},
		{was[:1], 1, 0},
	} {
		if gone, added := changes(was, tt.is); len(gone) != tt.gone || len(added) != tt.added {
			t.Errorf("%v: gone %v, added %v", tt.is, gone, added)
		}
	}
}
