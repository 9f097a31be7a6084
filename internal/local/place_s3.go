package local

import (
	"bufio"
	"context"
	"net"

	"github.com/muster-hpc/muster/internal/place"
)

// S3 implements place.Cluster: the cluster's own server, which is in a network that this
// machine is not in.
func (c cluster) S3(context.Context) (place.S3, error) {
	l, r, _, err := c.running()
	if err != nil {
		return place.S3{}, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, said, err := Connect(ctx, l.Dir, s3Service)
		if err != nil {
			return nil, err
		}
		return begun{conn, said}, nil
	}
	return place.S3{Endpoint: s3Endpoint(), Region: r.Region, CredentialsFile: l.Path("etc", "s3", "credentials"), Dial: dial}, nil
}

// begun is a connection of which a part may have been read.
type begun struct {
	net.Conn
	said *bufio.Reader
}

func (b begun) Read(p []byte) (int, error) { return b.said.Read(p) }
