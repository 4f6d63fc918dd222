package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestGenerated holds the views of every dialect to its table.
func TestGenerated(t *testing.T) {
	for _, table := range tables() {
		dir := filepath.Join("..", "..", filepath.FromSlash(table.folder))
		want, err := generate(table, dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, output))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s/%s is not what the table says: run go generate ./%s", table.folder, output, table.folder)
		}
	}
}

// TestDeclared holds declarations that are compiled in to their JSON.
func TestDeclared(t *testing.T) {
	found := 0
	for _, table := range tables() {
		if !slices.Contains(compiled, table.dialect.Name) {
			continue
		}
		found++
		dir := filepath.Join("..", "..", filepath.FromSlash(table.folder))
		want, err := declare(table.dialect.Name, dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, declaration))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s/%s is not what the JSON says: run go generate ./%s", table.folder, declaration, table.folder)
		}
	}
	if found != len(compiled) {
		t.Errorf("%d of %q are dialects", found, compiled)
	}
}

func TestCamel(t *testing.T) {
	for name, want := range map[string]string{
		"ptr": "Ptr", "isVolatile": "IsVolatile", "sym_name": "SymName", "warp_specialize.partitions": "WarpSpecializePartitions",
	} {
		if got := camel(name); got != want {
			t.Errorf("camel(%q) is %q, want %q", name, got, want)
		}
	}
}
