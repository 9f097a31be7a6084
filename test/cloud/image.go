package cloud

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// imageLevels are the ParallelCluster versions whose images the double has.
var imageLevels = []string{"3.14.0", "3.15.0", "3.15.1", "3.16.0", "3.16.1"}

// imageSystems are the operating systems with published images, as the images'
// names have them, and the last level that has them, if it is past:
// OS_TO_IMAGE_NAME_PART_MAP and PRIVATE_OSES in
// https://github.com/aws/aws-parallelcluster/blob/develop/cli/src/pcluster/constants.py
var imageSystems = []struct{ name, until string }{
	{"amzn2-hvm", "3.15.9"}, {"amzn2023-hvm", ""}, {"ubuntu-2204-lts-hvm", ""}, {"ubuntu-2404-lts-hvm", ""}, {"rhel8-hvm", ""}, {"rhel9-hvm", ""},
}

// imageOwner is Amazon's account for ParallelCluster's images.
const imageOwner = "247102896272"

// officialImages are ParallelCluster's, in the form in which moto reads images.
// They have no date: moto cannot read one for a second region.
func officialImages() []byte {
	var images []map[string]any
	for _, level := range imageLevels {
		for _, system := range imageSystems {
			if system.until != "" && level > system.until {
				continue
			}
			for _, arch := range []string{"x86_64", "arm64"} {
				name := fmt.Sprintf("aws-parallelcluster-%s-%s-%s-202610150800 2026-10-15T08-03-20.811Z", level, system.name, arch)
				device := "/dev/sda1"
				if strings.HasPrefix(system.name, "amzn") {
					device = "/dev/xvda"
				}
				images = append(images, map[string]any{
					"ami_id": imageID(name), "state": "available", "public": true, "owner_id": imageOwner, "image_location": "amazon/" + name,
					"sriov": "simple", "root_device_type": "ebs", "root_device_name": device, "description": "AWS ParallelCluster AMI for " + system.name,
					"image_type": "machine", "platform": nil, "architecture": arch, "name": name, "virtualization_type": "hvm", "hypervisor": "xen",
				})
			}
		}
	}
	return wire.JSON(images).Body
}

func imageID(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return fmt.Sprintf("ami-%017x", h.Sum64()&(1<<60-1))
}
