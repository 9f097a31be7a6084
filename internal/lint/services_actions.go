package lint

import (
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// actions has the rules about scripts and other things that nodes fetch
// (ParallelCluster's UrlValidator, as far as it does not ask for them).
func actions(root spec.View) {
	scripts(root.At("HeadNode.CustomActions"), "OnNodeStart", "OnNodeConfigured", "OnNodeUpdated")
	for _, pool := range root.At("LoginNodes.Pools").Items() {
		scripts(pool.Key("CustomActions"), "OnNodeStart", "OnNodeConfigured", "OnNodeUpdated")
	}
	for _, q := range root.At("Scheduling.SlurmQueues").Items() {
		scripts(q.Key("CustomActions"), "OnNodeStart", "OnNodeConfigured")
	}
	for _, path := range []string{
		"DevSettings.ClusterTemplate", "DevSettings.NodePackage", "DevSettings.Cookbook.ChefCookbook",
		"Scheduling.SlurmSettings.CustomSlurmSettingsIncludeFile",
	} {
		if v := root.At(path); filled(v) {
			fetched(v)
		}
	}
}

func scripts(v spec.View, events ...string) {
	for _, event := range events {
		action := v.Key(event)
		for _, a := range append(action.Key("Sequence").Items(), action) {
			if script := a.Key("Script"); script.Given() {
				fetched(script)
			}
		}
	}
}

var schemePattern = pattern.New(`^([A-Za-z][A-Za-z0-9+.-]*):`)

// urlScheme is a URL's scheme in small letters, empty if it has none.
func urlScheme(url string) string {
	m := schemePattern().FindStringSubmatch(url)
	if m == nil {
		return ""
	}
	return strings.ToLower(m[1])
}

// fetched holds that a value is the URL of something that nodes can fetch.
func fetched(v spec.View) {
	url := v.Text()
	switch urlScheme(url) {
	case "https":
		fetchedHTTPS(v, url)
	case "s3":
		fetchedS3(v, url)
	case "http":
		v.Errorf("actions/url", "%s would be fetched unencrypted", quoted(url)).WithHint("write https:// or s3://")
	default:
		v.Errorf("actions/url", "%s is no place from which nodes can fetch it", quoted(url)).
			WithHint("put it into a bucket and write s3://bucket/name, or write https://...")
	}
}

func fetchedHTTPS(v spec.View, url string) {
	host, _, _ := strings.Cut(strings.TrimPrefix(url[len("https:"):], "//"), "/")
	switch {
	case strings.ContainsFunc(url, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		v.Errorf("actions/url", "%s has a blank or control character", quoted(url)).WithHint("write it as %%20, or remove it")
	case host == "" || !strings.HasPrefix(url[len("https:"):], "//"):
		v.Warnf("actions/url-host", "%s names no host", quoted(url)).WithHint("write https://host/path")
	}
}

func fetchedS3(v spec.View, url string) {
	bucket, key, ok := strings.Cut(strings.TrimPrefix(url, "s3://"), "/")
	switch {
	case !strings.HasPrefix(url, "s3://") || !ok:
		v.Errorf("actions/url", "%s names no object of a bucket", quoted(url)).WithHint("write s3://bucket/name")
	case bucket == "" || key == "" || strings.HasSuffix(key, "/"):
		v.Warnf("actions/url-host", "%s names no object of a bucket", quoted(url)).WithHint("write s3://bucket/name")
	}
}
