package source_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/image/source"
)

const hex64 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParse(t *testing.T) {
	hub := source.Hub
	for uri, want := range map[string]source.Ref{
		"docker://ubuntu":                                {Host: hub, Repository: "library/ubuntu", Tag: "latest"},
		"ubuntu:22.04":                                   {Host: hub, Repository: "library/ubuntu", Tag: "22.04"},
		"docker://nvidia/cuda:12.4.0-base":               {Host: hub, Repository: "nvidia/cuda", Tag: "12.4.0-base"},
		"docker://docker.io/ubuntu":                      {Host: hub, Repository: "library/ubuntu", Tag: "latest"},
		"docker://registry-1.docker.io#ubuntu":           {Host: hub, Repository: "library/ubuntu", Tag: "latest"},
		"docker://nvcr.io#nvidia/pytorch:25.06-py3":      {Host: "nvcr.io", Repository: "nvidia/pytorch", Tag: "25.06-py3"},
		"nvcr.io/nvidia/pytorch:25.06-py3":               {Host: "nvcr.io", Repository: "nvidia/pytorch", Tag: "25.06-py3"},
		"docker://$oauthtoken@nvcr.io/nvidia/pytorch":    {User: "$oauthtoken", Host: "nvcr.io", Repository: "nvidia/pytorch", Tag: "latest"},
		"docker://me@corp.example@10.0.0.1:5000#a/b":     {User: "me@corp.example", Host: "10.0.0.1:5000", Repository: "a/b", Tag: "latest"},
		"localhost:5000/x:y":                             {Host: "localhost:5000", Repository: "x", Tag: "y"},
		"localhost/x":                                    {Host: "localhost", Repository: "x", Tag: "latest"},
		"docker://[::1]:5000/x":                          {Host: "[::1]:5000", Repository: "x", Tag: "latest"},
		"docker://head#x":                                {Host: "head", Repository: "x", Tag: "latest"},
		"docker://head/x":                                {Host: hub, Repository: "head/x", Tag: "latest"},
		"docker://ubuntu@sha256:" + hex64:                {Host: hub, Repository: "library/ubuntu", Digest: "sha256:" + hex64},
		"docker://me@ghcr.io/a/b:v1@sha256:" + hex64:     {User: "me", Host: "ghcr.io", Repository: "a/b", Tag: "v1", Digest: "sha256:" + hex64},
		"dockerd://train:v2":                             {Kind: source.Docker, Repository: "train:v2"},
		"podman://localhost/train":                       {Kind: source.Podman, Repository: "localhost/train"},
		"buildah://train":                                {Kind: source.Buildah, Repository: "train"},
		"oci:/a/b":                                       {Kind: source.Layout, Path: "/a/b"},
		"oci:b:v1":                                       {Kind: source.Layout, Path: "b", Tag: "v1"},
		"docker-archive:/x.tar:docker.io/library/a:b":    {Kind: source.Archive, Path: "/x.tar", Tag: "docker.io/library/a:b"},
		"oci-archive:x.tar":                              {Kind: source.Archive, Path: "x.tar"},
		"./train":                                        {Kind: source.Layout, Path: "./train"},
		"/images/train.tar":                              {Kind: source.Archive, Path: "/images/train.tar"},
		"train.tar":                                      {Kind: source.Archive, Path: "train.tar"},
		"123456789012.dkr.ecr.eu-west-2.amazonaws.com/a": {Host: "123456789012.dkr.ecr.eu-west-2.amazonaws.com", Repository: "a", Tag: "latest"},
	} {
		got, err := source.Parse(uri)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", uri, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for uri, want := range map[string]string{
		"":                              "names no image",
		"docker://":                     "names no image",
		"Ubuntu":                        "no name of an image",
		"docker://a//b":                 "no name of an image",
		"docker://a/../b":               "no name of an image",
		"docker://a:b/c":                `"a:b" is no registry`,
		"docker://host.example/":        "names no image",
		"docker://a:ta g":               "no tag",
		"docker://a@sha256:12":          "no digest",
		"docker://u:secret@h.example/a": "the user u has a password",
		"ftp://a":                       "no scheme ftp://",
		"oci:":                          "names no file",
		"dockerd://--privileged":        "no name of an image",
		"docker://a\nb":                 "control character",
		"docker://ex ample.com/a":       "no registry",
	} {
		got, err := source.Parse(uri)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v, want an error with %q", uri, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") && uri != "docker://u:secret@h.example/a" {
			t.Errorf("%q: the error shows a password: %v", uri, err)
		}
	}
}

func TestRefNames(t *testing.T) {
	for uri, want := range map[string][2]string{
		"ubuntu":                          {"ubuntu", "docker://docker.io/library/ubuntu:latest"},
		"me@nvcr.io#nvidia/pytorch:25.06": {"nvidia+pytorch+25.06", "docker://nvcr.io/nvidia/pytorch:25.06"},
		"ubuntu:1@sha256:" + hex64:        {"ubuntu+sha256-0123456789ab", "docker://docker.io/library/ubuntu@sha256:" + hex64},
		"/x/train.tar":                    {"train", "docker-archive:/x/train.tar"},
		"oci:/x/train:v1":                 {"train+v1", "oci:/x/train:v1"},
		"podman://localhost/a:b":          {"localhost+a+b", "podman://localhost/a:b"},
		"/":                               {"image", "oci:/"},
	} {
		ref, err := source.Parse(uri)
		if err != nil || ref.Name() != want[0] || ref.String() != want[1] {
			t.Errorf("%s: got %s, %s, %v, want %v", uri, ref.Name(), ref, err, want)
		}
	}
}

// FuzzParse holds that whatever is accepted has the form that it should, and
// means the same when it is written and read again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"docker://u@h.example:5000#a/b:c@sha256:" + hex64, "a", "oci:/x:y", "./x.tar", "dockerd://x", "[::1]:1/a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		ref, err := source.Parse(uri)
		if err != nil {
			return
		}
		if name := ref.Name(); name == "" || strings.ContainsAny(name, "/\x00\n ") || name[0] == '.' || name[0] == '-' {
			t.Errorf("%q: bad name %q", uri, name)
		}
		if ref.Kind != source.Registry {
			return
		}
		if strings.ContainsAny(ref.Host+ref.Repository+ref.Tag+ref.Digest, " \n\x00?#%\\") {
			t.Errorf("%q: %+v", uri, ref)
		}
		again, err := source.Parse(ref.String())
		ref.User = ""
		if ref.Digest != "" {
			ref.Tag = ""
		}
		if err != nil || again != ref {
			t.Errorf("%q: %s is read as %+v, %v, want %+v", uri, ref, again, err, ref)
		}
	})
}
