package kerneltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// StoreEnv names a folder that keeps what the backend answered. A machine with a
// GPU but without LLVM runs the tests on what another one compiled: with the same
// seed they ask the same. The files are not compressed: all together they are
// compressed better, since kernels are alike.
const StoreEnv = "TRITONC_KERNELS"

// store is that folder, or "".
type store string

// name is the file of a request. What only this machine knows, its settings,
// is not a part of it.
func (s store) name(method string, request any) (string, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(method+"\n"), text...))
	return filepath.Join(string(s), method+"-"+hex.EncodeToString(sum[:16])+".gob"), nil
}

// get reads the answer to a request and reports whether there is one.
func (s store) get(method string, request, answer any) (bool, error) {
	if s == "" {
		return false, nil
	}
	name, err := s.name(method, request)
	if err != nil {
		return false, err
	}
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(answer); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// put keeps the answer to a request. Two who put the same one do no harm.
func (s store) put(method string, request, answer any) error {
	if s == "" {
		return nil
	}
	name, err := s.name(method, request)
	if err != nil {
		return err
	}
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(answer); err != nil {
		return err
	}
	if err := os.MkdirAll(string(s), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(string(s), "new-")
	if err != nil {
		return err
	}
	_, err = f.Write(data.Bytes())
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// The stages whose artifacts are kept, whatever is asked for: a device takes the
// one or the other.
const (
	storedText   = "ptx"
	storedBinary = "cubin"
)

// StoreCodeEnv, where set, is the architecture whose machine code alone the store
// keeps, such as 90: the device's own. Of others it compiles the text itself.
const StoreCodeEnv = "TRITONC_KERNELS_CODE"

// widen has a request return what is kept, besides what else is asked for.
func widen(req sdk.RunStagesRequest) sdk.RunStagesRequest {
	want, last := []string{storedText}, storedBinary
	if own := os.Getenv(StoreCodeEnv); own != "" && own != req.Target.Arch {
		want, last = nil, storedText
	}
	for _, stage := range append(slices.Clone(req.Want), req.Last) {
		if stage != storedText && stage != storedBinary {
			want = append(want, stage)
		}
	}
	req.Want, req.Last = want, last
	return req
}

// narrow leaves what was asked for, and reports whether all of it is there.
func narrow(resp sdk.RunStagesResponse, req sdk.RunStagesRequest) (sdk.RunStagesResponse, bool) {
	asked := append(slices.Clone(req.Want), req.Last)
	for _, stage := range asked {
		if resp.Artifact(stage) == nil {
			return resp, false
		}
	}
	resp.Artifacts = slices.DeleteFunc(slices.Clone(resp.Artifacts), func(a sdk.Artifact) bool {
		return !slices.Contains(asked, a.Stage)
	})
	return resp, true
}

// StoredBinaries are the kernels of machine code in a folder that StoreEnv named, by
// the file's name.
func StoredBinaries(dir string) (map[string][]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "RunStages-*.gob"))
	if err != nil {
		return nil, err
	}
	code := map[string][]byte{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var resp sdk.RunStagesResponse
		if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&resp); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if c := resp.Artifact(storedBinary); c != nil {
			code[filepath.Base(path)] = c
		}
	}
	return code, nil
}
