package services

import (
	"path"
	"slices"

	"github.com/muster-hpc/muster/internal/spec"
)

// ImageDir is where a cluster keeps its container images: on the first shared
// file system of its file that is not /home, or else there.
func ImageDir(c *spec.Cluster) string {
	return path.Join(ImageStorage(c).MountDir, "containers", "images")
}

// ImageStorage is the file system that has ImageDir.
func ImageStorage(c *spec.Cluster) spec.SharedStorage {
	i := slices.IndexFunc(c.SharedStorage, func(s spec.SharedStorage) bool { return s.MountDir != "/home" })
	if i < 0 {
		return spec.SharedStorage{Name: "home", MountDir: "/home"}
	}
	return c.SharedStorage[i]
}
