package spec

// defaultUsers are those of ParallelCluster's images.
var defaultUsers = map[string]string{
	"alinux2": "ec2-user", "alinux2023": "ec2-user", "rhel8": "ec2-user", "rhel9": "ec2-user",
	"rocky8": "rocky", "rocky9": "rocky", "ubuntu2004": "ubuntu", "ubuntu2204": "ubuntu", "ubuntu2404": "ubuntu",
}

// DefaultUser is the user of the images of the file's operating system, empty where it is
// not known.
func (c *Cluster) DefaultUser() string { return defaultUsers[c.OS] }
