package batch

import "strings"

// bucketMounts are programs that show a bucket as a directory.
var bucketMounts = []string{"mount-s3", "s3fs", "goofys", "rclone", "geesefs"}

// bucketAt is the command of the script that shows a bucket where a path is, nil if none does.
func (s *script) bucketAt(file string) *command {
	for _, c := range s.named(bucketMounts...) {
		if c.name == "rclone" && (len(c.args()) == 0 || c.args()[0].text != "mount") {
			continue
		}
		for i, w := range c.args() { // BUCKET DIR, with options before, between and after
			if i > 0 && w.known() && strings.HasPrefix(w.text, "/") && w.text != "/" && within(strings.TrimRight(w.text, "/"), file) {
				return c
			}
		}
	}
	return nil
}

// bucketCheckpoint: what shows a bucket as a directory is no file system for a save. mount-s3 has no rename, and no second write to a file
// (awslabs/mountpoint-s3, doc/SEMANTICS.md); s3fs, goofys and rclone copy what is renamed (s3fs-fuse README, Limitations; rclone mount,
// VFS). Savers that write beside and rename are safetensors since 0.8 and Lightning since 2.5.
func (s *script) bucketCheckpoint(p spot, c *command) {
	what := "a rename there copies the whole file, and a save that is cut off leaves half a checkpoint"
	if c.name == "mount-s3" {
		what = "nothing can be renamed there or written twice, and a save that does either fails"
	}
	s.warnf("script/bucket-checkpoint", p.Place, "checkpoints go to %s, a bucket that %s shows as a directory: %s", p.shown(), c.name, what).
		WithHint("%s, and export it to the bucket", s.elsewhere())
}
