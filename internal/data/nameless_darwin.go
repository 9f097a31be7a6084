package data

import (
	"errors"
	"os"
)

// unnamed makes no file: macOS has none without a name.
func unnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }
