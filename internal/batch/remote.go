package batch

import (
	"strings"
)

// remoteImages finds images that srun would fetch from the world, which nodes of a
// rehearsal do not reach: there is no way out of their network.
func (s *script) remoteImages() {
	if !s.facts.Rehearsal {
		return
	}
	said := map[string]bool{}
	add := func(o Option) {
		if said[o.Value] || !public(o.Value) {
			return
		}
		said[o.Value] = true
		uri := o.Value
		if !strings.HasPrefix(uri, "docker://") {
			uri = "docker://" + uri
		}
		s.warnf("script/image-remote", s.at(o), "nodes of a cluster on this machine have no way to the internet, and cannot fetch %s", o.Value).
			WithHint("`muster image import %s` fetches it here, and --container-image takes the file that it makes", uri)
	}
	if o, ok := s.option("container-image"); ok {
		add(o)
	}
	for _, c := range s.named("srun") {
		if o, ok := c.option("container-image"); ok && !c.maybe {
			add(o)
		}
	}
}

// public tells whether an image surely is in a registry outside of the cluster: one that
// is named by a public name, or Docker's own, which is meant where none is named.
func public(image string) bool {
	named := appendImage(nil, word{value: value{text: image}})
	if len(named) == 0 || strings.Contains(image, "$") {
		return false
	}
	host, _, found := strings.Cut(strings.Replace(named[0].name, "#", "/", 1), "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return true // library/debian is Docker's
	}
	_, top, dotted := strings.Cut(host, ".")
	return dotted && strings.Trim(top, "0123456789.:") != "" && !strings.HasSuffix(host, ".internal")
}
