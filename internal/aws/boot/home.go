package boot

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// homeBeside is where a file system for /home is mounted until it has the homes that
// the image and cloud-init have made.
const homeBeside = "/run/muster/home"

// MountHome mounts a file system at /home. What there was before is copied to it
// first, where it does not have it yet: users keep their keys.
func (m Machine) MountHome(ctx context.Context, w Mount) (string, error) {
	text, err := os.ReadFile(m.path("/proc/self/mounts"))
	if err != nil {
		return "", fmt.Errorf("look at mounts: %w", err)
	}
	if _, there := mountedAt(string(text), w.Target); there {
		return m.Mount(ctx, w)
	}
	target := w.Target
	w.Target = homeBeside
	if _, err := m.Mount(ctx, w); err != nil {
		return "", err
	}
	err = m.copyHomes(ctx, target)
	_, off := m.Command(ctx, "umount", m.path(homeBeside))
	if err := errors.Join(err, off); err != nil {
		return "", fmt.Errorf("copy homes to %s: %w", w.Source, err)
	}
	w.Target = target
	return m.Mount(ctx, w)
}

// copyHomes copies each home that the file system does not have.
func (m Machine) copyHomes(ctx context.Context, from string) error {
	homes, err := os.ReadDir(m.path(from))
	if err != nil {
		return err
	}
	for _, h := range homes {
		to := m.path(homeBeside + "/" + h.Name())
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		// Whole or not: a copy that was cut off is made anew.
		half := m.path(homeBeside + "/.muster-" + h.Name())
		if err := os.RemoveAll(half); err != nil {
			return err
		}
		if _, err := m.Command(ctx, "cp", "--archive", m.path(from+"/"+h.Name()), half); err != nil {
			return err
		}
		if err := os.Rename(half, to); err != nil {
			return err
		}
	}
	return nil
}
