package machine

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// metadata is the instance metadata service, version 2 alone: without a token it
// answers 401, as EC2's does where HttpTokens is required.
//
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-categories.html
func (w *World) metadata() http.Handler {
	mux := http.NewServeMux()
	var tokens tokens
	mux.HandleFunc("PUT /latest/api/token", func(rw http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.Atoi(r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds"))
		if err != nil || seconds < 1 || seconds > 21600 || r.Header.Get("X-Forwarded-For") != "" {
			http.Error(rw, "Bad Request", http.StatusBadRequest)
			return
		}
		rw.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", strconv.Itoa(seconds))
		fmt.Fprint(rw, tokens.make(time.Duration(seconds)*time.Second))
	})
	mux.HandleFunc("GET /latest/", func(rw http.ResponseWriter, r *http.Request) {
		if !tokens.good(r.Header.Get("X-aws-ec2-metadata-token")) {
			http.Error(rw, "Unauthorized", http.StatusUnauthorized)
			return
		}
		m := w.of(r.RemoteAddr)
		if m == nil {
			http.NotFound(rw, r)
			return
		}
		text, ok := m.category(strings.TrimPrefix(r.URL.Path, "/latest/"))
		if !ok {
			http.NotFound(rw, r)
			return
		}
		fmt.Fprint(rw, text)
	})
	w.guests(mux)
	return mux
}

// tokens are those that were given out.
type tokens struct {
	mu  sync.Mutex // guards end
	end map[string]time.Time
}

func (t *tokens) make(life time.Duration) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end == nil {
		t.end = map[string]time.Time{}
	}
	token := rand.Text()
	t.end[token] = time.Now().Add(life)
	return token
}

func (t *tokens) good(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Now().Before(t.end[token])
}

// category is one entry of a machine's metadata.
func (m *booted) category(path string) (string, bool) {
	const roles = "meta-data/iam/security-credentials/"
	switch {
	case path == "user-data":
		return string(m.UserData), len(m.UserData) > 0
	case path == "dynamic/instance-identity/document":
		return m.document(), true
	case path == roles:
		return m.Role, m.Role != ""
	case path == roles+m.Role && m.Role != "":
		return m.credentials(), true
	case strings.HasPrefix(path, "meta-data/tags/instance"):
		return m.tag(strings.Trim(strings.TrimPrefix(path, "meta-data/tags/instance"), "/"))
	}
	text, ok := m.plain()[strings.TrimSuffix(strings.TrimPrefix(path, "meta-data/"), "/")]
	return text, ok && text != ""
}

func (m *booted) plain() map[string]string {
	all := map[string]string{
		"instance-id": m.ID, "instance-type": m.Type, "ami-id": m.Image, "ami-launch-index": strconv.Itoa(m.LaunchIndex),
		"local-ipv4": m.Address.String(), "local-hostname": hostName(m.Address), "hostname": hostName(m.Address),
		"placement/region": m.Region, "placement/availability-zone": m.Zone, "instance-life-cycle": "on-demand",
	}
	if m.Public.IsValid() {
		all["public-ipv4"] = m.Public.String()
	}
	if m.PublicKey != "" {
		all["public-keys/0/openssh-key"] = m.PublicKey
	}
	return all
}

func (m *booted) tag(name string) (string, bool) {
	if !m.TagsInMetadata {
		return "", false
	}
	if name != "" {
		text, ok := m.Tags[name]
		return text, ok
	}
	var names []string
	for n := range m.Tags {
		names = append(names, n)
	}
	sort.Strings(names)
	return strings.Join(names, "\n"), true
}

func (m *booted) document() string {
	data, _ := json.Marshal(map[string]string{ // a map of strings
		"instanceId": m.ID, "instanceType": m.Type, "imageId": m.Image, "region": m.Region, "availabilityZone": m.Zone,
		"privateIp": m.Address.String(), "accountId": "123456789012", "architecture": "x86_64", "version": "2017-09-30",
	})
	return string(data)
}

// credentials are those of the machine's role: any will do for the double.
func (m *booted) credentials() string {
	data, _ := json.Marshal(map[string]string{ // a map of strings
		"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": "ASIA" + strings.ToUpper(strings.TrimPrefix(m.ID, "i-"))[:8] + "EXAMPLE1",
		"SecretAccessKey": "example", "Token": "example",
		"LastUpdated": time.Now().UTC().Format(time.RFC3339), "Expiration": time.Now().Add(6 * time.Hour).UTC().Format(time.RFC3339),
	})
	return string(data)
}
