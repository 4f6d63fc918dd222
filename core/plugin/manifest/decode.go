package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
)

// decode reads the one JSON value of text into v. Unknown fields are errors.
func decode(at string, text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	offset := dec.InputOffset()
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		err = errors.New("there is text after the end")
	}
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset - 1
	case errors.As(err, &wrong):
		offset = wrong.Offset - 1
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		offset = int64(len(text))
	}
	before := text[:min(max(offset, 0), int64(len(text)))]
	pos := diag.Pos{File: at, Line: 1 + bytes.Count(before, []byte("\n")), Col: len(before) - bytes.LastIndexByte(before, '\n')}
	return diag.Errorf(pos, "%s", strings.TrimPrefix(err.Error(), "json: ")).WithSource(string(text))
}
