package agent_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/test/cloud/machine"
)

// cloud is as much of AWS as a small cluster needs when it runs: a bucket, launches,
// logs. What it does not know fails the test.
type cloud struct {
	t       *testing.T
	world   *machine.World
	compute map[string]string // user data by launch template
	login   string

	mu        sync.Mutex // guards what follows
	objects   map[string]object
	instances []*instance
	logged    map[string]int
	measured  int
	// late is how many mounts come before the file system's name is known.
	late int
}

type object struct {
	data []byte
	meta http.Header
}

type instance struct {
	ID, Address, State, Token string
	Index                     int
	Tags                      map[string]string
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("X-Amz-Target") != "":
		c.logs(w, r)
	case strings.HasSuffix(r.URL.Path, "/operation/PutMetricData"):
		c.mu.Lock()
		c.measured++
		c.mu.Unlock()
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		_, _ = w.Write([]byte{0xa0}) // an empty map in CBOR
	case r.Method == http.MethodPost && r.URL.Path == "/":
		c.ec2(w, r)
	default:
		c.s3(w, r)
	}
}

func (c *cloud) s3(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.objects[r.URL.Path]
	switch r.Method {
	case http.MethodPut:
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return // whoever put it was killed
		}
		meta := http.Header{}
		for k, v := range r.Header {
			if strings.HasPrefix(k, "X-Amz-Meta-") {
				meta[k] = v
			}
		}
		c.objects[r.URL.Path] = object{data, meta}
		w.Header().Set("ETag", etag(data))
	case http.MethodGet, http.MethodHead:
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `<Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>`)
			return
		}
		for k, v := range o.meta {
			w.Header()[k] = v
		}
		w.Header().Set("ETag", etag(o.data))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(o.data))
	default:
		c.t.Errorf("nothing implements %s %s", r.Method, r.URL)
	}
}

// etag is S3's of an object that was put at once and is not encrypted with KMS: its MD5.
func etag(data []byte) string {
	sum := md5.Sum(data)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func (c *cloud) logs(w http.ResponseWriter, r *http.Request) {
	var in struct {
		LogStreamName string `json:"logStreamName"`
		LogEvents     []struct{ Message string }
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return // whoever sent it was killed
	}
	c.mu.Lock()
	c.logged[in.LogStreamName] += len(in.LogEvents)
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	fmt.Fprint(w, "{}")
}

func (c *cloud) ec2(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		c.t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	action := r.Form.Get("Action")
	body := ""
	switch action {
	case "RunInstances":
		body = "<instancesSet>" + c.run(r) + "</instancesSet>"
	case "DescribeInstances":
		for _, i := range c.instances {
			if i.State != "terminated" && i.Tags["muster:role"] == role(r) {
				body += "<item><instancesSet>" + i.xml() + "</instancesSet></item>"
			}
		}
		body = "<reservationSet>" + body + "</reservationSet>"
	case "TerminateInstances":
		for _, i := range c.instances {
			for _, id := range r.Form {
				if id[0] == i.ID {
					i.State = "terminated"
					if err := c.world.Terminate(i.ID); err != nil {
						c.t.Error(err)
					}
				}
			}
		}
	case "DescribeInstanceStatus", "CreateTags", "DescribeCapacityReservations":
	default:
		c.t.Errorf("nothing implements EC2's %s", action)
	}
	w.Header().Set("Content-Type", "text/xml")
	fmt.Fprintf(w, `<%[1]sResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId>%[2]s</%[1]sResponse>`, action, body)
}

// role is the one that a DescribeInstances asks for.
func role(r *http.Request) string {
	for n := 1; ; n++ {
		filter := fmt.Sprintf("Filter.%d.", n)
		switch name := r.Form.Get(filter + "Name"); name {
		case "tag:muster:role":
			return r.Form.Get(filter + "Value.1")
		case "":
			return "compute" // or an instance by its ID, which only they are asked for by
		}
	}
}

// run launches what a RunInstances asks for.
func (c *cloud) run(r *http.Request) string {
	count := 0
	if _, err := fmt.Sscan(r.Form.Get("MaxCount"), &count); err != nil {
		c.t.Error(err)
	}
	tags := map[string]string{}
	for n := 1; ; n++ {
		key := r.Form.Get(fmt.Sprintf("TagSpecification.1.Tag.%d.Key", n))
		if key == "" {
			break
		}
		tags[key] = r.Form.Get(fmt.Sprintf("TagSpecification.1.Tag.%d.Value", n))
	}
	out := ""
	for n := range count {
		number := len(c.instances) + 1
		i := &instance{ID: fmt.Sprintf("i-%017x", number), Address: fmt.Sprintf("10.0.1.%d", number), State: "running", Index: n, Tags: tags,
			Token: r.Form.Get("ClientToken")}
		c.instances = append(c.instances, i)
		err := c.world.Launch(machine.Instance{ID: i.ID, Type: "p5.48xlarge", Region: "us-east-2", Zone: "us-east-2a", Role: "compute",
			Address: netip.MustParseAddr(i.Address), UserData: []byte(c.compute[r.Form.Get("LaunchTemplate.LaunchTemplateName")]), LaunchIndex: n, GPUs: 8})
		if err != nil {
			c.t.Error(err)
		}
		out += i.xml()
	}
	return out
}

func (i *instance) xml() string {
	var tags strings.Builder
	for k, v := range i.Tags {
		tags.WriteString("<item><key>" + k + "</key><value>")
		_ = xml.EscapeText(&tags, []byte(v)) // a Builder takes everything
		tags.WriteString("</value></item>")
	}
	return fmt.Sprintf(`<item><instanceId>%s</instanceId><instanceState><code>16</code><name>%s</name></instanceState><instanceType>p5.48xlarge</instanceType>`+
		`<clientToken>%s</clientToken><launchTime>%s</launchTime><privateIpAddress>%s</privateIpAddress><amiLaunchIndex>%d</amiLaunchIndex><tagSet>%s</tagSet></item>`,
		i.ID, i.State, i.Token, time.Now().UTC().Format(time.RFC3339), i.Address, i.Index, tags.String())
}

// ended is told of a machine that shut itself down.
func (c *cloud) ended(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range c.instances {
		if i.ID == id {
			i.State = "terminated"
		}
	}
}

func (c *cloud) putObject(key, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := sha256.Sum256([]byte(text))
	c.objects["/bucket/"+key] = object{[]byte(text), http.Header{"X-Amz-Meta-Sha256": {hex.EncodeToString(sum[:])}}}
}

func (c *cloud) head() manifest.HeadStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	var s manifest.HeadStatus
	if o, ok := c.objects["/bucket/"+manifest.HeadKey("train")]; ok {
		if err := json.Unmarshal(o.data, &s); err != nil {
			c.t.Error(err)
		}
	}
	return s
}

