package main

import (
	"encoding/json"
	"io"
)

// writeJSON writes what a verb lists with --json: an object a line.
func writeJSON[T any](w io.Writer, rows ...T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range rows {
		if err := enc.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}
