// Package cloud is a double of AWS for tests: an HTTP server that answers as AWS
// does, as far as we have read how it does. What moto does well it passes on to
// moto; what moto lacks stands in packages of its own below this one. A call that
// nobody implements fails the test. Tests against it prove what muster does with
// such answers, not that AWS gives them.
//
//	request -> recorded -> fault? -> a service of ours -> moto -> answer, or cut off
package cloud

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-hpc/muster/test/cloud/account"
	"github.com/muster-hpc/muster/test/cloud/ec2"
	"github.com/muster-hpc/muster/test/cloud/formation"
	"github.com/muster-hpc/muster/test/cloud/fsx"
	"github.com/muster-hpc/muster/test/cloud/moto"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Options say how the double is.
type Options struct {
	// Region is us-east-2 if empty: there is every machine that moto knows.
	Region string
	// Speed is the clock's: 60 if zero, so that a minute is a second.
	Speed float64
	// Listen is an address; a free port of 127.0.0.1 if empty.
	Listen string
	// S3 is the URL of another server for S3. It is moto's if empty.
	S3 string
	// Alone does without moto: what we do not implement is missing.
	Alone bool
	// Pause is waited for, of real time, before an answer of ours goes out. Clients of
	// other processes want one: see client.go.
	Pause time.Duration
	// EC2 has the settings of its instances; Clock, Region, Account, Moto and Quota are
	// set here.
	EC2 ec2.Options
	// Log is told of calls that nobody implements. It may be nil.
	Log *slog.Logger
	// Watch is shown every call before it is answered, those of CloudFormation among
	// them. It may be nil.
	Watch func(*wire.Call)
	// Missing is called for a call that nobody implements. Start fails its test.
	Missing func(service, operation, why string)
}

// Cloud is a running double.
type Cloud struct {
	Clock *wire.Clock
	// URL is where it listens.
	URL string
	// EC2, Account, Formation and FSx are the services with something for tests to set.
	EC2       *ec2.EC2
	Account   *account.Service
	Formation *formation.Service
	FSx       *fsx.Service

	opts     Options
	moto     *moto.Server // nil where there is none
	server   *http.Server
	client   steady
	handlers sync.WaitGroup

	mu       sync.Mutex // guards what follows
	services map[string][]wire.Service
	faults   []*fault
	calls    []Record
}

// Account is whose calls they all are. It is moto's default.
const Account = "123456789012"

// Start runs a double until the test ends. The test is skipped where moto is not
// there, and fails if MUSTER_CI is set.
func Start(t testing.TB, opts Options) *Cloud {
	t.Helper()
	if !opts.Alone {
		if _, err := moto.Python(); err != nil {
			if os.Getenv("MUSTER_CI") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	if opts.Missing == nil {
		opts.Missing = func(service, operation, why string) {
			t.Errorf("nobody implements %s %s: %s", service, operation, why)
		}
	}
	c, err := Run(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Keep(os.Getenv("MUSTER_PROOF"), t.Name()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Run starts a double. The caller closes it.
func Run(ctx context.Context, opts Options) (*Cloud, error) {
	opts.Region, opts.Listen = cmp.Or(opts.Region, "us-east-2"), cmp.Or(opts.Listen, "127.0.0.1:0")
	if opts.Speed == 0 {
		opts.Speed = 60
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opts.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for AWS's calls: %w", err)
	}
	c := &Cloud{
		Clock: wire.NewClock(opts.Speed), URL: "http://" + listener.Addr().String(),
		opts: opts, services: map[string][]wire.Service{}, client: steady{http.DefaultTransport.(*http.Transport).Clone()},
	}
	if !opts.Alone {
		c.moto = moto.New(officialImages())
	}
	c.assemble(ctx)
	c.server = &http.Server{Handler: c}
	c.handlers.Go(func() { _ = c.server.Serve(listener) }) // ends with Close
	return c, nil
}

// Close ends the server and moto.
func (c *Cloud) Close() error {
	c.Formation.Close()
	err := c.server.Close()
	c.handlers.Wait()
	c.client.CloseIdleConnections()
	c.moto.Close()
	return err
}

// Handle adds a service in front of moto. Of several for one signing name the
// first that answers a call does so.
func (c *Cloud) Handle(name string, s wire.Service) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.services[name] = append(c.services[name], s)
}

// Region is the region of Config and Env.
func (c *Cloud) Region() string { return c.opts.Region }

// Config is for clients of the SDK in this process. It has the SDK's own retries.
func (c *Cloud) Config() aws.Config {
	return aws.Config{
		Region:       c.opts.Region,
		BaseEndpoint: aws.String(c.URL),
		HTTPClient:   &http.Client{Transport: c.client},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test", Source: "test"}, nil
		}),
	}
}

// Env are variables for programs of other processes, whatever SDK they have. They
// keep such programs away from credentials and settings of the user. An empty
// AWS_PROFILE is none for all SDKs but boto3, for which it has to be left out.
func (c *Cloud) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + c.URL, "AWS_REGION=" + c.opts.Region, "AWS_DEFAULT_REGION=" + c.opts.Region,
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull, "AWS_PROFILE=",
	}
}

// Record is a call that was made.
type Record struct {
	Service, Operation string
	// By is who answered: double, moto, s3, or fault.
	By string
	// Status is the answer's; the client may never have seen it.
	Status int
	// Lost says that the connection was cut instead of an answer.
	Lost bool
	// Inner says that a service of the double made the call, as CloudFormation does.
	Inner bool
}

// Calls are all calls so far, in the order in which they ended.
func (c *Cloud) Calls() []Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Record(nil), c.calls...)
}

func (c *Cloud) record(r Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, r)
}

// Keep writes who answered which call, of those that are not the double's own, to a
// file of a folder, from which docs/proof.md is made. It does nothing without a folder.
func (c *Cloud) Keep(dir, test string) error {
	if dir == "" {
		return nil
	}
	seen := map[string]bool{}
	var text strings.Builder
	for _, r := range c.Calls() {
		line := r.Service + "\t" + r.Operation + "\t" + r.By + "\n"
		if r.Status < 400 && !r.Inner && !seen[line] {
			seen[line] = true
			text.WriteString(line)
		}
	}
	name := strings.NewReplacer("/", "_", " ", "_").Replace(test) + ".tsv"
	return os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o644)
}
