// Command run compiles all tests of the repository and then runs them. It prints a line for each package that ends, how long the
// rest will take, and a verdict last.
//
//	go run ./test/run [-soak] [-shuffle] [-record] [-p N] [-install COMMAND] [PACKAGE...]
//
// A PACKAGE is a directory of the repository, such as internal/lint; all packages are run if none is named. Tests whose names begin
// with TestSoak_ repeat something at random, measure, or train for long: -soak runs these, and without it all others run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/test/cloud/moto"
)

// options say what to run.
type options struct {
	soak     bool
	shuffle  bool
	record   bool
	parallel int
	install  string // a command line
	packages []string
}

func main() {
	o := options{}
	flag.BoolVar(&o.soak, "soak", false, "run the tests whose names begin with TestSoak_, and no others")
	flag.BoolVar(&o.shuffle, "shuffle", false, "run the tests of each package in random order")
	flag.BoolVar(&o.record, "record", false, "write how long each package took to "+secondsFile)
	flag.IntVar(&o.parallel, "p", 4, "how many packages run at once; tests of whole clusters mostly wait")
	flag.StringVar(&o.install, "install", "", "a `command` that installs what tests need; it runs beside the compiler, before the first test")
	flag.Parse()
	o.packages = flag.Args()
	if o.parallel < 1 {
		fmt.Fprintln(os.Stderr, "test/run: -p needs a number of packages, 1 or more")
		os.Exit(2)
	}
	// A terminal that is closed and a pipe that nobody reads end it as Ctrl-C does.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	err := run(ctx, o)
	if err != nil && !errors.Is(err, errFailed) {
		word := "FAIL"
		if ctx.Err() != nil {
			word = "STOPPED"
		}
		fmt.Printf("test/run: %v\n%s: no test was run\n", err, word)
	}
	if err != nil {
		os.Exit(1)
	}
}

// errFailed means that the verdict, which is printed already, is not a pass.
var errFailed = errors.New("not all tests passed")

// run compiles and runs the packages, in the repository's root.
func run(ctx context.Context, o options) error {
	began := time.Now()
	packages, err := list(ctx, o)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "muster-test-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // ordinary users run its programs, too
		return err
	}
	fmt.Printf("compiling the programs and the tests of %d packages; from nothing this takes minutes\n", len(packages))
	if err := prepare(ctx, dir, packages, o.install); err != nil {
		return err
	}
	fmt.Printf("ready in %s\n", length(time.Since(began)))
	seconds, err := readSeconds(filepath.Join("test", "run", secondsFile))
	if err != nil {
		return err
	}
	if t, err := moto.NewTemplate(filepath.Join(dir, "moto")); err == nil { // without moto the tests that want it say so
		defer t.Close()
		if err := os.Setenv(moto.Variable, t.Address()); err != nil {
			return err
		}
	}
	s := newSchedule(packages, seconds, o)
	s.start(ctx, filepath.Join(dir, "programs"))
	if o.record && ctx.Err() == nil && !s.failed() {
		if err := s.keepSeconds(filepath.Join("test", "run", secondsFile), seconds); err != nil {
			return err
		}
	}
	s.verdict(time.Since(began), ctx.Err())
	if s.failed() || ctx.Err() != nil {
		return errFailed
	}
	return nil
}
