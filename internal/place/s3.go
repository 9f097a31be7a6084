package place

import (
	"context"
	"net"
)

// S3 is where the buckets of a cluster are, and who asks for them. What is empty is as
// AWS's own programs find it.
type S3 struct {
	// Endpoint is its URL, empty where it is AWS's.
	Endpoint, Region string
	// CredentialsFile is one in the form of AWS's programs.
	CredentialsFile string
	// Dial connects to the endpoint where this machine's network does not reach it.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}
