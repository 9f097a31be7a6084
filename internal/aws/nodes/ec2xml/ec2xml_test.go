package ec2xml_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-hpc/muster/internal/aws/nodes/ec2xml"
)

const oneInstance = `<item><instanceId>i-0a</instanceId><imageId>ami-1</imageId>
  <instanceState><code>16</code><name>running</name></instanceState><privateDnsName/><reason/>
  <amiLaunchIndex>3</amiLaunchIndex><productCodes/><instanceType>p5e.48xlarge</instanceType>
  <launchTime>2026-11-21T20:11:12.000Z</launchTime>
  <placement><availabilityZone>us-east-2a</availabilityZone><groupName/></placement>
  <privateIpAddress>10.0.1.7</privateIpAddress>
  <stateReason><code>pending</code><message>a &lt; b</message></stateReason>
  <blockDeviceMapping><item><deviceName>/dev/sda1</deviceName><ebs><status>attached</status></ebs></item></blockDeviceMapping>
  <tagSet><item><key>muster:nodes</key><value>q-dy-r-[1-4]</value></item><item><key>note</key><value>a &amp; b &#233;</value></item></tagSet>
  <networkInterfaceSet><item><privateIpAddress>10.9.9.9</privateIpAddress><tagSet/></item></networkInterfaceSet>
</item>`

func described(items, tail string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><reservationSet><item>
<reservationId>r-1</reservationId><groupSet/><instancesSet>` + items + `</instancesSet></item></reservationSet>` + tail + `</DescribeInstancesResponse>
`
}

func launched(items string) string {
	return `<RunInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><instancesSet>` + items + `</instancesSet></RunInstancesResponse>`
}

var want = ec2xml.Instance{
	ID: "i-0a", State: "running", Reason: "pending", Address: netip.MustParseAddr("10.0.1.7"),
	Launched: time.Date(2026, 11, 21, 20, 11, 12, 0, time.UTC), Index: 3, Type: "p5e.48xlarge", Zone: "us-east-2a",
	Tags: []ec2xml.Tag{{Key: "muster:nodes", Value: "q-dy-r-[1-4]"}, {Key: "note", Value: "a & b é"}},
}

func TestReadsWhatIsNeeded(t *testing.T) {
	pages := map[string]func(io.Reader) io.Reader{
		"at_once":      func(r io.Reader) io.Reader { return r },
		"byte_by_byte": iotest.OneByteReader,
		"end_with_data": func(r io.Reader) io.Reader {
			return iotest.DataErrReader(r)
		},
	}
	for name, wrap := range pages {
		t.Run(name, func(t *testing.T) {
			got, err := ec2xml.Described(wrap(strings.NewReader(described(oneInstance+oneInstance, "<nextToken>more</nextToken>"))))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, got, ec2xml.Page{Instances: []ec2xml.Instance{want, want}, Next: "more"})
			got, err = ec2xml.Launched(wrap(strings.NewReader(launched(oneInstance))))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, got, ec2xml.Page{Instances: []ec2xml.Instance{want}})
		})
	}
	if note := want.Tag("note"); note != "a & b é" || want.Tag("none") != "" {
		t.Errorf("tag note is %q, tag none %q", note, want.Tag("none"))
	}
}

func compare(t *testing.T, got, want ec2xml.Page) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Error(d)
	}
}

func TestNothingThere(t *testing.T) {
	for _, text := range []string{
		"<DescribeInstancesResponse/>",
		"<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>",
		described("", ""),
	} {
		if got, err := ec2xml.Described(strings.NewReader(text)); err != nil || len(got.Instances) > 0 {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// Wherever an answer is cut, it is an error and no shorter list.
func TestCutAnswersAreErrors(t *testing.T) {
	whole := strings.TrimSpace(described(oneInstance+oneInstance, "<nextToken/>"))
	for n := range whole {
		got, err := ec2xml.Described(strings.NewReader(whole[:n]))
		var failure *ec2xml.Error
		if !errors.As(err, &failure) || len(got.Instances) > 0 {
			t.Fatalf("cut at byte %d: %d instances, %v", n, len(got.Instances), err)
		}
	}
	lost := errors.New("connection reset")
	if _, err := ec2xml.Described(io.MultiReader(strings.NewReader(whole[:500]), iotest.ErrReader(lost))); !errors.Is(err, lost) {
		t.Errorf("got %v, want %v", err, lost)
	}
}

func TestWrongAnswersAreErrors(t *testing.T) {
	for name, text := range map[string]string{
		"page_of_a_proxy":  "<!DOCTYPE html><html><body>Bad gateway</body></html>",
		"other_answer":     launched(""),
		"crossed_tags":     described("<item><instanceId>i-1</item></instanceId>", ""),
		"crossed_skipped":  described("<item><x><y></x></y></item>", ""),
		"no_ID":            described("<item><instanceState><name>running</name></instanceState></item>", ""),
		"no_state":         described("<item><instanceId>i-1</instanceId></item>", ""),
		"wrong_index":      described(strings.Replace(oneInstance, ">3<", ">three<", 1), ""),
		"wrong_address":    described(strings.Replace(oneInstance, "10.0.1.7", "10.0.1", 1), ""),
		"wrong_time":       described(strings.Replace(oneInstance, "2026-11-21T", "today ", 1), ""),
		"unknown_entity":   described(strings.Replace(oneInstance, "&amp;", "&nbsp;", 1), ""),
		"text_in_list":     described("i-1", ""),
		"element_in_text":  described("<item><instanceId><b>i-1</b></instanceId></item>", ""),
		"more_behind":      described("", "") + "<more/>",
		"nothing":          "",
		"long_text":        described("<item><instanceId>"+strings.Repeat("i", 1<<17)+"</instanceId></item>", ""),
		"deep_skipped":     described("<item>"+strings.Repeat("<x>", 1000), ""),
		"empty_tag":        described("<>", ""),
		"tag_without_name": described("< />", ""),
	} {
		if got, err := ec2xml.Described(strings.NewReader(text)); err == nil || len(got.Instances) > 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A long text that is not kept may be of any length.
func TestStepsOverLongTexts(t *testing.T) {
	long := strings.Replace(oneInstance, "<reason/>", "<reason>"+strings.Repeat("x", 1<<18)+"</reason>", 1)
	got, err := ec2xml.Described(strings.NewReader(described(long, "")))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, got, ec2xml.Page{Instances: []ec2xml.Instance{want}})
}

// fleetAnswer is what EC2 says of n machines with 32 interfaces each, in the size
// that EC2 says it in: 37 KB for each.
func fleetAnswer(n int) []byte {
	var interfaces strings.Builder
	for card := range 32 {
		fmt.Fprintf(&interfaces, `<item><networkInterfaceId>eni-0%015d</networkInterfaceId><subnetId>subnet-0123456789abcdef0</subnetId><vpcId>vpc-0123456789abcdef0</vpcId>`+
			`<description>interface of a compute node</description><ownerId>123456789012</ownerId><status>in-use</status><macAddress>02:00:00:00:00:%02x</macAddress>`+
			`<privateIpAddress>10.0.1.%d</privateIpAddress><privateDnsName>ip-10-0-1-%d.us-east-2.compute.internal</privateDnsName><sourceDestCheck>true</sourceDestCheck>`+
			`<groupSet><item><groupId>sg-0123456789abcdef0</groupId><groupName>ComputeSecurityGroup</groupName></item></groupSet><attachment><attachmentId>eni-attach-0%015d</attachmentId>`+
			`<deviceIndex>1</deviceIndex><status>attached</status><attachTime>2026-11-21T20:11:12.000Z</attachTime><deleteOnTermination>true</deleteOnTermination><networkCardIndex>%d</networkCardIndex></attachment>`+
			`<privateIpAddressesSet><item><privateIpAddress>10.0.1.%d</privateIpAddress><primary>true</primary></item></privateIpAddressesSet><ipv6AddressesSet/><interfaceType>efa-only</interfaceType></item>`,
			card, card, card, card, card, card, card)
	}
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><reservationSet><item><reservationId>r-1</reservationId><groupSet/><instancesSet>`)
	plain, _, _ := strings.Cut(oneInstance, "<networkInterfaceSet>")
	for i := range n {
		one := strings.Replace(plain, "i-0a", fmt.Sprintf("i-0%016d", i), 1)
		b.WriteString(one + "<networkInterfaceSet>" + interfaces.String() + "</networkInterfaceSet></item>")
	}
	b.WriteString(`</instancesSet></item></reservationSet></DescribeInstancesResponse>`)
	return b.Bytes()
}

