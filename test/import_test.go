package test

import (
	"os"
	"strings"
	"testing"
	"time"
)

const bothWaysFile = `SharedStorage:
- Name: data
  MountDir: /fsx1
  StorageType: FsxLustre
  FsxLustreSettings:
    StorageCapacity: 1200
    DeploymentType: PERSISTENT_2
    PerUnitStorageThroughput: 125
    DataRepositoryAssociations:
    - Name: both
      FileSystemPath: /
      DataRepositoryPath: s3://whole-both/sets
      BatchImportMetaDataOnCreate: true
      AutoImportPolicy: [NEW, CHANGED, DELETED]
      AutoExportPolicy: [NEW, CHANGED]
`

// s3Client puts and deletes objects with what the cluster gives its users: python3 client METHOD PATH [TEXT].
const s3Client = `import configparser, datetime, hashlib, hmac, os, sys, urllib.request
verb, path, text = sys.argv[1], sys.argv[2], "".join(sys.argv[3:]).encode()
c = configparser.ConfigParser()
c.read(os.environ["AWS_SHARED_CREDENTIALS_FILE"])
id, secret = c["default"]["aws_access_key_id"], c["default"]["aws_secret_access_key"]
host, now = "10.99.0.1:9000", datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
digest, signed = hashlib.sha256(text).hexdigest(), "host;x-amz-content-sha256;x-amz-date"
request = f"{verb}\n{path}\n\nhost:{host}\nx-amz-content-sha256:{digest}\nx-amz-date:{now}\n\n{signed}\n{digest}"
scope = f"{now[:8]}/us-east-1/s3/aws4_request"
key = ("AWS4" + secret).encode()
for part in (now[:8], "us-east-1", "s3", "aws4_request", f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"):
    key = hmac.new(key, part.encode(), hashlib.sha256).digest()
auth = f"AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={signed}, Signature={key.hex()}"
headers = {"x-amz-date": now, "x-amz-content-sha256": digest, "Authorization": auth}
urllib.request.urlopen(urllib.request.Request(f"http://{host}{path}", data=text or None, method=verb, headers=headers))
`

// TestImports has S3 clients of a running cluster put, change and delete objects, and kills the controller between.
func TestImports(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fileOf(2)+bothWaysFile)
	c.file("client.py", s3Client)
	s3 := func(method, key string, text ...string) {
		t.Helper()
		c.head(append([]string{"python3", "client.py", method, "/whole-both/sets/" + key}, text...)...)
	}
	here := func(name string) string {
		text, err := os.ReadFile(c.path("shared", "fsx1", name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(text)
	}
	becomes := func(name, want string) {
		t.Helper()
		c.await(name+" is "+want, 30*time.Second, func() bool { return here(name) == want })
	}
	s3("PUT", "d/new", "1")
	s3("PUT", "keep", "1")
	s3("PUT", "mine", "1")
	becomes("d/new", "1")
	becomes("keep", "1")
	becomes("mine", "1")
	if out := c.head("srun", "cat", "/fsx1/d/new"); out != "1" {
		t.Errorf("a job reads %q", out)
	}
	s3("PUT", "d/new", "two")
	becomes("d/new", "two")
	s3("DELETE", "keep")
	becomes("keep", "")

	c.head("srun", "sh", "-c", "rm /fsx1/mine; echo made >/fsx1/made")
	c.await("the job's file is in the bucket", 30*time.Second, func() bool {
		text, _ := os.ReadFile(c.path("s3", "whole-both", "sets", "made"))
		return string(text) == "made\n"
	})
	old := c.service("controller")
	c.kill("controller", old)
	c.await("a new controller is ready", 20*time.Second, func() bool {
		now := c.service("controller")
		return now != 0 && now != old && c.ready("controller")
	})
	s3("PUT", "later", "1")
	becomes("later", "1")
	if here("mine") != "" || here("keep") != "" {
		t.Errorf("deleted files came back: %q, %q", here("mine"), here("keep"))
	}
	if out := c.must("status"); !strings.Contains(out, "/fsx1 <-> s3://whole-both/sets") {
		t.Errorf("status:\n%s", out)
	}
}
