package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

// Identity is a machine as its metadata service describes it.
type Identity struct {
	InstanceID, Type string
	Region, Zone     string
	Address          netip.Addr
	// Networks are the VPC's, as far as the service says.
	Networks []netip.Prefix
}

// Identify asks the metadata service, version 2.
func Identify(ctx context.Context, c aws.Config) (Identity, error) {
	client := imds.NewFromConfig(c, func(o *imds.Options) { o.EnableFallback = aws.FalseTernary })
	doc, err := client.GetInstanceIdentityDocument(ctx, &imds.GetInstanceIdentityDocumentInput{})
	if err != nil {
		return Identity{}, fmt.Errorf("ask the metadata service who this is: %w", err)
	}
	i := Identity{InstanceID: doc.InstanceID, Type: doc.InstanceType, Region: doc.Region, Zone: doc.AvailabilityZone}
	if i.Address, err = netip.ParseAddr(doc.PrivateIP); err != nil {
		return i, fmt.Errorf("ask the metadata service for this machine's address: %w", err)
	}
	i.Networks = networks(ctx, client)
	return i, nil
}

// networks are the VPC's blocks of the first interface; none where they are not said.
func networks(ctx context.Context, client *imds.Client) []netip.Prefix {
	mac, err := metadata(ctx, client, "mac")
	if err != nil {
		return nil
	}
	text, err := metadata(ctx, client, "network/interfaces/macs/"+mac+"/vpc-ipv4-cidr-blocks")
	if err != nil {
		return nil
	}
	var all []netip.Prefix
	for _, word := range strings.Fields(text) {
		if p, err := netip.ParsePrefix(word); err == nil {
			all = append(all, p)
		}
	}
	return all
}

func metadata(ctx context.Context, client *imds.Client, path string) (string, error) {
	out, err := client.GetMetadata(ctx, &imds.GetMetadataInput{Path: path})
	if err != nil {
		return "", err
	}
	defer out.Content.Close()
	text, err := io.ReadAll(io.LimitReader(out.Content, 64<<10))
	return strings.TrimSpace(string(text)), err
}

// What muster keeps on a machine's disk, and whose it is.
const (
	stateDir  = "/var/lib/muster"
	ownerFile = stateDir + "/instance"
)

// Own forgets what muster kept on the disk for another instance: an image that was made
// of a machine has that machine's key, journal and list of scripts that ran.
func (m Machine) Own(instance string) (string, error) {
	owner, err := m.Read(ownerFile)
	if err != nil || owner == instance {
		return "", err
	}
	detail := ""
	if owner != "" {
		// Away in one piece: half of it would be taken for this machine's.
		former := m.path(stateDir + ".former")
		err := errors.Join(os.RemoveAll(former), os.Rename(m.path(stateDir), former))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("forget what %s kept: %w", owner, err)
		}
		if err := os.RemoveAll(former); err != nil {
			return "", fmt.Errorf("forget what %s kept: %w", owner, err)
		}
		detail = "; the image is of " + owner + ", and what that kept is gone"
	}
	_, err = m.Write(ownerFile, instance, 0o644, "")
	return detail, err
}
