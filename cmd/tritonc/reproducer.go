package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// thisFile begins the word in a reproducer's first line that stands for the
// file; its ending is the one that the file must have.
const thisFile = "THIS-FILE."

// writeReproducer writes a reproducer into a file of the folder dir, or of the
// system's for temporary files where that is empty, its
// own name put into the command in the first line, and returns that command.
func writeReproducer(dir, content string) (path, command string, err error) {
	first, rest, _ := strings.Cut(content, "\n")
	before, ending, ok := strings.Cut(first, thisFile)
	if !ok {
		return "", "", fmt.Errorf("the reproducer's first line does not name the file: %s", first)
	}
	ending, after, _ := strings.Cut(ending, " ")
	file, err := os.CreateTemp(dir, "tritonc-*."+filepath.Base(ending))
	if err != nil {
		return "", "", err
	}
	first = strings.TrimRight(before+file.Name()+" "+after, " ")
	_, err = file.WriteString(first + "\n" + rest)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return file.Name(), strings.TrimPrefix(first, "// "), err
}