// newCloud makes a world and serves it.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{t: t, objects: map[string]object{}, logged: map[string]int{}}
	server := &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }() // until the end of the test
	t.Cleanup(func() { server.Close() })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c.world, err = machine.New(t.Context(), machine.Config{
		Dir: t.TempDir(), Network: netip.MustParsePrefix("10.0.0.0/16"), Endpoint: "http://10.0.0.1:" + port, Program: self,
		FileSystem: func(_ context.Context, source string) (string, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.late--; c.late >= 0 {
				return "", errors.New("Failed to resolve server: Name or service not known")
			}
			id, _, _ := strings.Cut(source, ".")
			return id, nil
		},
		Names: func(context.Context, string) []netip.Addr { return nil },
		Ended: c.ended, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.world.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// shared reads a file of a file system.
func (c *cloud) shared(name string) string {
	data, _ := os.ReadFile(filepath.Join(c.world.Dir, "filesystems", "fs-1", name))
	return string(data)
}

// dead makes a node's GPUs ones that are listed, and on which CUDA does not start.
const dead = `#!/bin/sh
set -e
cat >/usr/bin/nvidia-smi <<'SMI'
#!/bin/sh
[ "$1" = --list-gpus ] || exit 1
for i in 0 1 2 3 4 5 6 7; do echo "GPU $i: NVIDIA H100 80GB HBM3 (UUID: GPU-$i)"; done
SMI
chmod 755 /usr/bin/nvidia-smi
cc -shared -fPIC -o /usr/lib/libcuda.so.1 -x c - <<'CUDA'
int cuInit(unsigned flags) { return flags ? 1 : 999; }
int cuGetErrorName(int code, const char **name) { *name = code == 999 ? "CUDA_ERROR_UNKNOWN" : "?"; return 0; }
CUDA
`

// worn makes the first machine of its queue one on which a rank dies while ranks measure.
const worn = `#!/bin/sh
mkdir /fsx/worn 2>/dev/null || exit 0
cat >/usr/lib/python3/dist-packages/usercustomize.py <<'PYTHON'
import os, threading

write = os.write


def spy(fd, data):
    if b'"kind": "row"' in data or b'"kind": "ready"' in data and os.environ.get("SLURM_PROCID") == "1":
        threading.Timer(3, lambda: os._exit(9)).start()
    return write(fd, data)


if os.environ.get("SLURM_PROCID") == "1":
    os.write = spy
PYTHON
`
