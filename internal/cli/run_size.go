package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
)

// slurmsScript is how many bytes of a script Slurm takes where its configuration does
// not say.
const slurmsScript = 4 << 20

// checkSize finds scripts that are longer than the cluster takes: sbatch calls that a
// path that is too long. Slurm is asked only about those that are longer than usual.
func checkSize(ctx context.Context, s slurm.Client, b batchScript, data []byte) *diag.List {
	problems := &diag.List{}
	if len(data) <= slurmsScript {
		return problems
	}
	look, cancel := slurm.Limited(ctx)
	defer cancel()
	conf, _ := s.Conf(look) // without an answer it is as usual
	if limit := scriptSize(conf); len(data) > limit {
		problems.Errorf("script/size", "", "the file has %s, too much for a batch script", count.Bytes(int64(len(data)))).At(diag.Place{File: b.called}).
			WithHint("Slurm takes %s (max_script_size); let the script read its data from a file of its own", count.Bytes(int64(limit)))
	}
	return problems
}

// tooLong is what sbatch says of a script that is too long.
const tooLong = "other parameter too long"

// sizeHint goes on from a refusal of sbatch's that means the size of the script, where the
// cluster takes less than is usual.
func sizeHint(ctx context.Context, s slurm.Client, refusal string, size int) string {
	if !strings.Contains(refusal, tooLong) {
		return ""
	}
	look, cancel := slurm.Limited(ctx)
	defer cancel()
	conf, _ := s.Conf(look)
	limit := scriptSize(conf)
	if size <= limit {
		return ""
	}
	return fmt.Sprintf("; the script has %s, and Slurm takes %s (max_script_size): let it read its data from a file of its own",
		count.Bytes(int64(size)), count.Bytes(int64(limit)))
}

// scriptSize is how many bytes of a script Slurm takes, as of its configuration.
func scriptSize(conf map[string]string) int {
	for parameter := range strings.SplitSeq(conf["SchedulerParameters"], ",") {
		if text, ok := strings.CutPrefix(parameter, "max_script_size="); ok {
			if size, err := strconv.Atoi(text); err == nil {
				return size
			}
		}
	}
	return slurmsScript
}
