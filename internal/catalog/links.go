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
	for _, l := range links {
		if l.gpu == in.GPU.Name {
			return l.Link, true
		}
	}
	return Link{}, false
}
