package checkpoint

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Temporary says that a file is not meant to stay, by its name or that of a directory above it.
func Temporary(p string) bool {
	for name := range strings.SplitSeq(p, "/") {
		if stem, is := orbaxTemporary(name); is && Step(stem) != NoStep {
			return true // in a checkpoint, such a name says that this is unfinished
		}
		if strings.HasPrefix(name, ".tmp-") || strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, ".part") || unnamed().MatchString(name) {
			return true
		}
	}
	return false
}

// unnamed is what the tempfile of Rust calls a file that is yet to get its name, which safetensors 0.8 leaves where a save is killed.
var unnamed = pattern.New(`^\.tmp[A-Za-z0-9]{6}$`)

// Log says that a file is one that programs append to: a part of it is worth having, and no checkpoint waits for it.
func Log(p string) bool {
	name := path.Base(p)
	return strings.HasPrefix(name, "events.out.tfevents.") ||
		slices.Contains([]string{".log", ".out", ".err", ".txt", ".jsonl", ".csv"}, path.Ext(name)) && !IsMarker(name)
}

// Pointer says that a file may name the newest of its siblings.
func Pointer(p string) bool { return strings.HasPrefix(path.Base(p), "latest") }

// Part says that a file belongs to the checkpoint that it is in. Logs and temporary files come and go.
func Part(p string) bool { return !Temporary(p) && (!Log(p) || Pointer(p)) }

// names are what programs call the directories and files of checkpoints:
//
//	checkpoint-500, checkpoint_20     Hugging Face's Trainer, accelerate
//	global_step500                    DeepSpeed
//	iter_0000500                      Megatron-LM
//	step-500, epoch_3, ckpt-7         torchtitan, torchtune and many a loop
//	epoch=3-step=500.ckpt             Lightning, a file or a directory
//	m--loss=1.2-step=500-last         NeMo
//	llama_v2-500steps                 AWS's examples of FSDP
//	ep0-ba500                         Composer
var names = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?:^|[-_])(?:global_)?step=(\d+)`),
		regexp.MustCompile(`(?:^|[-_])(?:iter|iteration|epoch)=(\d+)`),
		regexp.MustCompile(`^(?i:checkpoint|ckpt|global_?step|step|iter|iteration|epoch)[-_]?(\d+)(?:\.ckpt)?$`),
		regexp.MustCompile(`[-_](\d+)steps$`),
		regexp.MustCompile(`(?:^|[-_])ep\d+-ba(\d+)$`),
	}
})

// step is the step in the name of a checkpoint, and whether it is such a name.
func step(name string) (int64, bool) {
	for _, r := range names() {
		if m := r.FindStringSubmatch(name); m != nil {
			n, err := strconv.ParseInt(m[1], 10, 64)
			if err != nil {
				return NoStep, false
			}
			return n, true
		}
	}
	return NoStep, false
}

// Step is the step in the name of a checkpoint, which may be all of the name; NoStep if there is none.
func Step(dir string) int64 {
	if n, ok := step(path.Base(dir)); ok {
		return n
	}
	if n, err := strconv.ParseInt(path.Base(dir), 10, 64); err == nil && Numbered(dir) {
		return n
	}
	return NoStep
}

// titled says that a directory is called a checkpoint, though without a number.
func titled(name string) bool {
	return strings.HasPrefix(name, "checkpoint-") || strings.HasPrefix(name, "checkpoint_")
}

// Single says that a file is a checkpoint by itself, as Lightning and NeMo write them.
func Single(p string) bool {
	ext := path.Ext(p)
	return ext == ".ckpt" || ext == ".nemo"
}
