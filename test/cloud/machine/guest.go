package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/thread"
)

// A guest is a program in a machine that stands for a device or a kernel module which
// a namespace cannot have: the helpers of mount(8) for Lustre and NFS, lsblk(8), and the
// power switch. It asks the world, over the metadata service's address.

// mountRequest is what a mount helper was called with.
type mountRequest struct {
	Type, Source, Target, Options string
}

// Guest runs one of the guests' programs inside a machine and returns its exit code.
func Guest(args []string) int {
	if err := guestProgram(args); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		return 32 // mount(8): mount failure
	}
	return 0
}

func guestProgram(args []string) error {
	switch name := args[0]; name {
	case "user-data":
		return metadataText("user-data")
	case "public-key":
		return metadataText("meta-data/public-keys/0/openssh-key")
	case "shutdown", "poweroff":
		return tell("shutdown", struct{}{})
	case "lsblk":
		return listDisks(args[1:])
	case "exportfs":
		_, err := os.ReadFile("/etc/exports") // nfsd reads it when somebody mounts
		return err
	case "mount.lustre", "mount.nfs", "mount.nfs4":
		r, err := parseMount(args)
		if err != nil {
			return err
		}
		return tell("mount", r)
	}
	return fmt.Errorf("unknown program")
}

// parseMount reads a helper's command line: SOURCE TARGET [-sfnv] [-o OPTIONS].
func parseMount(args []string) (mountRequest, error) {
	r := mountRequest{Type: strings.TrimPrefix(args[0], "mount.")}
	var plain []string
	for i := 1; i < len(args); i++ {
		switch {
		case args[i] == "-o" && i+1 < len(args):
			i++
			r.Options = args[i]
		case strings.HasPrefix(args[i], "-"):
		default:
			plain = append(plain, args[i])
		}
	}
	if len(plain) != 2 {
		return r, fmt.Errorf("want a source and a target, got %q", plain)
	}
	r.Source, r.Target = plain[0], plain[1]
	return r, nil
}

func tell(what string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	resp, err := http.Post("http://"+Metadata.String()+"/guest/"+what, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	return errors.Join(errors.New(strings.TrimSpace(string(text))), err)
}

// metadataText prints a category of the machine's metadata, as cloud-init gets it;
// nothing where there is none.
func metadataText(category string) error {
	req, err := http.NewRequest(http.MethodPut, "http://"+Metadata.String()+"/latest/api/token", http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("X-aws-ec2-metadata-token-ttl-seconds", "60")
	token, err := fetch(req)
	if err != nil {
		return err
	}
	req, err = http.NewRequest(http.MethodGet, "http://"+Metadata.String()+"/latest/"+category, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("X-aws-ec2-metadata-token", string(token))
	text, err := fetch(req)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

func fetch(req *http.Request) ([]byte, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return nil, nil
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, 1<<20))
}

// guests answers the guests' programs.
func (w *World) guests(mux *http.ServeMux) {
	mux.HandleFunc("POST /guest/mount", func(rw http.ResponseWriter, r *http.Request) {
		var req mountRequest
		m := w.of(r.RemoteAddr)
		err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&req)
		if err == nil && m == nil {
			err = errors.New("no such machine")
		}
		if err == nil {
			err = w.mount(r, m, req)
		}
		if err != nil {
			http.Error(rw, err.Error(), http.StatusConflict)
		}
	})
	mux.HandleFunc("POST /guest/shutdown", func(_ http.ResponseWriter, r *http.Request) {
		if m := w.of(r.RemoteAddr); m != nil {
			_ = unix.Kill(m.pid, unix.SIGKILL) // it is gone already otherwise
		}
	})
}

// mount shows a file system, or another machine's exported directory, in a machine.
func (w *World) mount(r *http.Request, m *booted, req mountRequest) error {
	host, export, ok := strings.Cut(req.Source, ":")
	if !ok {
		return fmt.Errorf("%q is no source", req.Source)
	}
	if server := w.server(r, host); server != nil {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/etc/exports", server.pid))
		if err != nil {
			return fmt.Errorf("access denied by server: %w", err)
		}
		if err := exported(string(data), export, req.Options); err != nil {
			return err
		}
		return attach("/proc/"+fmt.Sprint(server.pid)+"/ns/mnt", export, m.pid, req.Target)
	}
	id, err := w.FileSystem(r.Context(), req.Source)
	if err != nil {
		return err
	}
	dir := filepath.Join(w.Dir, "filesystems", id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return attach("/proc/1/ns/mnt", dir, m.pid, req.Target)
}

// server is the machine with a name or an address.
func (w *World) server(r *http.Request, host string) *booted {
	if m := w.of(host + ":0"); m != nil {
		return m
	}
	for _, a := range w.resolve(r.Context(), host) {
		if m := w.of(a.String() + ":0"); m != nil {
			return m
		}
	}
	return nil
}

// exported tells whether a machine's /etc/exports has a directory for a client that
// mounts with these options. As exports(5) has it, an export is `secure` unless it says
// otherwise: nfsd answers NFS4ERR_PERM to requests from ports that any user can take,
// which is what noresvport asks for.
func exported(exports, dir, options string) error {
	for line := range strings.Lines(exports) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != dir {
			continue
		}
		_, has, _ := strings.Cut(strings.TrimSuffix(f[1], ")"), "(")
		if slices.Contains(strings.Split(options, ","), "noresvport") && !slices.Contains(strings.Split(has, ","), "insecure") {
			return fmt.Errorf("operation not permitted: %s is exported to privileged ports", dir)
		}
		return nil
	}
	return fmt.Errorf("access denied by server while mounting %s", dir)
}

// attach mounts a directory of one mount namespace in a machine's.
func attach(from, dir string, pid int, target string) error {
	err := thread.Do(unix.CLONE_NEWNS, func() error {
		source, err := unix.Open(from, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(source)
		to, err := unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(to)
		if err := unix.Setns(source, unix.CLONE_NEWNS); err != nil {
			return err
		}
		tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			return err
		}
		defer unix.Close(tree)
		if err := unix.Setns(to, unix.CLONE_NEWNS); err != nil {
			return err
		}
		return unix.MoveMount(tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
	})
	if err != nil {
		return fmt.Errorf("mount %s at %s: %w", dir, target, err)
	}
	return nil
}
