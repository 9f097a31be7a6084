package agent

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// ReadSite reads what the cluster of this machine was made of.
func ReadSite(path string) (manifest.Site, error) {
	var s manifest.Site
	data, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", path, err)
	}
	return s, nil
}
