package source

import (
	"fmt"
	"path"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Kind is where an image is.
type Kind int

// The kinds of places.
const (
	Registry Kind = iota
	// Layout is a folder in the OCI image layout.
	Layout
	// Archive is a tar file of docker save, or of the OCI image layout.
	Archive
	// Docker, Podman and Buildah are the images that these programs keep.
	Docker
	Podman
	Buildah
)

// Hub is the registry of images whose reference names none.
const Hub = "index.docker.io"

// Ref is an image's reference, taken apart.
type Ref struct {
	Kind Kind
	// User is whose credentials to use at a registry, if the URI says.
	User string
	// Host is the registry's name with its port.
	Host string
	// Repository is the image's path in the registry, or what a local engine or
	// an archive calls the image.
	Repository string
	// Tag is "latest" for a registry's image if neither tag nor digest is given.
	Tag string
	// Digest is sha256:HEX. It goes before the tag.
	Digest string
	// Path is the folder or the archive.
	Path string
}

// Patterns are compiled when they are first needed: most commands need none.
var (
	userForm       = pattern.New(`^[[:alnum:]_.!~*'()%;:&=+$,@/<>?-]+$`)
	hostForm       = pattern.New(`^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?$`)
	repositoryForm = pattern.New(`^[a-z0-9]+([._/-]+[a-z0-9]+)*$`)
	tagForm        = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	digestForm     = pattern.New(`^sha256:[0-9a-f]{64}$`)
)

// schemes are the words before a URI's first colon.
var schemes = []struct {
	prefix string
	parse  func(rest string) (Ref, error)
}{
	{"docker://", parseRegistry},
	{"dockerd://", parseEngine(Docker)},
	{"docker-daemon:", parseEngine(Docker)},
	{"podman://", parseEngine(Podman)},
	{"buildah://", parseEngine(Buildah)},
	{"containers-storage:", parseEngine(Buildah)},
	{"oci-archive:", parsePath(Archive)},
	{"docker-archive:", parsePath(Archive)},
	{"oci:", parsePath(Layout)},
}

// Parse reads an image's URI:
//
//	docker://[USER@][REGISTRY#|REGISTRY/]IMAGE[:TAG][@DIGEST]
//	[REGISTRY/]IMAGE[:TAG][@DIGEST]
//	oci:FOLDER[:TAG]   oci-archive:FILE[:TAG]   docker-archive:FILE[:IMAGE:TAG]
//	dockerd://IMAGE    podman://IMAGE           buildah://IMAGE
//	./FOLDER           /FILE.tar                FILE.tar
//
// The word before a slash is a registry if it has a dot or a colon or is
// localhost, as with Docker and Enroot.
func Parse(uri string) (Ref, error) {
	ref, err := parse(uri)
	if err != nil {
		return Ref{}, fmt.Errorf("%q is no image: %w", uri, err)
	}
	return ref, nil
}

func parse(uri string) (Ref, error) {
	if strings.ContainsFunc(uri, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return Ref{}, fmt.Errorf("it has a control character")
	}
	for _, s := range schemes {
		if rest, ok := strings.CutPrefix(uri, s.prefix); ok {
			return s.parse(rest)
		}
	}
	if scheme, _, ok := strings.Cut(uri, "://"); ok {
		return Ref{}, fmt.Errorf("no scheme %s://; there are docker, dockerd, podman and buildah", scheme)
	}
	switch {
	case strings.HasPrefix(uri, "/"), strings.HasPrefix(uri, "./"), strings.HasPrefix(uri, "../"), uri == ".":
		return Ref{Kind: kindOfPath(uri), Path: uri}, nil
	case strings.HasSuffix(uri, ".tar"):
		return Ref{Kind: Archive, Path: uri}, nil
	}
	return parseRegistry(uri)
}

// kindOfPath tells an archive from a folder by its name.
func kindOfPath(p string) Kind {
	for _, end := range []string{".tar", ".tar.gz", ".tgz", ".tar.zst"} {
		if strings.HasSuffix(p, end) {
			return Archive
		}
	}
	return Layout
}

func parseRegistry(rest string) (Ref, error) {
	ref := Ref{Kind: Registry}
	rest, err := ref.cutDigest(rest)
	if err != nil {
		return Ref{}, err
	}
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		ref.User, rest = rest[:i], rest[i+1:]
		if !userForm().MatchString(ref.User) {
			return Ref{}, fmt.Errorf("%q is no user", ref.User)
		}
		if name, _, found := strings.Cut(ref.User, ":"); found {
			return Ref{}, fmt.Errorf("the user %s has a password; keep passwords in a file, such as by `docker login`", name)
		}
	}
	rest = ref.cutHost(rest)
	if i := strings.LastIndex(rest, ":"); i >= 0 {
		rest, ref.Tag = rest[:i], rest[i+1:]
		if !tagForm().MatchString(ref.Tag) {
			return Ref{}, fmt.Errorf("%q is no tag", ref.Tag)
		}
	}
	ref.Repository = rest
	return ref.checked()
}

