package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
)

// registryOptions is the command line of muster-stand registry.
type registryOptions struct {
	Root        string         // images are files below it
	Listen      netip.AddrPort // the one address to bind; port 0 takes a free one
	AddressFile string         // where to write the address once it answers; "" for nowhere
	Credentials string         // a file as Docker's clients keep it, readable by its owner alone
	Reader      string         // such a file of an account that may only read, for all to see; "" for none
}

func parseRegistry(args []string) (registryOptions, error) {
	var o registryOptions
	var listen string
	fs := flag.NewFlagSet("registry", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.Root, "root", "", "directory of the images")
	fs.StringVar(&listen, "listen", "", "IP address and port")
	fs.StringVar(&o.AddressFile, "address-file", "", "file that gets the bound address")
	fs.StringVar(&o.Credentials, "credentials", "", "file with the account")
	fs.StringVar(&o.Reader, "reader", "", "file with the account that may only read")
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
	return o, nil
}
