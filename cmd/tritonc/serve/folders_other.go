//go:build !unix

package serve

import "errors"

func identity(string) (device, inode uint64, err error) { return 0, 0, errors.ErrUnsupported }
