package moto_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/test/cloud/moto"
)

// Servers of one template know nothing of each other, and end with their clients and with the template.
func TestServer(t *testing.T) {
	if _, err := moto.Python(); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	template, err := moto.NewTemplate(filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(moto.Variable, template.Address())
	one, two := moto.New([]byte("[]")), moto.New([]byte("[]"))
	made, other := ask(t, one, "CreateVpc&CidrBlock=10.1.0.0/16"), ask(t, two, "CreateVpc&CidrBlock=10.2.0.0/16")
	if vpc := between(made, "<vpcId>", "<"); vpc == "" || vpc == between(other, "<vpcId>", "<") {
		t.Errorf("both have the network %q", vpc)
	}
	if all := ask(t, two, "DescribeVpcs"); strings.Contains(all, "10.1.0.0/16") || !strings.Contains(all, "10.2.0.0/16") {
		t.Errorf("the second knows %s", all)
	}
	subnet := between(ask(t, two, "CreateSubnet&CidrBlock=10.2.0.0/28&VpcId="+between(other, "<vpcId>", "<")), "<subnetId>", "<")
	for _, want := range []string{"14", "13", "12", "11", "10", "9", "8", "7", "6", "5", "4", "14"} { // AWS keeps 0 to 3, and 15
		if got := between(ask(t, two, "CreateNetworkInterface&SubnetId="+subnet), "<privateIpAddress>", "<"); got != "10.2.0."+want {
			t.Errorf("an interface has %s, want 10.2.0.%s", got, want)
		}
	}
	url, err := one.URL()
	if err != nil {
		t.Fatal(err)
	}
	if one.Close(); answers(url) {
		t.Error("a server that was closed answers")
	}
	if ask(t, two, "DescribeVpcs") == "" {
		t.Error("the second does not answer after the first was closed")
	}
	template.Close()
	two.Close()
	if _, err := moto.New([]byte("[]")).URL(); err == nil {
		t.Error("a template that was closed makes servers")
	}
}

func ask(t *testing.T, s *moto.Server, call string) string {
	t.Helper()
	url, err := s.URL()
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("Version=2016-11-15&Action="+call))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-2/ec2/aws4_request, SignedHeaders=host, Signature=0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text := new(strings.Builder)
	if err := response.Write(text); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v\n%s", call, err, text)
	}
	return text.String()
}

func answers(url string) bool {
	response, err := http.Get(url)
	if err == nil {
		response.Body.Close()
	}
	return err == nil
}

func between(text, from, to string) string {
	_, after, _ := strings.Cut(text, from)
	word, _, _ := strings.Cut(after, to)
	return word
}
