package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/aws/inventory"
)

// partOf is the part of an official image's name that stands for an OS:
// OS_TO_IMAGE_NAME_PART_MAP of ParallelCluster 3.11 to 3.16, pcluster/constants.py.
var partOf = map[string]string{
	"alinux2": "amzn2", "alinux2023": "amzn2023", "ubuntu2004": "ubuntu-2004-lts", "ubuntu2204": "ubuntu-2204-lts",
	"ubuntu2404": "ubuntu-2404-lts", "rhel8": "rhel8", "rhel9": "rhel9", "rocky8": "rocky8", "rocky9": "rocky9",
}

// private are systems for which ParallelCluster publishes no image.
var private = []string{"rocky8", "rocky9"}

// successor is what to write for a system that newer levels have no image of.
var successor = map[string]string{"alinux2": "alinux2023", "ubuntu2004": "ubuntu2204 or ubuntu2404", "centos7": "rhel9 or alinux2023", "ubuntu1804": "ubuntu2204"}

// newest finds the newest official image of a level, a system and an architecture
// (amd64 or arm64).
func (a *Account) newest(ctx context.Context, o inventory.Official, arch string) (inventory.Image, error) {
	if slices.Contains(private, o.OS) && o.Owner == "" {
		return inventory.Image{}, noImageError(fmt.Sprintf("there is no public image for %s: build one with `pcluster build-image` and write CustomAmi under Image", o.OS))
	}
	part := partOf[o.OS]
	if part == "" {
		return inventory.Image{}, noImageError(fmt.Sprintf("there is no image for Os: %s; write %s", o.OS, cmp.Or(successor[o.OS], "alinux2023")))
	}
	name := fmt.Sprintf("%saws-parallelcluster-%s.*-%s-hvm-%s*", o.Prefix, o.Level, part, machine(arch))
	filters := []types.Filter{filter("name", name), filter("state", "available")}
	for _, key := range slices.Sorted(maps.Keys(o.Tags)) {
		filters = append(filters, filter("tag:"+key, o.Tags[key]))
	}
	found, err := a.images(ctx, &ec2.DescribeImagesInput{Owners: []string{cmp.Or(o.Owner, "amazon")}, Filters: filters, IncludeDeprecated: aws.Bool(true)})
	if err != nil {
		return inventory.Image{}, failed(err, "look for the image %s in %s", name, a.Region)
	}
	if len(found) == 0 {
		return inventory.Image{}, noImage(o, name, a.Region)
	}
	return imageOf(slices.MaxFunc(found, newer)), nil
}

func noImage(o inventory.Official, name, region string) error {
	if next := successor[o.OS]; next != "" {
		return noImageError(fmt.Sprintf("ParallelCluster %s has no image for %s any more: write Os: %s", o.Level, o.OS, next))
	}
	return noImageError(fmt.Sprintf("there is no image %s in %s: look whether ParallelCluster %s is released there, or write CustomAmi under Image", name, region, o.Level))
}

// noImageError says that AWS was asked, and there is no such image.
type noImageError string

func (e noImageError) Error() string { return string(e) }

func (a *Account) images(ctx context.Context, in *ec2.DescribeImagesInput) ([]types.Image, error) {
	var all []types.Image
	for page, err := range pagesOf(ctx, ec2.NewDescribeImagesPaginator(a.ec2(), in)) {
		if err != nil {
			return nil, err
		}
		all = append(all, page.Images...)
	}
	return all, nil
}

func imageOf(i types.Image) inventory.Image {
	image := inventory.Image{ID: aws.ToString(i.ImageId), RootDevice: aws.ToString(i.RootDeviceName), Arch: "amd64", State: string(i.State), Version: tagOf(i.Tags, versionTag), Release: releaseOf(i)}
	if i.Architecture == types.ArchitectureValuesArm64 {
		image.Arch = "arm64"
	}
	for _, b := range i.BlockDeviceMappings {
		if b.Ebs != nil && aws.ToString(b.DeviceName) == image.RootDevice {
			image.RootGiB = int(aws.ToInt32(b.Ebs.VolumeSize))
		}
	}
	return image
}

// versionTag is on images that ParallelCluster made.
const versionTag = "parallelcluster:version"

func tagOf(tags []types.Tag, key string) string {
	for _, t := range tags {
		if aws.ToString(t.Key) == key {
			return aws.ToString(t.Value)
		}
	}
	return ""
}

// newer compares images by ParallelCluster's release, then by their age.
func newer(a, b types.Image) int {
	return cmp.Or(cmp.Compare(patch(a), patch(b)), cmp.Compare(aws.ToString(a.CreationDate), aws.ToString(b.CreationDate)))
}

// releaseOf is the release in an image's name, empty if it has none.
func releaseOf(i types.Image) string {
	_, rest, _ := strings.Cut(aws.ToString(i.Name), "aws-parallelcluster-")
	release, _, _ := strings.Cut(rest, "-")
	return release
}

// patch is the third number of the release in an image's name.
func patch(i types.Image) int {
	if numbers := strings.Split(releaseOf(i), "."); len(numbers) > 2 {
		n, _ := strconv.Atoi(numbers[2])
		return n
	}
	return 0
}

// machine is EC2's name of an architecture.
func machine(arch string) string {
	if arch == "amd64" {
		return "x86_64"
	}
	return arch
}
