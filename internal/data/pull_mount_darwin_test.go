package data_test

import "errors"

var errNoMount = errors.New("macOS has no tmpfs")

func mountSmall(string) error { return errNoMount }

func widen(string) error { return errNoMount }

func unmount(string) error { return errNoMount }
