package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/say/fault"
)

// ordinary runs a function as an ordinary user: on a thread of its own, which ends with it.
func ordinary(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks it, so that nothing else runs there
		const nobody = 65534
		if os.Getuid() == 0 {
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
				done <- fmt.Errorf("become an ordinary user: %w", errno)
				return
			}
		}
		done <- f()
	}()
	return <-done
}

// TestImagesOfAnotherUser holds that a cluster's directory of images is refused with whose it is.
func TestImagesOfAnotherUser(t *testing.T) {
	home, err := os.MkdirTemp("", "images")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	dir := filepath.Join(home, "theirs")
	record := []byte(`{"name": "theirs", "user": "ada", "uid": 4711}`)
	if err := errors.Join(os.Chmod(home, 0o755), os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "cluster.json"), record, 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MUSTER_HOME", home)
	err = ordinary(func() error { return new(imagePlace).ofLocal(&app{cluster: "theirs"}) })
	if err == nil || !strings.Contains(err.Error(), "cluster theirs is ada's: only ada and root work with it; or say with --dir") {
		t.Errorf("got %v", err)
	}
	if coded, ok := errors.AsType[fault.CodedError](err); !ok || coded.Code != fault.CodeForeign {
		t.Errorf("its code is %q", coded.Code)
	}
}
