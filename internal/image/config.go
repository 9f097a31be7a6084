package image

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/image/source"
)

// config is what we take from an image's configuration.
type config struct {
	Created      *time.Time `json:"created"`
	Architecture string     `json:"architecture"`
	Config       struct {
		User       string              `json:"User"`
		Env        []string            `json:"Env"`
		Entrypoint words               `json:"Entrypoint"`
		Cmd        words               `json:"Cmd"`
		Volumes    map[string]struct{} `json:"Volumes"`
		WorkingDir string              `json:"WorkingDir"`
		Labels     map[string]string   `json:"Labels"`
	} `json:"config"`
}

// words are a command line, which old images have as one text for a shell.
type words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*w = words{"/bin/sh", "-c", text}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}

// metaOf is what an image's configuration and manifest say.
func metaOf(img *source.Image) (Meta, error) {
	var c config
	if err := json.Unmarshal(img.Config, &c); err != nil {
		return Meta{}, fmt.Errorf("read the configuration of %s: %w", img.Reference, err)
	}
	m := Meta{
		Source:       img.Reference,
		Digest:       img.Digest,
		ConfigDigest: img.ConfigDigest,
		Arch:         strings.TrimPrefix(img.Platform, "linux/"),
		Labels:       c.Config.Labels,
		Env:          c.Config.Env,
		Entrypoint:   c.Config.Entrypoint,
		Cmd:          c.Config.Cmd,
		Workdir:      c.Config.WorkingDir,
		User:         c.Config.User,
		Volumes:      slices.Sorted(maps.Keys(c.Config.Volumes)),
	}
	if c.Created != nil {
		m.Created = c.Created.UTC()
	}
	for _, l := range img.Layers {
		m.Layers = append(m.Layers, MetaLayer{Digest: l.Digest, SizeBytes: l.Size, DiffID: l.DiffID})
	}
	return m, nil
}
