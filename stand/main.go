// Command muster-stand runs the servers that stand in, on one machine, for what a cloud offers.
//
//	muster-stand s3 --root DIR --listen ADDR:PORT --credentials FILE [--bucket NAME ...]
//	muster-stand registry --root DIR --listen ADDR:PORT --credentials FILE
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
	if len(args) == 0 {
		return usage()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	switch name := args[0]; name {
	case "s3":
		return runServer(ctx, name, args[1:], parseS3, serveS3)
	case "registry":
		return runServer(ctx, name, args[1:], parseRegistry, serveRegistry)
	}
	return usage()
}

func usage() int {
	fmt.Fprintln(os.Stderr, "muster-stand: usage: muster-stand s3|registry --root DIR --listen ADDR:PORT --credentials FILE")
	return 2
}

// runServer reads a server's command line and serves until ctx ends.
func runServer[O any](ctx context.Context, name string, args []string, parse func([]string) (O, error), serve func(context.Context, O) error) int {
	opts, err := parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "muster-stand: %s: %v\n", name, err)
		return 2
	}
	if err := serve(ctx, opts); err != nil {
		fmt.Fprintf(os.Stderr, "muster-stand: %s: %v\n", name, err)
		return 1
	}
	return 0
}
