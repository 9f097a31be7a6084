package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/store"
)

// checkClass refuses a class of storage that S3 has not, before anything is sent. Other places may have their own.
func (a *app) checkClass(class, endpoint string) error {
	known := store.Classes()
	if class == "" || slices.Contains(known, class) {
		if store.Asleep(class) {
			a.note("objects of class %s can be pulled, and verified in full, only when S3 was asked to restore them", class)
		}
		return nil
	}
	meant := strings.ToUpper(strings.ReplaceAll(class, "-", "_"))
	if endpoint != "" && !slices.Contains(known, meant) {
		return nil
	}
	return fault.Usage(fmt.Errorf("S3 has no class of storage %q: there are %s", page.Printable(class), strings.Join(known, ", ")))
}

// twoArgs also says how --sse-kms takes its key: it may be alone, so that the key is no word of its own.
func twoArgs(c *cobra.Command, args []string) error {
	if err := cobra.ExactArgs(2)(c, args); err == nil || len(args) != 3 || !c.Flags().Changed("sse-kms") {
		return err
	}
	key := "KEY"
	for _, arg := range args {
		if strings.HasPrefix(arg, "alias/") || strings.HasPrefix(arg, "arn:") && strings.Contains(arg, ":kms:") {
			key = page.Printable(arg)
		}
	}
	return fault.Usage(fmt.Errorf("push takes SRC and s3://BUCKET/PREFIX, and here is a third; if it is the key, say --sse-kms=%s", key))
}
