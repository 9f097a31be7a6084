package data

import "os"

// direct opens a file for writes past the cache, which macOS has no sure way for.
func direct(*os.File) *os.File { return nil }
