package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Tags that ParallelCluster gives to what it makes: pcluster/constants.py of
// ParallelCluster 3.11 to 3.16.
const (
	TheirClusterTag = "parallelcluster:cluster-name"
	TheirVersionTag = "parallelcluster:version"
	theirRoleTag    = "parallelcluster:node-type"
	theirQueueTag   = "parallelcluster:queue-name"
)

// theirRoles are our words for ParallelCluster's kinds of nodes.
var theirRoles = map[string]string{"HeadNode": "head", "Compute": "compute", "LoginNode": "login"}

// TheirInstances are the instances of a cluster that ParallelCluster made and that are
// not gone yet.
func (a *Account) TheirInstances(ctx context.Context, cluster string) ([]Instance, error) {
	return a.tagged(ctx, TheirClusterTag, cluster)
}

// mostText is the size of the largest object that Text reads.
const mostText = 1 << 20

// Text is a small object, in a version of it if one is named.
func (a *Account) Text(ctx context.Context, bucket, key, version string) ([]byte, error) {
	in := &s3.GetObjectInput{Bucket: &bucket, Key: &key}
	if version != "" {
		in.VersionId = &version
	}
	out, err := a.s3().GetObject(ctx, in)
	if err != nil {
		return nil, failed(err, "read s3://%s/%s", bucket, key)
	}
	defer out.Body.Close()
	text, err := io.ReadAll(io.LimitReader(out.Body, mostText+1))
	if err == nil && len(text) > mostText {
		err = fmt.Errorf("it has more than %d bytes", mostText)
	}
	if err != nil {
		return nil, fmt.Errorf("read s3://%s/%s: %w", bucket, key, err)
	}
	return text, nil
}

// HostKeys are the SSH keys of a machine as cloud-init prints them on its console when
// it first boots: https://cloudinit.readthedocs.io/en/latest/reference/modules.html#ssh.
// There are none where EC2 has forgotten that boot's output.
func (a *Account) HostKeys(ctx context.Context, instance string) ([]string, error) {
	console, err := a.Console(ctx, instance)
	if err != nil {
		return nil, err
	}
	return keysOn([]byte(console)), nil
}

// keysOn are the public keys between the marks that cloud-init sets, without their
// comments.
func keysOn(console []byte) []string {
	_, rest, ok := bytes.Cut(console, []byte("-----BEGIN SSH HOST KEY KEYS-----"))
	if !ok {
		return nil
	}
	block, _, whole := bytes.Cut(rest, []byte("-----END SSH HOST KEY KEYS-----"))
	if !whole {
		return nil
	}
	var keys []string
	for line := range strings.Lines(string(block)) {
		words := strings.Fields(line)
		for i, w := range words {
			if (strings.HasPrefix(w, "ssh-") || strings.HasPrefix(w, "ecdsa-")) && i+1 < len(words) {
				keys = append(keys, w+" "+words[i+1])
				break
			}
		}
	}
	return keys
}
