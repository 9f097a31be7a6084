package message_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/message"
)

// TestTable: each row is whole and says nothing that the columns do not have.
func TestTable(t *testing.T) {
	data, err := os.ReadFile("messages.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			lines++
		}
	}
	all := message.Table()
	if lines != len(all) || lines == 0 {
		t.Errorf("%d lines are %d rows", lines, len(all))
	}
	wheres := []message.Where{message.CUDA, message.Line, message.Usage, message.Slurm, message.NCCL, message.Exception, message.Name}
	follows := []message.Follows{message.AsClass, message.Here, message.Later, message.Stop}
	faults := []message.Fault{message.OfClass, message.Node, message.Avoid, message.Alone, message.AloneNode, message.Service}
	seen := map[string]bool{}
	for _, r := range all {
		key := string(r.Where) + " " + r.Key()
		switch {
		case seen[key]:
			t.Errorf("%s is there twice", key)
		case !slices.Contains(wheres, r.Where), !slices.Contains(follows, r.Follows), !slices.Contains(faults, r.Fault):
			t.Errorf("%s: %s, %s, %s", key, r.Where, r.Follows, r.Fault)
		case r.Class == "" || r.Source == "" || r.Source == "-":
			t.Errorf("%s has no class or no source", key)
		}
		seen[key] = true
	}
}

// TestEveryTextIsFound: no text of the table stands behind another that takes its lines.
func TestEveryTextIsFound(t *testing.T) {
	for _, r := range message.Table() {
		for _, text := range r.Texts {
			text = strings.ReplaceAll(text, "&", " x ")
			if r.Where != message.Name {
				text += " x"
			}
			found, ok := message.Find(r.Where, text)
			if !ok || found.Key() != r.Key() {
				t.Errorf("%s %q is found as %q", r.Where, text, found.Texts)
			}
		}
	}
}

func TestFind(t *testing.T) {
	for _, row := range []struct {
		name  string
		where message.Where
		text  string
		want  string // the row's key
	}{
		{"words", message.CUDA, "CUDA error: out of memory", "out of memory"},
		{"a_whole_name", message.CUDA, "cudaErrorInvalidDevice", "invalid device ordinal"},
		{"a_longer_name", message.CUDA, "cudaErrorInvalidDeviceFunction", "invalid device function"},
		{"the_second_is_whole", message.CUDA, "cudaErrorInvalidDeviceX cudaErrorInvalidDevice", "invalid device ordinal"},
		{"half_a_name", message.CUDA, "cudaErrorAssertX", ""},
		{"at_the_beginning", message.Line, "Unable to determine the device handle for GPU", "Unable to determine the device handle for"},
		{"not_at_the_beginning", message.Line, "x Unable to determine the device handle for GPU", ""},
		{"both_parts", message.Exception, "DataLoader worker (pid 7) is killed by signal: Killed.", "DataLoader worker&is killed by signal: Killed"},
		{"one_part", message.Exception, "it is killed by signal: Killed.", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if r, ok := message.Find(row.where, row.text); ok != (row.want != "") || ok && r.Key() != row.want {
				t.Errorf("got %q", r.Texts)
			}
		})
	}
}

func TestOfException(t *testing.T) {
	for _, row := range []struct{ name, text, class string }{
		{"RuntimeError", "RuntimeError: CUDA error: out of memory", "cuda-memory"},
		{"RuntimeError", "RuntimeError: it ran out of memory", ""},
		{"torch.OutOfMemoryError", "torch.OutOfMemoryError: x", "cuda-memory"},
		{"ray.exceptions.OutOfMemoryError", "ray.exceptions.OutOfMemoryError: x", "host-memory"},
		{"ConnectionError", "ConnectionError: x", "network"},
		{"OSError", "OSError: [Errno 28] No space left on device", "disk-full"},
		{"OSError", "OSError: [Errno 28] No space left on device: '/dev/shm/x'", "host-memory"},
	} {
		if r, _ := message.OfException(row.name, row.text); r.Class != row.class {
			t.Errorf("%s: got %q", row.text, r.Class)
		}
	}
	for _, row := range []struct {
		name, text string
		fault      message.Fault
		follows    message.Follows
	}{
		{"requests.exceptions.ConnectionError", "x", message.Service, message.Later},
		{"httpx.ConnectError", "[Errno 111] Connection refused", message.Service, message.Later},
		{"ConnectionRefusedError", "[Errno 111] Connection refused", message.OfClass, message.AsClass},
		{"huggingface_hub.errors.HfHubHTTPError", "401 Client Error", message.Service, message.AsClass},
		{"urllib.error.HTTPError", "HTTP Error 404: Not Found", message.Service, message.AsClass},
		{"urllib.error.HTTPError", "HTTP Error 429: Too Many Requests", message.Service, message.Later},
	} {
		if r, _ := message.OfException(row.name, row.name+": "+row.text); r.Fault != row.fault || r.Follows != row.follows {
			t.Errorf("%s: got %+v", row.name, r)
		}
	}
}
