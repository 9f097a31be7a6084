package catalog

// Link is what joins the GPUs of one instance.
type Link struct {
	// Kind is NVLink or PCIe.
	Kind string
	// GBps is what one GPU can send and receive together; 0 is not known.
	GBps int
	// Source says so.
	Source string
}

// Links finds what joins the GPUs of an instance type. It is false if that is
// not known or if there are not two GPUs.
func (in Instance) Links() (Link, bool) {
	if in.GPU.Count < 2 {
		return Link{}, false
	}
	switch in.GPU.Name {
	case "v100":
		return Link{"NVLink", 300, "https://www.nvidia.com/en-us/data-center/v100/"}, true
	case "a100":
		return Link{"NVLink", 600, "https://www.nvidia.com/en-us/data-center/a100/"}, true
	case "h100":
		return Link{"NVLink", 900, "https://www.nvidia.com/en-us/data-center/h100/"}, true
	case "h200":
		return Link{"NVLink", 900, "https://www.nvidia.com/en-us/data-center/h200/"}, true
	case "gb200":
		return Link{"NVLink", 1800, "https://www.nvidia.com/en-us/data-center/gb200-nvl72/"}, true
	case "b200", "b300":
		return Link{"NVLink", 1800, "https://www.nvidia.com/en-us/data-center/dgx-b200/"}, true
	case "a10g", "t4", "t4g", "l4", "l40s", "rtx-pro-4500", "rtx-pro-server-6000":
		return Link{Kind: "PCIe", Source: "https://aws.amazon.com/ec2/instance-types/accelerated-computing/"}, true
	}
	return Link{}, false
}
