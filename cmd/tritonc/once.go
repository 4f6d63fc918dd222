package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// eachOnce has the flags of a command and of those below it refuse a second value,
// except for flags that may be repeated: of two targets, say, one would go
// unheeded.
func eachOnce(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "string", "int", "uint64", "float64":
			f.Value = &onceValue{Value: f.Value}
		}
	})
	for _, sub := range cmd.Commands() {
		eachOnce(sub)
	}
}

// onceValue is a flag's value that can be set once.
type onceValue struct {
	pflag.Value
	given bool
}

// Set takes the first value.
func (v *onceValue) Set(text string) error {
	if v.given {
		return errors.New("the flag is given twice and takes one value")
	}
	v.given = true
	return v.Value.Set(text)
}