// A thousand machines may not need memory for what is stepped over.
func TestThousandMachinesNeedLittleMemory(t *testing.T) {
	answer := fleetAnswer(1000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	page, err := ec2xml.Described(bytes.NewReader(answer))
	runtime.ReadMemStats(&after)
	if err != nil || len(page.Instances) != 1000 {
		t.Fatalf("%d instances, %v", len(page.Instances), err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d bytes allocated for an answer of %d bytes", got, len(answer))
	}
}

func BenchmarkThousandMachines(b *testing.B) {
	answer := fleetAnswer(1000)
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ec2xml.Described(bytes.NewReader(answer)); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzDescribed(f *testing.F) {
	f.Add([]byte(described(oneInstance, "<nextToken>x</nextToken>")))
	f.Add([]byte(described("", "")))
	f.Add([]byte(`<?xml?><DescribeInstancesResponse a=">"><x/><y>&#x41;</y></DescribeInstancesResponse>`))
	f.Fuzz(func(t *testing.T, text []byte) {
		page, err := ec2xml.Described(bytes.NewReader(text))
		slow, slowErr := ec2xml.Described(iotest.OneByteReader(bytes.NewReader(text)))
		if (err == nil) != (slowErr == nil) || !cmp.Equal(page, slow, cmpopts.EquateComparable(netip.Addr{})) {
			t.Fatalf("read at once: %v, %v; byte by byte: %v, %v", page, err, slow, slowErr)
		}
		if err != nil && (len(page.Instances) > 0 || page.Next != "") {
			t.Fatalf("an error and a page: %v, %v", err, page)
		}
		for _, i := range page.Instances {
			if i.ID == "" || i.State == "" {
				t.Fatalf("an instance without ID or state: %+v", i)
			}
		}
	})
}
