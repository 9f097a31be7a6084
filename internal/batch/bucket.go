package batch

import "strings"

// bucketMounts are programs that show a bucket as a directory.
var bucketMounts = []string{"mount-s3", "s3fs", "goofys", "rclone"}

// bucketAt is the command of the script that shows a bucket where a path is, nil if none does.
func (s *script) bucketAt(file string) *command {
	for _, c := range s.named(bucketMounts...) {
		args := c.args()
		if c.name == "rclone" && (len(args) == 0 || args[0].text != "mount") {
			continue
		}
		for i, w := range args { // BUCKET DIR; behind an option there is its value, such as a cache's directory
			if i == 0 || strings.HasPrefix(args[i-1].text, "-") || !w.known() || !strings.HasPrefix(w.text, "/") {
				continue
			}
			if dir := strings.TrimRight(w.text, "/"); dir != "" && within(dir, file) {
				return c
			}
		}
	}
	return nil
}

// bucketCheckpoint: what shows a bucket as a directory is no file system for a save, which may rename, as safetensors' since 0.8 does
// (safetensors/safetensors#792). S3 itself has no rename for general purpose buckets, but a copy and a delete; mount-s3 refuses it, and a
// second write unless it may truncate (awslabs/mountpoint-s3, doc/SEMANTICS.md).
func (s *script) bucketCheckpoint(p spot, c *command) {
	what := "a rename there is a copy and a delete, and a save that is cut off in it leaves half a checkpoint"
	if c.name == "mount-s3" {
		what = "it renames nothing in a general purpose bucket, and writes a file again only with --allow-overwrite, so that some saves fail"
	}
	s.warnf("script/bucket-checkpoint", p.Place, "checkpoints go to %s, a bucket that %s shows as a directory: %s", p.shown(), c.name, what).
		WithHint("%s, and export it to the bucket", s.elsewhere())
}
