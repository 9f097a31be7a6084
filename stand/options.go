package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strings"
)

// s3Options is the command line of muster-stand s3.
type s3Options struct {
	Root        string         // objects are plain files below it: Root/<bucket>/<key>
	Listen      netip.AddrPort // the one address to bind; port 0 takes a free one
	AddressFile string         // where to write the address once it answers; "" for nowhere
	Credentials string         // AWS shared-credentials file, readable by its owner alone
	Region      string         // the region that signatures must name
	AccessLog   string         // one line for each request; "" for none
	Buckets     []string       // made if they are missing
	TLS         netip.AddrPort // where it answers by TLS, under the names of AWS; invalid for nowhere
	Names       uint16         // the port of TLS's address at which these names are told
	Authority   string         // PEM file of a certificate and its key, readable by its owner alone
}

type names []string

func (n *names) String() string { return strings.Join(*n, ",") }

func (n *names) Set(s string) error {
	*n = append(*n, s)
	return nil
}

func parseS3(args []string) (s3Options, error) {
	var o s3Options
	var listen, tls string
	var namePort uint
	fs := flag.NewFlagSet("s3", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.Root, "root", "", "directory of the objects")
	fs.StringVar(&listen, "listen", "", "IP address and port")
	fs.StringVar(&o.AddressFile, "address-file", "", "file that gets the bound address")
	fs.StringVar(&o.Credentials, "credentials", "", "AWS shared-credentials file")
	fs.StringVar(&o.Region, "region", "us-east-1", "region of the signatures")
	fs.StringVar(&o.AccessLog, "access-log", "", "file for one line a request")
	fs.Var((*names)(&o.Buckets), "bucket", "bucket to make")
	fs.StringVar(&tls, "tls", "", "IP address and port of the names of AWS")
	fs.UintVar(&namePort, "names", 53, "port at which these names are told")
	fs.StringVar(&o.Authority, "authority", "", "PEM file of a certificate and its key")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if o.Root == "" || listen == "" || o.Credentials == "" {
		return o, errors.New("--root, --listen and --credentials are needed")
	}
	addr, err := netip.ParseAddrPort(listen)
	if err != nil {
		return o, fmt.Errorf("--listen %q is no IP address with a port", listen)
	}
	o.Listen = addr
	if tls == "" {
		return o, nil
	}
	if o.TLS, err = netip.ParseAddrPort(tls); err != nil || namePort > math.MaxUint16 || o.Authority == "" {
		return o, errors.New("--tls is an IP address with a port, --names a port, and --authority is needed with them")
	}
	o.Names = uint16(namePort)
	return o, nil
}