// cutDigest takes the digest off the end.
func (r *Ref) cutDigest(rest string) (string, error) {
	head, digest, found := strings.Cut(rest, "@sha256:")
	if !found {
		return rest, nil
	}
	r.Digest = "sha256:" + digest
	if !digestForm().MatchString(r.Digest) {
		return "", fmt.Errorf("%q is no digest: it needs 64 hexadecimal digits", r.Digest)
	}
	return head, nil
}

// cutHost takes the registry off the front.
func (r *Ref) cutHost(rest string) string {
	r.Host = Hub
	if host, image, found := strings.Cut(rest, "#"); found {
		r.Host = host
		return image
	}
	first, image, found := strings.Cut(rest, "/")
	if found && namesHost(first) {
		r.Host = first
		return image
	}
	return rest
}

// namesHost tells a registry from the first part of an image's path.
func namesHost(word string) bool { return strings.ContainsAny(word, ".:") || word == "localhost" }

func (r Ref) checked() (Ref, error) {
	switch r.Host {
	case "docker.io", "index.docker.io", "registry-1.docker.io":
		r.Host = Hub
		if r.Repository != "" && !strings.Contains(r.Repository, "/") {
			r.Repository = "library/" + r.Repository
		}
	}
	if r.Tag == "" && r.Digest == "" {
		r.Tag = "latest"
	}
	switch {
	case !hostForm().MatchString(r.Host):
		return Ref{}, fmt.Errorf("%q is no registry", r.Host)
	case r.Repository == "":
		return Ref{}, fmt.Errorf("it names no image")
	case len(r.Repository) > 255:
		return Ref{}, fmt.Errorf("the image's name is longer than 255 characters")
	case !repositoryForm().MatchString(r.Repository) || strings.Contains(r.Repository, "//") || path.Clean(r.Repository) != r.Repository:
		return Ref{}, fmt.Errorf("%q is no name of an image: it may have small letters, digits and . _ - /", r.Repository)
	}
	return r, nil
}

func parseEngine(kind Kind) func(string) (Ref, error) {
	return func(rest string) (Ref, error) {
		if rest == "" || strings.HasPrefix(rest, "-") || strings.ContainsAny(rest, " \t") {
			return Ref{}, fmt.Errorf("%q is no name of an image", rest)
		}
		return Ref{Kind: kind, Repository: rest}, nil
	}
}

func parsePath(kind Kind) func(string) (Ref, error) {
	return func(rest string) (Ref, error) {
		ref := Ref{Kind: kind, Path: rest}
		// What comes after the first colon behind the last slash of the path is the
		// image's name, which may have slashes of its own.
		if i := strings.Index(rest, ":"); i >= 0 {
			ref.Path, ref.Tag = rest[:i], rest[i+1:]
		}
		if ref.Path == "" {
			return Ref{}, fmt.Errorf("it names no file or folder")
		}
		return ref, nil
	}
}

// String is the reference in full, without the user.
func (r Ref) String() string {
	switch r.Kind {
	case Docker:
		return "dockerd://" + r.Repository
	case Podman:
		return "podman://" + r.Repository
	case Buildah:
		return "buildah://" + r.Repository
	case Layout, Archive:
		s := map[Kind]string{Layout: "oci:", Archive: "docker-archive:"}[r.Kind] + r.Path
		if r.Tag != "" {
			s += ":" + r.Tag
		}
		return s
	}
	host := r.Host
	if host == Hub {
		host = "docker.io"
	}
	s := "docker://" + host + "/" + r.Repository
	if !namesHost(host) {
		s = "docker://" + host + "#" + r.Repository
	}
	if r.Digest != "" {
		return s + "@" + r.Digest
	}
	return s + ":" + r.Tag
}

// notInNames are the characters that a file's name is kept free of.
var notInNames = pattern.New(`[^A-Za-z0-9._+-]+`)

// Name is what an image is called here by default: as with Enroot,
// the image's path and tag with + between them, nvidia+pytorch+25.06-py3. The tag
// latest says nothing and is left out.
func (r Ref) Name() string {
	name := strings.TrimPrefix(r.Repository, "library/")
	tag := r.Tag
	switch r.Kind {
	case Layout, Archive:
		name = path.Base(path.Clean(r.Path))
		for _, end := range []string{".tar.zst", ".tar.gz", ".tgz", ".tar"} {
			name = strings.TrimSuffix(name, end)
		}
	case Registry:
		if r.Digest != "" {
			tag = strings.Replace(r.Digest, ":", "-", 1)[:len("sha256-")+12]
		}
	}
	if tag != "" && tag != "latest" {
		name += "+" + tag
	}
	name = strings.NewReplacer("/", "+", ":", "+").Replace(name)
	name = strings.TrimLeft(notInNames().ReplaceAllString(name, "-"), ".-+")
	if name == "" {
		return "image"
	}
	return name
}
