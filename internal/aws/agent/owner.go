package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// How often a ticket of another machine is looked at, and how long the metadata
// service may not answer before the boot says so.
const (
	ownerEvery   = 500 * time.Millisecond
	metadataWait = time.Minute
)

// OwnerFile is the file beside a ticket that says which instance it was written for.
// User data writes it last.
func OwnerFile(ticket string) string { return filepath.Join(filepath.Dir(ticket), "instance") }

// own waits until the ticket is this machine's: on a machine whose image was made of
// another, the agent starts before user data has brought the new ticket. waited says
// that the ticket was another's, and that the program is to start again with its own.
func (a *agent) own(ctx context.Context) (waited bool, err error) {
	began, me := time.Now(), ""
	for ; ; err = pause.For(ctx, ownerEvery) {
		if err != nil {
			return true, nil // the machine ends first
		}
		owner, err := a.owner()
		if err != nil || owner == "" {
			return waited, err
		}
		if me == "" {
			identity, err := boot.Identify(ctx, a.AWS)
			if err != nil && time.Since(began) > metadataWait {
				return false, nil // the boot asks again, and reports the error
			}
			if err != nil {
				continue
			}
			me = identity.InstanceID
		}
		if owner == me {
			return waited, nil
		}
		if !waited {
			a.Log.Info("the ticket is of the machine that this one's image was made of: waiting for its own", "ticket", owner, "machine", me)
		}
		waited = true
	}
}

// owner is the instance that the ticket was written for, empty where that is not known.
func (a *agent) owner() (string, error) {
	text, err := os.ReadFile(a.Owner)
	if a.Owner == "" || errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// notOwn is the error of a ticket that is another machine's.
func (a *agent) notOwn(instance string) error {
	owner, err := a.owner()
	if err != nil || owner == "" || owner == instance {
		return err
	}
	return fmt.Errorf("the ticket is of %s, and this is %s", owner, instance)
}
