// Command muster-stand runs the servers that stand in, on one machine, for what a cloud offers.
//
//	muster-stand s3 --root DIR --listen ADDR:PORT --credentials FILE [--bucket NAME ...]
//
// It is a module and a binary of its own because its servers are heavy and only a local cluster starts them.
// It runs in the foreground until SIGTERM or SIGINT and then exits with 0; what stops it earlier is one line on
// stderr and exit code 1, a wrong command line exit code 2.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) == 0 || args[0] != "s3" {
		fmt.Fprintln(os.Stderr, "muster-stand: usage: muster-stand s3 --root DIR --listen ADDR:PORT --credentials FILE [--bucket NAME ...]")
		return 2
	}
	opts, err := parseS3(args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "muster-stand: s3:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := serveS3(ctx, opts); err != nil {
		fmt.Fprintln(os.Stderr, "muster-stand: s3:", err)
		return 1
	}
	return 0
}
